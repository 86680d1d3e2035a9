"""Calls as options specify them."""

from __future__ import annotations

import pytest

from toolstream_core.errors import ToolstreamError
from toolstream_core.model import ABSENT
from toolstream_core.synthetic.responses import CallSpec, parse_calls, spec_text

WEATHER = CallSpec("get_weather", {"city": "Oslo; {or} not", "at": [1, None]})


@pytest.mark.parametrize(
    ("texts", "specs"),
    [
        (["calls:"], ()),
        (["", " ; "], ()),
        (["calls:get_time"], (CallSpec("get_time"),)),
        (["calls: get_time ; now;"], (CallSpec("get_time"), CallSpec("now"))),
        (['get_weather {"city":"Oslo; {or} not","at":[1,null]};now{}'], (WEATHER, CallSpec("now", {}))),
        (['calls:a {"b":1}', "calls:c"], (CallSpec("a", {"b": 1}), CallSpec("c"))),
        (['apply_patch "*** Begin"'], (CallSpec("apply_patch", "*** Begin"),)),
    ],
)
def test_calls_are_parsed(texts: list[str], specs: tuple[CallSpec, ...]) -> None:
    """Several calls may be in one text or in several. The written form is parsed to the same calls."""
    assert parse_calls(texts) == specs
    assert parse_calls(["; ".join(map(spec_text, specs))]) == specs


def test_missing_arguments_are_absent() -> None:
    """They are generated from the schema. `{}` means no arguments."""
    generated, empty = parse_calls(["now; now {}"])
    assert (generated.arguments, empty.arguments) == (ABSENT, {})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"city":"Oslo"}', "does not begin with a tool name"),
        ('get_weather {"city":}', "not valid JSON"),
        ("get_weather city=Oslo", "not valid JSON"),
        ("get_weather [1]", "Expected an object"),
        ("get_weather {} now {}", "semicolon"),
    ],
)
def test_an_invalid_text_is_an_error(text: str, message: str) -> None:
    """The message is one line."""
    with pytest.raises(ToolstreamError, match=message) as raised:
        parse_calls([text])
    assert "\n" not in str(raised.value)
