"""Numbers of foreign JSON keep their notation."""

from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.wire import numbers
from toolstream_core.wire.frame import parse
from toolstream_core.wire.json_access import argument_text, integer, text

UNUSUAL = [
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


@pytest.mark.parametrize("written", UNUSUAL)
def test_a_number_keeps_its_notation(written: str) -> None:
    """At any place of a document."""
    text_of_all = f'{{"a":{written},"b":[{written},[{{"c":{written}}}]],"d":"{written}"}}'
    assert numbers.dumps(numbers.loads(text_of_all)) == text_of_all
    assert numbers.dumps({**numbers.loads(text_of_all), "e": 1}, ascii_only=True) == text_of_all[:-1] + ',"e":1}'
    assert numbers.dumps(numbers.loads(written)) == written


@pytest.mark.parametrize("written", UNUSUAL[:7])
def test_a_number_keeps_its_value(written: str) -> None:
    """Computations use the same float."""
    assert numbers.loads(written) == float(written)
    assert copy.deepcopy(numbers.loads(written)) == float(written)
    assert numbers.dumps(copy.deepcopy([numbers.loads(written)])) == f"[{written}]"


@given(st.from_regex(r"-?(0|[1-9][0-9]{0,20})(\.[0-9]{1,25})?([eE][+-]?[0-9]{1,3})?", fullmatch=True))
def test_any_number(written: str) -> None:
    """Every number of JSON's grammar keeps its notation."""
    assert numbers.dumps(numbers.loads(f'[{written},"x"]')) == f'[{written},"x"]'


@given(
    st.recursive(
        st.none() | st.booleans() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
    )
)
def test_other_values_are_written_as_by_json(value: object) -> None:
    """Also before a number with an unusual notation."""
    odd = numbers.loads("1e400")
    plain = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    assert numbers.dumps(value) == plain
    assert numbers.dumps([value, odd]) == f"[{plain},1e400]"


def test_readers_interpret_unusual_notations() -> None:
    """`1E0` is an index, and arguments that are no text become their JSON text."""
    value: Any = parse(b'{"index":1E0,"id":1.50,"arguments":{"x":-0.10}}')
    assert (integer(value["index"]), text(value["id"])) == (1, "1.50")
    assert argument_text(value["arguments"]) == ('{"x":-0.10}', False)
    assert integer(numbers.loads("1e400")) is None
    assert math.isnan(numbers.loads("NaN"))


@pytest.mark.parametrize(
    ("text", "found"),
    [('{"a":NaN}', True), ("[-Infinity]", True), ('{"a":"NaN"}', False), ('{"a":nan}', False), ('{"NaN":1}', False)],
)
def test_numbers_that_json_does_not_have(text: str, *, found: bool) -> None:
    """Python's parser accepts them, and others do not."""
    assert numbers.non_finite(text) is found
