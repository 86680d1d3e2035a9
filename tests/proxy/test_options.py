"""The options: every one is declared, and a value of the wrong type is told."""

from __future__ import annotations

import pytest
from mitmproxy.addonmanager import Loader
from mitmproxy.test import taddons

from toolstream_core.proxy.options import CHANGES, OURS, declare, malformed


def test_all_are_declared() -> None:
    """And the ones that change streams are among them."""
    with taddons.context(loadcore=False) as context:
        declare(Loader(context.master))
        assert {name for name in context.options.keys() if name.startswith("toolstream_")} == set(OURS)  # noqa: SIM118
    assert set(OURS) > CHANGES


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["toolstream_seed=high"], ["toolstream_seed: Failed to parse option toolstream_seed: not an integer: high"]),
        (["toolstream_log=off", "toolstream_log=calls"], ["toolstream_log: Received multiple values"]),
        (["toolstream_seed"], ["toolstream_seed: Option is required"]),
        (["toolstream_seed=4", "toolstream_repair=safe", "toolstream_repair=-empty-id", "other=1"], []),
        ([], []),
    ],
)
def test_values_of_the_wrong_type(given: list[str], told: list[str]) -> None:
    """They came on the command line, before the script was loaded."""
    with taddons.context(loadcore=False) as context:
        context.options.set(*given, defer=True)
        declare(Loader(context.master))
        found = list(malformed(context.options))
    assert len(found) == len(told)
    assert all(one.startswith(start) for one, start in zip(found, told, strict=True))
