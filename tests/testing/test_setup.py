"""Setups as the addon's options, and as the command line's."""

from __future__ import annotations

from pathlib import Path

from toolstream_core.cli.main import parsed
from toolstream_core.testing import Setup

FULL = Setup(
    flows=(Path("a.flow"), Path("folder")),
    fault=("glm-5", "cut:at=before-done"),
    repair=("safe",),
    shape=("for:aichat",),
    speed=0.5,
    seed=3,
    strict=True,
    provider_repeats=0,
    options={"toolstream_filter": "~d x", "ignore_hosts": ["a", "b"]},
)


def test_each_value_is_an_option_of_its_own() -> None:
    """What is empty is set to nothing, so that nothing of an earlier setup stays."""
    assert {"toolstream_fault=glm-5", "toolstream_fault=cut:at=before-done", "ignore_hosts=a", "ignore_hosts=b"} <= {
        *FULL.specs()
    }
    assert "toolstream_provider_repeats=0" in FULL.specs()
    assert f"toolstream_provider={Path('a.flow').absolute()}" in FULL.specs()
    assert {"toolstream_fault", "toolstream_repair", "toolstream_shape", "toolstream_provider"} <= {*Setup().specs()}


def test_the_command_line_says_the_same() -> None:
    """What a failing test prints is understood by the commands."""
    words = ["serve", *FULL.arguments()]
    args = parsed(words)
    assert tuple(args.flows) == FULL.flows
    assert (tuple(args.fault), tuple(args.repair), tuple(args.shape)) == (FULL.fault, FULL.repair, FULL.shape)
    assert (args.speed, args.seed, args.strict, args.provider_repeats) == (FULL.speed, FULL.seed, True, 0)
