"""Looks into foreign JSON: what each kind of value is taken for, and that none raises."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.model import ABSENT
from toolstream_core.wire import json_access

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ((), {"a": {"b": [1, None]}, "0": 2}),
        (("a", "b", 0), 1),
        (("a", "b", 1), None),
        (("a", "b", 2), ABSENT),
        (("a", "b", -1), ABSENT),
        (("a", "b", "0"), ABSENT),
        (("a", "c"), ABSENT),
        (("a", "c", "d"), ABSENT),
        (("0",), 2),
        ((0,), ABSENT),
        (("0", "x"), ABSENT),
    ],
)
def test_get(path: tuple[str | int, ...], found: Any) -> None:
    """Keys in objects, places in arrays; null is there, what is not there is absent."""
    assert json_access.get({"a": {"b": [1, None]}, "0": 2}, *path) == found


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (ABSENT, ABSENT),
        (None, None),
        ("", ""),
        ("a", "a"),
        (0, "0"),
        (-1.5, "-1.5"),
        (True, "true"),
        ({}, ABSENT),
        ([], ABSENT),
        ({"a": 1}, ABSENT),
    ],
)
def test_text(value: Any, said: Any) -> None:
    """Numbers and booleans as their JSON; an object is no text."""
    assert json_access.text(value) == said


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (ABSENT, ABSENT),
        (None, None),
        (0, 0),
        (-3, -3),
        (1.0, 1),
        (1.5, None),
        (float("nan"), None),
        (float("inf"), None),
        ("0", 0),
        ("-1", -1),
        ("", None),
        ("-", None),
        ("--1", None),
        ("1.0", None),
        (" 1", None),
        ("١", None),
        ("²", None),
        ("9" * 5000, None),
        ([], None),
        ({}, None),
    ],
)
def test_integer(value: Any, said: Any) -> None:
    """What providers send where a number belongs, and nothing wilder."""
    assert json_access.integer(value) == said


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_no_integer(value: Any) -> None:
    """Although Python says so."""
    assert json_access.integer(value) is None


@pytest.mark.parametrize(
    ("value", "entries"),
    [
        ([1, None], [1, None]),
        ([], []),
        ({"0": "a", "1": "b"}, ["a", "b"]),
        ({"10": "b", "9": "a"}, ["a", "b"]),
        ({"id": "a"}, [{"id": "a"}]),
        ({"0": 1, "id": "a"}, [{"0": 1, "id": "a"}]),
        ({}, []),
        (None, []),
        (ABSENT, []),
        ("ab", []),
        (1, []),
    ],
)
def test_items(value: Any, entries: list[Any]) -> None:
    """Arrays, and objects where arrays belong."""
    assert json_access.items(value) == entries


def test_items_of_an_array_is_that_array() -> None:
    """Nothing is copied in the common case."""
    entries: list[Any] = [1]
    assert json_access.items(entries) is entries


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (ABSENT, (ABSENT, True)),
        (None, (None, True)),
        ("", ("", True)),
        ('{"a":', ('{"a":', True)),
        ({}, ("{}", False)),
        ({"b": 1, "a": [None, "é"]}, ('{"b":1,"a":[null,"é"]}', False)),
        ([1, 2], ("[1,2]", False)),
        (1, ("1", False)),
        (False, ("false", False)),
    ],
)
def test_argument_text(value: Any, said: tuple[Any, bool]) -> None:
    """Null, empty and absent stay apart; an object keeps its keys' order."""
    assert json_access.argument_text(value) == said


@given(JSON)
def test_argument_text_of_an_object_says_the_same(value: Any) -> None:
    """Read back it is the value."""
    said, encoded = json_access.argument_text(value)
    if encoded:
        assert said == value
    else:
        assert isinstance(said, str)
        assert json.dumps(json.loads(said)) == json.dumps(value)


def test_nesting_too_deep_to_say_is_absent() -> None:
    """No recursion error reaches the caller."""
    deep: Any = []
    for _ in range(200_000):
        deep = [deep]
    assert json_access.argument_text({"a": deep}) == (ABSENT, False)


@given(JSON, st.lists(st.text() | st.integers(), max_size=3))
def test_no_value_raises(value: Any, path: list[str | int]) -> None:
    """Any JSON, any path."""
    json_access.get(value, *path)
    assert isinstance(json_access.text(value), (str, type(ABSENT), type(None)))
    assert isinstance(json_access.integer(value), (int, type(ABSENT), type(None)))
    assert isinstance(json_access.items(value), list)


@given(JSON)
def test_entries_at_a_path_are_those_of_what_lies_there(value: Any) -> None:
    """`items_at` says in one step what `get` and `items` say in two."""
    for payload in (value, {"a": value}, {"a": {"b": value}}, [value]):
        for path in ((), ("a",), ("a", "b")):
            assert json_access.items_at(payload, *path) == json_access.items(json_access.get(payload, *path))
