"""The table of the addon's options."""

from __future__ import annotations

import pytest
from mitmproxy import optmanager
from mitmproxy.exceptions import OptionsError
from mitmproxy.test import taddons

from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.proxy.option_table import OPTIONS, AddonOption


def test_mitmproxy_declares_the_options_of_the_table() -> None:
    """Mitmproxy has the names and defaults of the table."""
    with taddons.context(ToolstreamAddon()) as context:
        for option in OPTIONS:
            default = context.options.default(option.name)
            assert (tuple(default) if option.many else default) == option.default
        known = {name for name in context.options.keys() if name.startswith("toolstream_")}  # noqa: SIM118 - no mapping
    assert known == {option.name for option in OPTIONS}


@pytest.mark.parametrize("option", [option for option in OPTIONS if option.choices], ids=lambda option: option.name)
def test_an_option_with_choices_rejects_other_values(option: AddonOption) -> None:
    """Interfaces offer the choices, and any other value is rejected, including the empty one."""
    with taddons.context(ToolstreamAddon()) as context:
        assert optmanager.dump_dicts(context.options, [option.name])[option.name]["choices"] == option.choices
        for value in option.choices:
            context.options.update(**{option.name: value})
        for value in ("none of them", ""):
            with pytest.raises(OptionsError, match=f"{option.name}: .* Expected {', '.join(option.choices)}"):
                context.options.update(**{option.name: value})
        assert getattr(context.options, option.name) == option.choices[-1]


def test_flags_are_unique() -> None:
    """Each option has a flag of its own."""
    flags = [option.flag for option in OPTIONS]
    assert len({*flags}) == len(flags)
    assert {"--when", "--strict", "--level", "--jsonl"} <= {*flags}
