"""Access to foreign JSON: how each kind of value is interpreted, without exceptions."""

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
    """A path has keys of objects and indexes of arrays. Null is a value, and a missing value is absent."""
    assert json_access.get({"a": {"b": [1, None]}, "0": 2}, *path) == found


@pytest.mark.parametrize(
    ("value", "expected"),
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
def test_text(value: Any, expected: Any) -> None:
    """Numbers and booleans become their JSON text, and objects and arrays are absent."""
    assert json_access.text(value) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
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
def test_integer(value: Any, expected: Any) -> None:
    """Numbers in strings and whole floats are integers, and other values are null."""
    assert json_access.integer(value) == expected


@pytest.mark.parametrize("value", [True, False])
def test_a_boolean_is_no_integer(value: Any) -> None:
    """In Python, it is."""
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
    """The items of an array, or the values of an object in place of an array."""
    assert json_access.items(value) == entries


def test_items_of_an_array_are_not_copied() -> None:
    """The result is the same object."""
    entries: list[Any] = [1]
    assert json_access.items(entries) is entries


@pytest.mark.parametrize(
    ("value", "expected"),
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
def test_argument_text(value: Any, expected: tuple[Any, bool]) -> None:
    """Null, empty and absent arguments are distinguished, and objects keep the order of keys."""
    assert json_access.argument_text(value) == expected


@given(JSON)
def test_argument_text_of_an_object_is_its_json(value: Any) -> None:
    """Parsed again, it is the same value."""
    expected, encoded = json_access.argument_text(value)
    if encoded:
        assert expected == value
    else:
        assert isinstance(expected, str)
        assert json.dumps(json.loads(expected)) == json.dumps(value)


def test_argument_text_of_deep_nesting_is_absent() -> None:
    """No recursion error is raised."""
    deep: Any = []
    for _ in range(200_000):
        deep = [deep]
    assert json_access.argument_text({"a": deep}) == (ABSENT, False)


@given(JSON, st.lists(st.text() | st.integers(), max_size=3))
def test_no_value_raises(value: Any, path: list[str | int]) -> None:
    """Any JSON and any path are allowed."""
    json_access.get(value, *path)
    assert isinstance(json_access.text(value), (str, type(ABSENT), type(None)))
    assert isinstance(json_access.integer(value), (int, type(ABSENT), type(None)))
    assert isinstance(json_access.items(value), list)


@given(JSON)
def test_items_at_equals_items_of_get(value: Any) -> None:
    """The shortcut gives the same items for any path."""
    for payload in (value, {"a": value}, {"a": {"b": value}}, [value]):
        for path in ((), ("a",), ("a", "b")):
            assert json_access.items_at(payload, *path) == json_access.items(json_access.get(payload, *path))


@given(JSON, st.text())
def test_a_text_is_found_at_any_depth(value: Any, text: str) -> None:
    """An entry of an object or array is found at any depth, a key is not."""
    for payload in ({"a": text}, [1, text], {"a": [value, {"b": [text]}]}):
        assert json_access.has_text(payload, text)
    assert not json_access.has_text({text: [1, {text: None}]}, text)
