"""Generated arguments fit the schema of their tool."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolstream_core.synthetic.schema import SchemaValues

TREE = {
    "type": "object",
    "$defs": {
        "Node": {
            "type": "object",
            "properties": {
                "label": {"type": "string"},
                "next": {"anyOf": [{"$ref": "#/$defs/Node"}, {"type": "null"}]},
                "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
            },
            "required": ["label", "next", "children"],
        }
    },
    "properties": {"root": {"$ref": "#/$defs/Node"}},
    "required": ["root"],
}


def nested(schema: Any) -> dict[str, Any]:
    """The schema of an object with one property of this schema."""
    return {"type": "object", "properties": {"city": schema}, "required": ["city"], "additionalProperties": False}


BOOLEAN = {"type": "boolean"}
SIMPLE = [
    {"type": "string"},
    {"type": "string", "enum": ["celsius", "fahrenheit"]},
    {"type": ["string", "null"], "minLength": 30},
    {"type": "string", "maxLength": 2},
    {"type": "string", "format": "date-time"},
    {"type": "string", "format": "uuid"},
    {"type": "string", "pattern": "^[A-Z]{3}$"},
    {"type": "string", "pattern": r"^\\d{4}-\\d{2}-\\d{2}$".replace("\\\\", "\\")},
    {"type": "integer"},
    {"type": "integer", "minimum": 5, "maximum": 5},
    {"type": "integer", "exclusiveMinimum": 9, "multipleOf": 3},
    {"type": "integer", "maximum": -4},
    {"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 2},
    {"type": "number", "minimum": 0, "maximum": 0.1},
    {"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 1.5},
    {"type": "number", "multipleOf": 0.25, "minimum": 0.3},
    {"type": "boolean"},
    {"type": "null"},
    {"const": {"a": [1]}},
    {"enum": [None, 7]},
    {"default": "x", "type": "string"},
    {"examples": ["y"], "type": "string"},
    {"type": "array", "items": {"type": "integer"}, "minItems": 3},
    {"type": "array", "maxItems": 0},
    {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
    {"anyOf": [{"type": "null"}, {"type": "integer"}]},
    {"oneOf": [{"type": "object", "properties": {"kind": {"const": "a"}}, "required": ["kind"]}]},
    {"allOf": [nested({"type": "string"}), {"required": ["city"]}]},
    {"type": "object", "required": ["free"]},
    {"type": "object", "minProperties": 3, "properties": {name: {"type": "integer"} for name in "abcd"}},
    nested(nested({"type": "boolean"})),
    {},
    True,
]


@pytest.mark.parametrize("schema", SIMPLE, ids=json.dumps)
@pytest.mark.parametrize("seed", ["0", "1"])
def test_a_value_fits_its_schema(schema: Any, seed: str) -> None:
    """Also with characters that need several bytes."""
    tool_schema = nested(schema)
    for wide in (False, True):
        arguments = SchemaValues(tool_schema, seed, wide_characters=wide).arguments()
        jsonschema.validate(arguments, tool_schema)


def test_a_recursive_schema() -> None:
    """The values are no deeper than necessary."""
    arguments = SchemaValues(TREE, "0").arguments()
    jsonschema.validate(arguments, TREE)


def test_values_of_the_schema_are_used() -> None:
    """Constants, defaults and examples."""
    for schema, value in ({"const": 3}, 3), ({"default": 4}, 4), ({"examples": [5, 6]}, 5), ({"enum": [8]}, 8):
        assert SchemaValues(nested(schema), "0").arguments() == {"city": value}


def test_gemini_writes_types_in_capitals() -> None:
    """Types in capitals are understood."""
    schema = {"type": "OBJECT", "properties": {"days": {"type": "INTEGER"}}, "required": ["days"]}
    assert isinstance(SchemaValues(schema, "0").arguments()["days"], int)


def test_the_seed_decides() -> None:
    """The same seed gives the same values, and another one gives others."""
    schema = {"type": "object", "properties": {f"n{at}": {"type": "integer"} for at in range(9)}}
    schema["required"] = list(schema["properties"])
    first, again, other = (SchemaValues(schema, seed).arguments() for seed in ("0", "0", "1"))
    assert first == again != other


def test_only_required_properties_are_generated() -> None:
    """More are added if `minProperties` needs them."""
    schema = {"type": "object", "properties": {name: {"type": "integer"} for name in "abcdef"}, "required": ["a"]}
    assert SchemaValues(schema, "0").arguments().keys() == {"a"}
    assert len(SchemaValues({**schema, "minProperties": 3}, "0").arguments()) == 3


@pytest.mark.parametrize("seed", range(5))
def test_numbers_are_integers_if_possible(seed: int) -> None:
    """Some programs refuse `8.5` for an integer."""
    for bounds in ({}, {"minimum": 0.5}, {"maximum": 4}, {"format": "int32"}, {"minimum": 0, "maximum": 1}):
        arguments = SchemaValues(nested({"type": "number", **bounds}), str(seed)).arguments()["city"]
        assert isinstance(arguments, int), (bounds, arguments)
    assert (
        0.2 < SchemaValues(nested({"type": "number", "minimum": 0.25, "maximum": 0.75}), "0").arguments()["city"] < 0.8
    )


def test_switches_are_off() -> None:
    """The exceptions keep a tool from acting. A choice with an effect is avoided."""
    names = ("force", "recursive", "dry_run", "preview")
    schema = {"type": "object", "properties": dict.fromkeys(names, BOOLEAN), "required": [*names]}
    assert SchemaValues(schema, "0").arguments() == dict(zip(names, (False, False, True, True), strict=True))
    action = {"type": "string", "enum": ["delete", "remove_all", "list", "update"]}
    assert SchemaValues(nested(action), "0").arguments() == {"city": "list"}


@settings(max_examples=25)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=4),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(st.sampled_from(["type", "properties", "items", "anyOf", "$ref", "enum", "a"]), inner)
        ),
        max_leaves=12,
    )
)
def test_no_schema_raises(schema: Any) -> None:
    """Schemas are foreign JSON."""
    json.dumps(SchemaValues(schema, "0").arguments())
