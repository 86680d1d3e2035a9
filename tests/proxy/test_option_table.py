"""The addon's options as a table."""

from __future__ import annotations

from mitmproxy.test import taddons

from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.proxy.option_table import OPTIONS


def test_mitmproxy_has_each_option_as_the_table_says() -> None:
    """Name, default, choices and help."""
    with taddons.context(ToolstreamAddon()) as context:
        for option in OPTIONS:
            default = context.options.default(option.name)
            assert (tuple(default) if option.many else default) == option.default
        known = {name for name in context.options.keys() if name.startswith("toolstream_")}  # noqa: SIM118 - no mapping
    assert known == {option.name for option in OPTIONS}


def test_flags_are_short_and_differ() -> None:
    """Each option has a flag of its own."""
    flags = [option.flag for option in OPTIONS]
    assert len({*flags}) == len(flags)
    assert {"--when", "--strict", "--level", "--jsonl"} <= {*flags}
