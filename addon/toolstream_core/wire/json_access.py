"""Typed access to foreign JSON. Never raises; distinguishes absent, null and empty."""

from __future__ import annotations

from toolstream_core.wire import numbers
from toolstream_core.wire.json_value import ABSENT, Json, Seen

_MAX_DIGITS = 18
_NESTED = (dict, list)


def get(value: Json, *path: str | int) -> Json:
    """The value at `path` (keys of objects, indexes of arrays), or `ABSENT`."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(step, ABSENT)
        elif isinstance(value, list) and isinstance(step, int) and 0 <= step < len(value):
            value = value[step]
        else:
            return ABSENT
    return value


def has_text(value: Json, text: str) -> bool:
    """Whether an entry of a value, at any depth, is this text."""
    left = [value]
    while left:
        container = left.pop()
        inner = container.values() if isinstance(container, dict) else container if isinstance(container, list) else ()
        if text in inner:
            return True
        left += [each for each in inner if isinstance(each, _NESTED)]
    return False


def text(value: Json) -> Seen[str]:
    """Text; a number or a boolean is its JSON text. An object or array is none: `ABSENT`."""
    if isinstance(value, str) or value is ABSENT or value is None:
        return value
    return argument_text(value)[0] if isinstance(value, (int, float)) else ABSENT


def integer(value: Json) -> Seen[int]:
    """An integer, also as `1.0` or `"1"`; `None` for anything else (`true` too)."""
    if type(value) is int or value is ABSENT:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and len(value) <= _MAX_DIGITS and value.isascii():
        return int(value) if value.removeprefix("-").isdigit() else None
    return None


def scalar(value: Json) -> Json:
    """A value that can be looked up in a table: an object or array counts as null."""
    return None if isinstance(value, dict | list) else value


def items(value: Json) -> list[Json]:
    """The entries of an array, or of a value in the place of one.

    An object whose keys are all numbers has its values as entries, in the numbers' order; any other object
    that is not empty is the one entry; nothing else has entries.
    """
    if isinstance(value, list):
        return value
    if not isinstance(value, dict) or not value:
        return []
    if all(isinstance(integer(key), int) for key in value):
        return [value[key] for key in sorted(value, key=int)]
    return [value]


def items_at(value: Json, *path: str) -> list[Json]:
    """The entries of the value at `path`, as for `items`."""
    for key in path:
        value = value.get(key, ABSENT) if isinstance(value, dict) else get(value, key)
    return value if isinstance(value, list) else items(value)


def argument_text(value: Json) -> tuple[Seen[str], bool]:
    """Arguments as JSON text, and whether they were sent as text, as the protocols want.

    Other values than text, null and absent become compact JSON, with keys in their order.
    """
    if isinstance(value, str) or value is ABSENT or value is None:
        return value, True
    try:
        return numbers.dumps(value), False
    except (ValueError, TypeError, RecursionError):
        return ABSENT, False


def argument_fragment(value: Json) -> tuple[Seen[str], bool]:
    """As `argument_text`, for the first part of arguments: a number, a truth value or a list is none."""
    own_text, was_text = argument_text(value)
    return (None, False) if not was_text and not isinstance(value, dict) else (own_text, was_text)


def argument_delta(value: Json) -> tuple[Seen[str], bool]:
    """As `argument_text`, for a later part of arguments; a list has no meaning.

    Some gateways parse each part as JSON, and send `5.1` in a path as a number.
    """
    return (None, False) if isinstance(value, list) else argument_text(value)
