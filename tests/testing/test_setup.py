"""Setups as options of the addon and as arguments of the command line."""

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


def test_each_value_is_one_option() -> None:
    """Empty values are set, which removes the values of an earlier setup."""
    assert {"toolstream_fault=glm-5", "toolstream_fault=cut:at=before-done", "ignore_hosts=a", "ignore_hosts=b"} <= {
        *FULL.specs()
    }
    assert "toolstream_provider_repeats=0" in FULL.specs()
    assert f"toolstream_provider={Path('a.flow').absolute()}" in FULL.specs()
    assert {"toolstream_fault", "toolstream_repair", "toolstream_shape", "toolstream_provider"} <= {*Setup().specs()}


def test_the_arguments_give_the_same_setup() -> None:
    """A failing test prints arguments that the commands accept."""
    words = ["serve", *FULL.arguments()]
    args = parsed(words)
    assert tuple(args.flows) == FULL.flows
    assert (tuple(args.fault), tuple(args.repair), tuple(args.shape)) == (FULL.fault, FULL.repair, FULL.shape)
    assert (args.speed, args.seed, args.strict, args.provider_repeats) == (FULL.speed, FULL.seed, True, 0)
