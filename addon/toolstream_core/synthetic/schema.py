"""Arguments for a tool: values that fit its JSON schema and have no effect."""

from __future__ import annotations

import math
import random
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Final

from toolstream_core.model import ABSENT, Json
from toolstream_core.protocols.requests.tools import OfferedTool
from toolstream_core.synthetic.harmless import has_effect, is_harmless, words_of
from toolstream_core.synthetic.strings import NO_TOOL, ForTool, safe_kind, string_value
from toolstream_core.wire import json_access

type Schema = dict[str, Any]

_MAX_DEPTH: Final = 8
"""From this depth on, only required properties are generated."""
_MAX_REFERENCES: Final = 32
_OPTIONAL: Final = 2
"""Maximum number of optional properties of a varied value."""
_PREVIEWS: Final = frozenset({"dry", "preview", "simulate"})
"""Words of switches that a careful person turns on."""
_UNIQUE_TRIES: Final = 16
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
    """Whether free texts get a character beyond the first 65,536."""
    varied: bool = False
    """Whether any value that the schema allows is generated, instead of the suggested one."""
    tool: ForTool = NO_TOOL

    def arguments(self) -> dict[str, Json]:
        """An object that fits the schema of a tool's parameters."""
        if not isinstance(self.root, dict):
            return {}
        value = self.value(self.root, "", 0)
        return value if isinstance(value, dict) else {}

    def value(self, given: Json, path: str, depth: int) -> Json:
        """A value that fits `given`, a schema inside the root."""
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
                return _number(schema, complete=kind == "integer", varied=self.varied, random=self._random(path))
            case "boolean":
                return self._switch(path)
            case "null":
                return None
        drawn, wide = self._random(path), self.wide_characters
        return string_value(schema, path, drawn, wide_characters=wide, varied=self.varied, tool=self.tool)

    def _switch(self, path: str) -> bool:
        if self.varied:
            return self._random(path).choice((False, True))
        return bool(_PREVIEWS & {*words_of(path.rpartition(".")[2])})

    def _chosen(self, schema: Schema, path: str) -> Json:
        """A value from the schema itself: a constant, example or default; `ABSENT` if there is none."""
        if "const" in schema:
            return schema["const"]
        choices = [one for one in json_access.items(schema.get("enum")) if self.varied or one is not None]
        choices = [one for one in choices if not has_effect(words_of(str(one)))] or choices
        usual = schema.get("default")
        if choices:
            return usual if usual in choices and not self.varied else self._random(path).choice(choices)
        if self.varied or (_type_of(schema) == "string" and safe_kind(schema, path, self.tool) is not None):
            return ABSENT
        named = [*json_access.items(schema.get("examples"))[:1], usual, schema.get("example")]
        return next((one for one in named if isinstance(one, str | int | float)), ABSENT)

    def _object(self, schema: Schema, path: str, depth: int) -> dict[str, Json]:
        properties = json_access.get(schema, "properties")
        properties = properties if isinstance(properties, dict) else {}
        required = [name for name in json_access.items(schema.get("required")) if isinstance(name, str)]
        optional = [name for name in properties if name not in required]
        least = schema.get("minProperties")
        needed = optional[: max(0, least - len(required))] if isinstance(least, int) else []
        needed += self._more([name for name in optional if name not in needed], path) if depth < _MAX_DEPTH else []
        names = [name for name in properties if name in required or name in needed]
        names += [name for name in required if name not in properties]
        return {name: self.value(properties.get(name, {}), f"{path}.{name}", depth + 1) for name in names}

    def _more(self, optional: list[str], path: str) -> list[str]:
        """Optional properties for another value, without those whose names suggest an effect."""
        plain = [name for name in optional if not has_effect(words_of(name))]
        drawn = self._random(path)
        return drawn.sample(plain, drawn.randint(0, min(_OPTIONAL, len(plain)))) if self.varied else []

    def _array(self, schema: Schema, path: str, depth: int) -> list[Json]:
        least, most = schema.get("minItems", 0), schema.get("maxItems", 2)
        heads = json_access.items(schema.get("prefixItems"))
        usual = max(len(heads), 1 if depth < _MAX_DEPTH else 0)
        bounded = isinstance(least, int) and isinstance(most, int)
        count = max(least, min(usual, most)) if bounded else usual
        if self.varied and bounded and depth < _MAX_DEPTH:
            longest = count if schema.get("uniqueItems") is True else most
            count = self._random(path).randint(least, max(least, min(count + 1, longest)))
        schemas = [*heads[:count], *[schema.get("items", {})] * (count - len(heads))]
        made = [self.value(one, f"{path}[{at}]", depth + 1) for at, one in enumerate(schemas)]
        return self._distinct(made, schemas, path, depth) if schema.get("uniqueItems") is True else made

    def _distinct(self, made: list[Json], schemas: list[Json], path: str, depth: int) -> list[Json]:
        """The items, each made again while an earlier one equals it."""
        varied = replace(self, varied=True)
        for at, schema in enumerate(schemas):
            for more in range(1, _UNIQUE_TRIES):
                if made[at] not in made[:at]:
                    break
                made[at] = varied.value(schema, f"{path}[{at + more * len(made)}]", depth + 1)
        return made

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
    """The first variant that is not null; null, if possible, when the value should end soon."""
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


def _merged(schema: Schema, other: Schema) -> Schema:
    """A schema with the requirements of both."""
    merged = {**schema, **other}
    for key in ("properties", "required"):
        if isinstance(schema.get(key), dict) and isinstance(other.get(key), dict):
            merged[key] = {**schema[key], **other[key]}
        elif isinstance(schema.get(key), list) and isinstance(other.get(key), list):
            merged[key] = [*dict.fromkeys([*schema[key], *other[key]])]
    return merged


def _number(schema: Schema, *, complete: bool, varied: bool, random: random.Random) -> Json:
    """A number between the bounds, and a multiple if required; an integer if the bounds allow it.

    `varied`: if they allow several.
    """
    above, below = _bound(schema, "exclusiveMinimum"), _bound(schema, "exclusiveMaximum")
    low = max((one for one in (_bound(schema, "minimum"), above) if one is not None), default=None)
    high = min((one for one in (_bound(schema, "maximum"), below) if one is not None), default=None)
    step = _bound(schema, "multipleOf")
    span = _USUAL_MOST * (step or 1)
    if low is None:
        low = 1 if high is None or high >= _USUAL_MOST else high - span
    if high is None:
        high = low + span
    multiples = [step] if step else [1.0] if complete else [1.0, (high - low) / 4 or 1.0]
    ranges = [(one, *_range(one, (low, high), (above, below))) for one in multiples]
    enough = (one for one in ranges if one[1] + varied <= one[2])
    multiple, first, last = next(enough, ranges[-1])
    value = multiple * random.randint(first, max(first, min(last, first + _USUAL_MOST)))
    return int(value) if complete or float(value).is_integer() else value


def _range(
    multiple: float, bounds: tuple[float, float], excluded: tuple[float | None, float | None]
) -> tuple[int, int]:
    """The least and the largest factor of the multiples between the bounds."""
    first, last = math.ceil(bounds[0] / multiple), math.floor(bounds[1] / multiple)
    return first + (first * multiple == excluded[0]), last - (last * multiple == excluded[1])


def _bound(schema: Schema, key: str) -> float | None:
    found = schema.get(key)
    return found if isinstance(found, int | float) and not isinstance(found, bool) else None


_USUAL_TRIES: Final = 8
"""Draws of usual values, before draws of any value that the schema allows."""
_TRIES: Final = 64
"""Even of two values that are equally likely, one is missed by all draws but once in 2⁶³."""


def distinct_arguments(
    tool: OfferedTool, seed: str, used: Collection[Json], *, wide_characters: bool = False
) -> dict[str, Json] | None:
    """Arguments for `tool` that are not in `used`; `None` if the schema seems to allow no others.

    The same for the same seed. `wide_characters` as in `SchemaValues`.
    """
    about = ForTool(tool.name, reads=is_harmless(tool))
    for attempt in range(_TRIES):
        drawn = f"{seed}|{attempt}" if attempt else seed
        varied = attempt >= _USUAL_TRIES
        values = SchemaValues(tool.schema, drawn, wide_characters=wide_characters, varied=varied, tool=about)
        made = values.arguments()
        if made not in used:
            return made
    return None
