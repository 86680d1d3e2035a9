"""Values that fit a JSON Schema, for arguments of tools: always the same for the same seed."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from toolstream_core.model import ABSENT
from toolstream_core.synthetic.schema_strings import string_value
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json

type Schema = dict[str, Any]

_MAX_DEPTH: Final = 8
"""From this depth on only what is required is made."""
_MAX_REFERENCES: Final = 32
_OPTIONAL: Final = 2
"""Optional properties of an object that are there, at most."""
_USUAL_MOST: Final = 10
"""Numbers without bounds go to here."""
_VARIANTS: Final = ("anyOf", "oneOf")


@dataclass(frozen=True, slots=True)
class SchemaValues:
    """Makes values for one tool."""

    root: Json
    """The schema in which `$ref` points."""
    seed: str
    wide_characters: bool = False
    """Whether texts that may be any are to have a character beyond the first 65,536."""
    varied: bool = False
    """Whether any value that the schema allows may come, instead of the one that it suggests."""

    def arguments(self) -> dict[str, Json]:
        """An object that fits the schema of a tool's parameters."""
        if not isinstance(self.root, dict):
            return {}
        value = self._value(self.root, "", 0)
        return value if isinstance(value, dict) else {}

    def _value(self, given: Json, path: str, depth: int) -> Json:
        schema = self._resolved(given, path, depth) if depth <= 2 * _MAX_DEPTH else {"type": "null"}
        chosen = self._chosen(schema, path)
        if chosen is not ABSENT:
            return chosen
        match _type_of(schema):
            case "object":
                return self._object(schema, path, depth)
            case "array":
                return self._array(schema, path, depth)
            case "integer" | "number" as kind:
                return _number(schema, whole=kind == "integer", random=self._random(path))
            case "boolean":
                return self._random(path).random() < 0.5  # noqa: PLR2004 - one of two
            case "null":
                return None
        drawn = self._random(path)
        return string_value(schema, path, drawn, wide_characters=self.wide_characters, varied=self.varied)

    def _chosen(self, schema: Schema, path: str) -> Json:
        """A value that the schema itself names; `ABSENT` where there is none."""
        if "const" in schema:
            return schema["const"]
        choices = [one for one in json_access.items(schema.get("enum")) if self.varied or one is not None]
        if self.varied:
            return self._random(path).choice(choices) if choices else ABSENT
        usual = schema.get("default")
        if choices:
            return usual if usual in choices else self._random(path).choice(choices)
        if examples := json_access.items(schema.get("examples")):
            return examples[0]
        if usual is not None:
            return usual
        return schema.get("example", ABSENT)

    def _object(self, schema: Schema, path: str, depth: int) -> dict[str, Json]:
        properties = json_access.get(schema, "properties")
        properties = properties if isinstance(properties, dict) else {}
        required = [name for name in json_access.items(schema.get("required")) if isinstance(name, str)]
        optional = [name for name in properties if name not in required]
        least = schema.get("minProperties")
        needed = max(0, least - len(required)) if isinstance(least, int) else 0
        more = min(max(_OPTIONAL, needed) if depth < _MAX_DEPTH else 0, len(optional))
        drawn = self._random(path)
        kept = set(drawn.sample(optional, drawn.randint(min(needed, more), more) if self.varied else more))
        names = [name for name in properties if name in required or name in kept]
        names += [name for name in required if name not in properties]
        return {name: self._value(properties.get(name, {}), f"{path}.{name}", depth + 1) for name in names}

    def _array(self, schema: Schema, path: str, depth: int) -> list[Json]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", 2)
        heads = json_access.items(schema.get("prefixItems"))
        usual = max(len(heads), 1 if depth < _MAX_DEPTH else 0)
        bounded = isinstance(least, int) and isinstance(most, int)
        count = max(least, min(usual, most)) if bounded else usual
        if self.varied and bounded and depth < _MAX_DEPTH:
            longest = count if schema.get("uniqueItems") is True else most
            count = self._random(path).randint(least, max(least, min(count + 1, longest)))
        rest = schema.get("items", {})
        return [self._value(heads[at] if at < len(heads) else rest, f"{path}[{at}]", depth + 1) for at in range(count)]

    def _resolved(self, given: Json, path: str, depth: int) -> Schema:
        """The schema with its references followed, and one of its variants taken."""
        schema = given if isinstance(given, dict) else {}
        for _ in range(_MAX_REFERENCES):
            if isinstance(schema.get("$ref"), str):
                rest = {key: value for key, value in schema.items() if key != "$ref"}
                schema = {**self._referred(schema["$ref"]), **rest}
            elif variant := next((schema[key] for key in _VARIANTS if json_access.items(schema.get(key))), None):
                rest = {key: value for key, value in schema.items() if key not in _VARIANTS}
                schema = _merged(rest, self._variant(json_access.items(variant), path, depth))
            elif parts := json_access.items(schema.get("allOf")):
                rest = {key: value for key, value in schema.items() if key != "allOf"}
                schema = rest
                for part in parts:
                    schema = _merged(schema, self._resolved(part, path, depth))
            else:
                break
        return schema

    def _variant(self, variants: list[Json], path: str, depth: int) -> Schema:
        schemas = [one for one in variants if isinstance(one, dict)]
        if self.varied and schemas and depth < _MAX_DEPTH:
            return self._random(path).choice(schemas)
        return _preferred(variants, shallow=depth >= _MAX_DEPTH)

    def _referred(self, reference: str) -> Schema:
        steps = [step.replace("~1", "/").replace("~0", "~") for step in reference.removeprefix("#").split("/")[1:]]
        found = json_access.get(self.root, *steps) if reference.startswith("#") else ABSENT
        return found if isinstance(found, dict) else {}

    def _random(self, path: str) -> random.Random:
        return random.Random(f"{self.seed}|{path}")


def _preferred(variants: list[Json], *, shallow: bool) -> Schema:
    """The first variant that is more than null; null, where there is such, if the value is to end soon."""
    null = [one for one in variants if json_access.get(one, "type") == "null"]
    more = [one for one in variants if isinstance(one, dict) and one not in null]
    ranked: list[Schema] = [*null, *more] if shallow else [*more, *null]
    return ranked[0] if ranked else {}


def _type_of(schema: Schema) -> str:
    kind = schema.get("type")
    kinds = [one.lower() for one in (kind if isinstance(kind, list) else [kind]) if isinstance(one, str)]
    named = next((one for one in kinds if one != "null"), "null" if kinds else "")
    if named:
        return named
    return "object" if "properties" in schema else "array" if "items" in schema else "string"


def _merged(one: Schema, other: Schema) -> Schema:
    """Both schemas' demands."""
    merged = {**one, **other}
    for key in ("properties", "required"):
        if isinstance(one.get(key), dict) and isinstance(other.get(key), dict):
            merged[key] = {**one[key], **other[key]}
        elif isinstance(one.get(key), list) and isinstance(other.get(key), list):
            merged[key] = [*dict.fromkeys([*one[key], *other[key]])]
    return merged


def _number(schema: Schema, *, whole: bool, random: random.Random) -> Json:
    """A number between the bounds, and a multiple where one is wanted."""
    step = _bound(schema, "multipleOf") or (1 if whole else 0)
    above, below = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
    low = max((one for one in (_bound(schema, "minimum"), above) if one is not None), default=None)
    high = min((one for one in (_bound(schema, "maximum"), below) if one is not None), default=None)
    if low is None:
        low = 1 if high is None or high >= _USUAL_MOST else high - _USUAL_MOST * (step or 1)
    if high is None:
        high = low + _USUAL_MOST * (step or 1)
    if not step:
        return low + (high - low) * random.choice((0.25, 0.5, 0.75))
    first, last = math.ceil(low / step), math.floor(high / step)
    first += first * step == above
    last -= last * step == below
    value = step * random.randint(first, max(first, min(last, first + _USUAL_MOST)))
    return int(value) if whole else value


def _bound(schema: Schema, key: str) -> float | None:
    found = schema.get(key)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None
