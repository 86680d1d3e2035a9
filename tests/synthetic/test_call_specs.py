"""The calls to make, as options write them."""

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
def test_calls_are_read(texts: list[str], specs: tuple[CallSpec, ...]) -> None:
    """Several in one text, or in several; what is written is read the same again."""
    assert parse_calls(texts) == specs
    assert parse_calls(["; ".join(map(spec_text, specs))]) == specs


def test_arguments_that_are_not_said_are_absent() -> None:
    """They are made from the schema; `{}` are no arguments."""
    said, empty = parse_calls(["now; now {}"])
    assert (said.arguments, empty.arguments) == (ABSENT, {})


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ('{"city":"Oslo"}', "does not begin with a tool name"),
        ('get_weather {"city":}', "not valid JSON"),
        ("get_weather city=Oslo", "not valid JSON"),
        ("get_weather [1]", "Expected an object"),
        ("get_weather {} now {}", "semicolon"),
    ],
)
def test_a_wrong_text_is_told_with_what_is_right(text: str, right: str) -> None:
    """In one line."""
    with pytest.raises(ToolstreamError, match=right) as raised:
        parse_calls([text])
    assert "\n" not in str(raised.value)
