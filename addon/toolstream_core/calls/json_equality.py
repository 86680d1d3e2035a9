"""Whether two JSON texts or values count as the same. Knows JSON only."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolstream_core.model import Json


def meaning(text: str) -> str:
    """Equal for equal JSON; the text itself if it is not JSON. Comparing values would treat `true` as `1`."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def same_arguments(one: str, other: str) -> bool:
    """Whether two argument texts are equal, or equal as JSON."""
    return one == other or meaning(one) == meaning(other)


INVALID: Final = object()


def value_of(arguments: str) -> Json:
    """The value of argument text: nothing and `null` are `{}`; `INVALID` where the text is not JSON."""
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return INVALID
    return {} if value is None else value


def same(arguments: str, again: str) -> bool:
    """Whether two texts of arguments mean the same: `10` is `10.0`, the order of keys and spaces do not count."""
    if arguments == again:
        return True
    one, other = value_of(arguments), value_of(again)
    return one is not INVALID and other is not INVALID and equal(one, other)


def equal(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal; `true` is not `1`."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def grows_into(before: str, after: str) -> bool:
    """Whether an object is a later state of another one: the same keys or more, and texts that only got longer."""
    try:
        one, other = json.loads(before), json.loads(after)
        return not equal(one, other) and _grows(one, other)
    except (ValueError, RecursionError):
        return False


def _grows(before: object, after: object) -> bool:
    if isinstance(before, dict) and isinstance(after, dict):
        return all(key in after and _grows(value, after[key]) for key, value in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return len(before) <= len(after) and all(map(_grows, before, after))
    if isinstance(before, str) and isinstance(after, str):
        return after.startswith(before)
    return type(before) is type(after) and before == after
