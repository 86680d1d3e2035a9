"""Values of the wrong type, on the command line and in config.yaml."""

from __future__ import annotations

import pytest
from mitmproxy.addonmanager import Loader
from mitmproxy.test import taddons

from toolstream_core.proxy.options import declare, malformed, normalize_config


@pytest.mark.parametrize(
    ("values", "errors"),
    [
        (["toolstream_seed=high"], ["toolstream_seed: Failed to parse option toolstream_seed: not an integer: high"]),
        (["toolstream_log=off", "toolstream_log=calls"], ["toolstream_log: Received multiple values"]),
        (["toolstream_seed"], ["toolstream_seed: Option is required"]),
        (["toolstream_seed=4", "toolstream_repair=safe", "toolstream_repair=-empty-id", "other=1"], []),
        ([], []),
    ],
)
def test_values_of_the_wrong_type_on_the_command_line(values: list[str], errors: list[str]) -> None:
    """A value that was given before the script was loaded is checked when the option is declared."""
    with taddons.context(loadcore=False) as context:
        context.options.set(*values, defer=True)
        declare(Loader(context.master))
        messages = list(malformed(context.options))
    assert len(messages) == len(errors)
    assert all(message.startswith(start) for message, start in zip(messages, errors, strict=True))


@pytest.mark.parametrize(
    ("values", "expected", "errors"),
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
def test_values_of_the_configuration_file(
    values: dict[str, object], expected: dict[str, object], errors: list[str]
) -> None:
    """A value with another YAML type is converted or reported; mitmproxy would show a traceback."""
    with taddons.context(loadcore=False) as context:
        context.options.deferred.update(values)
        messages = list(normalize_config(context.options))
        declare(Loader(context.master))
        context.options.process_deferred()
        assert {name: getattr(context.options, name) for name in expected} == expected
    assert messages == errors
