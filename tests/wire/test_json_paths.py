"""Changes of JSON values by their paths."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING

import pytest

from toolstream_core.wire.json_paths import Path, changed
from toolstream_core.wire.json_value import ABSENT

if TYPE_CHECKING:
    from toolstream_core.wire.json_value import Json

VALUE: Json = {"a": {"b": [1, {"c": 2, "d": 3}, 4], "e": {}}, "f": None}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({}, VALUE),
        ({("a", "b", 1, "c"): 5}, {"a": {"b": [1, {"c": 5, "d": 3}, 4], "e": {}}, "f": None}),
        ({("a", "b", 1, "c"): 5, ("a", "b", 1, "d"): ABSENT}, {"a": {"b": [1, {"c": 5}, 4], "e": {}}, "f": None}),
        ({("a", "b", 0): ABSENT, ("a", "b", 2): ABSENT}, {"a": {"b": [{"c": 2, "d": 3}], "e": {}}, "f": None}),
        ({("a", "b", 0): ABSENT, ("a", "b", 1, "c"): 5}, {"a": {"b": [{"c": 5, "d": 3}, 4], "e": {}}, "f": None}),
        ({("f", "g"): 1}, {"a": VALUE["a"], "f": {"g": 1}}),
        ({("h", "i"): 1}, {**VALUE, "h": {"i": 1}}),
        ({("f",): ABSENT, ("h",): ABSENT}, {"a": VALUE["a"]}),
        ({(): 1}, 1),
    ],
)
def test_only_the_values_at_the_paths_change(changes: dict[Path, Json], expected: Json) -> None:
    """The original value is not modified."""
    before = copy.deepcopy(VALUE)
    assert changed(VALUE, changes) == expected
    assert before == VALUE


def test_other_containers_are_not_copied() -> None:
    """A change of a large event costs little."""
    result = changed(VALUE, {("a", "b", 0): 9})
    assert result["a"]["b"][1] is VALUE["a"]["b"][1]
    assert result["a"]["e"] is VALUE["a"]["e"]


def test_an_object_in_place_of_an_array_becomes_an_array() -> None:
    """It contains the items that readers find in the object."""
    assert changed({"a": {"b": 1}}, {("a", 0, "b"): 2}) == {"a": [{"b": 2}]}
