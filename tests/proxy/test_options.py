"""The options: every one is declared, and a value of the wrong type is told."""

from __future__ import annotations

import pytest
from mitmproxy.addonmanager import Loader
from mitmproxy.test import taddons

from toolstream_core.proxy.options import CHANGES, OURS, declare, malformed, normalize_config


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


@pytest.mark.parametrize(
    ("given", "taken", "told"),
    [
        ({"toolstream_repair": "safe"}, {"toolstream_repair": ["safe"]}, []),
        ({"toolstream_fault": ["glm-5", "drip"]}, {"toolstream_fault": ["glm-5", "drip"]}, []),
        ({"toolstream_speed": 0, "toolstream_seed": 5}, {"toolstream_speed": "0", "toolstream_seed": 5}, []),
        ({"toolstream_seed": "a"}, {"toolstream_seed": 0}, ["toolstream_seed: 'a' is not a number"]),
        (
            {"toolstream_repair": {"a": 1}},
            {"toolstream_repair": []},
            ["toolstream_repair: {'a': 1} is not a string, or a list of strings"],
        ),
    ],
)
def test_values_of_the_configuration_file(given: dict[str, object], taken: dict[str, object], told: list[str]) -> None:
    """They have YAML's types; mitmproxy shows a traceback where these are not the option's."""
    with taddons.context(loadcore=False) as context:
        context.options.deferred.update(given)
        found = list(normalize_config(context.options))
        declare(Loader(context.master))
        context.options.process_deferred()
        assert {name: getattr(context.options, name) for name in taken} == taken
    assert found == told
