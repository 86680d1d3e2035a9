"""Arguments compared as JSON values."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json

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


def leaves(value: Json) -> Iterator[str]:
    """The strings and numbers in a value, as text."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)
