"""Two generated calls of a response have different arguments if the schema allows it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from toolstream_core.protocols.requests.tools import OfferedTool
from toolstream_core.synthetic.schema import distinct_arguments

NESTED = {"type": "object", "properties": {"deep": {"type": "array", "items": {"type": "boolean"}}}}
SEVERAL_VALUES = [
    {"type": "string"},
    {"type": "string", "maxLength": 1},
    {"type": "string", "enum": ["celsius", "fahrenheit"]},
    {"type": "string", "enum": ["celsius", "fahrenheit"], "default": "celsius"},
    {"type": "string", "default": "Lisbon"},
    {"type": "string", "examples": ["Lisbon"]},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "uuid"},
    {"type": "string", "pattern": "^[A-Z]{3}$"},
    {"type": "string", "pattern": "^[0-9]{4}-[0-9]{2}-[0-9]{2}$"},
    {"type": "integer", "minimum": 5, "maximum": 6},
    {"type": "number", "minimum": 0, "maximum": 0.1},
    {"type": "boolean"},
    {"type": ["string", "null"]},
    {"enum": [None, 7]},
    {"type": "array", "items": {"type": "null"}, "maxItems": 1},
    {"type": "array", "items": {"enum": ["a", "b"]}, "uniqueItems": True, "minItems": 1},
    {"anyOf": [{"const": "a"}, {"const": "b"}]},
    {"type": "object", "properties": {"a": {"const": 1}, "b": {"const": 2}}},
    {"type": "object", "properties": {"deep": NESTED}, "required": ["deep"]},
]
ONE_VALUE = [
    {"const": "a"},
    {"enum": [7]},
    {"type": "null"},
    {"type": "string", "maxLength": 0},
    {"type": "array", "maxItems": 0},
]


def with_value(schema: Any) -> dict[str, Any]:
    """A tool's schema with this property."""
    return {"type": "object", "properties": {"path": schema}, "required": ["path"], "additionalProperties": False}


@pytest.mark.parametrize("schema", SEVERAL_VALUES, ids=json.dumps)
@pytest.mark.parametrize("seed", ["0", "1", "2"])
@pytest.mark.parametrize("name", ["read_file", "delete_file"])
def test_arguments_differ_and_fit_the_schema(schema: Any, seed: str, name: str) -> None:
    """For every seed, also with characters that need several bytes. The result is always the same."""
    tool_schema = with_value(schema)
    tool = OfferedTool(name, tool_schema)
    for wide in (False, True):
        first = distinct_arguments(tool, seed, [], wide_characters=wide)
        other = distinct_arguments(tool, seed, [first], wide_characters=wide)
        assert other is not None
        assert other != first
        assert other == distinct_arguments(tool, seed, [first], wide_characters=wide)
        jsonschema.validate(first, tool_schema)
        jsonschema.validate(other, tool_schema)


@pytest.mark.parametrize(
    "schema", [*map(with_value, ONE_VALUE), {"type": "object", "properties": {}}, {}], ids=json.dumps
)
def test_a_schema_with_one_value_has_no_second_arguments(schema: Any) -> None:
    """The result is None."""
    tool = OfferedTool("get_value", schema)
    first = distinct_arguments(tool, "0", [])
    assert distinct_arguments(tool, "1", [first]) is None
