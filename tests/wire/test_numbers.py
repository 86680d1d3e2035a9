"""Numbers of foreign JSON, as they were written."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.wire import json_value, numbers
from toolstream_core.wire.frame import parse
from toolstream_core.wire.json_access import argument_text, integer, text

ODD = [
    "1e400",
    "-1e400",
    "-0",
    "-0.0",
    "0.10",
    "-0.12345678901234567890",
    "1E5",
    "1e+5",
    "1e-07",
    "1e-7",
    "123456789012345678901234567890",
    "9" * 5000,
    "-" + "9" * 5000,
    "NaN",
    "Infinity",
    "-Infinity",
]


@pytest.mark.parametrize("written", ODD)
def test_a_number_is_written_as_it_was(written: str) -> None:
    """Wherever it stands."""
    said = f'{{"a":{written},"b":[{written},[{{"c":{written}}}]],"d":"{written}"}}'
    assert numbers.dumps(numbers.loads(said)) == said
    assert numbers.dumps({**numbers.loads(said), "e": 1}, ascii_only=True) == said[:-1] + ',"e":1}'
    assert numbers.dumps(numbers.loads(written)) == written


@pytest.mark.parametrize("written", ODD[:7])
def test_it_means_what_it_meant(written: str) -> None:
    """For whoever computes with it."""
    assert numbers.loads(written) == float(written)
    assert copy.deepcopy(numbers.loads(written)) == float(written)
    assert numbers.dumps(copy.deepcopy([numbers.loads(written)])) == f"[{written}]"


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_any_number(written: str) -> None:
    """By JSON's grammar."""
    assert numbers.dumps(numbers.loads(f'[{written},"x"]')) == f'[{written},"x"]'


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_all_else_is_written_as_ever(value: object) -> None:
    """Also behind a number that was odd."""
    odd = numbers.loads("1e400")
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert numbers.dumps(value) == plain
    assert numbers.dumps([value, odd]) == f"[{plain},1e400]"


def test_readers_take_it_for_what_it_is() -> None:
    """A place may be said as `1E0`; an argument that is no text is its JSON text."""
    said: Any = parse(b'{"index":1E0,"id":1.50,"arguments":{"x":-0.10}}')
    assert (integer(said["index"]), text(said["id"])) == (1, "1.50")
    assert argument_text(said["arguments"]) == ('{"x":-0.10}', False)
    assert integer(numbers.loads("1e400")) is None
    assert math.isnan(numbers.loads("NaN"))


@pytest.mark.parametrize(
    ("said", "odd"),
    [('{"a":NaN}', True), ("[-Infinity]", True), ('{"a":"NaN"}', False), ('{"a":nan}', False), ('{"NaN":1}', False)],
)
def test_what_json_does_not_have(said: str, *, odd: bool) -> None:
    """Python reads it, and nobody else does."""
    assert numbers.non_finite(said) is odd


def test_writing_does_without_the_c_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Python that has none writes the same."""
    value = {"a": [1, 2.5, None, True, "ä\n"], "b": {}}
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    assert (
        "".join(json_value._compact_parts()(value, 0))
        == numbers.dumps(value)
        == '{"a":[1,2.5,null,true,"ä\\n"],"b":{}}'
    )
