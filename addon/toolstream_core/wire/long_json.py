"""Long JSON, parsed in parts: no call into C takes more than `PART` characters or one string.

`json` holds Python's lock while it parses. A thread that reads a request of 20 MB in one call stops every
stream of the proxy.
"""

from __future__ import annotations

import re
from typing import Final

from toolstream_core.wire import numbers
from toolstream_core.wire.json_value import Json, scanstring

LONG: Final = 1 << 20
"""Bytes above which JSON is long."""
PART: Final = 1 << 16
_SHORT: Final = 1 << 10
"""Characters that are tried first: most values are short."""
_DEPTH: Final = 16
"""Nesting below which a value is read in one call."""
_SPACE: Final = re.compile(r"[ \t\n\r]*")


def of_any_length(text: str) -> Json:
    """Short JSON in one call, long JSON in parts. Raises `ValueError`, `RecursionError`."""
    return loads(text) if len(text) > LONG else numbers.loads(text)


def loads(text: str) -> Json:
    """As `numbers.loads`. Raises `ValueError`, `RecursionError`."""
    value, position = _value(text, _after_space(text, 0), 0)
    if _after_space(text, position) != len(text):
        raise ValueError(f"more text after the value, at {position}")
    return value


def _value(text: str, position: int, depth: int) -> tuple[Json, int]:
    mark = text[position : position + 1]
    if mark == '"':
        string: tuple[str, int] = scanstring(text, position + 1)
        return string
    if mark not in {"{", "["} or depth == _DEPTH:
        return numbers.first(text, position)
    for size in (_SHORT, PART):
        try:
            value, length = numbers.first(text[position : position + size], 0)
        except ValueError:  # it is longer, or invalid
            continue
        return value, position + length
    return (_object if mark == "{" else _array)(text, position + 1, depth + 1)


def _object(text: str, position: int, depth: int) -> tuple[Json, int]:
    found: dict[str, Json] = {}
    position = _after_space(text, position)
    if text[position : position + 1] == "}":
        return found, position + 1
    while True:
        _expect(text, position, '"')
        key, position = scanstring(text, position + 1)
        position = _after_space(text, position)
        _expect(text, position, ":")
        found[key], position = _value(text, _after_space(text, position + 1), depth)
        position = _after_space(text, position)
        if text[position : position + 1] == "}":
            return found, position + 1
        _expect(text, position, ",")
        position = _after_space(text, position + 1)


def _array(text: str, position: int, depth: int) -> tuple[Json, int]:
    found: list[Json] = []
    position = _after_space(text, position)
    if text[position : position + 1] == "]":
        return found, position + 1
    while True:
        value, position = _value(text, position, depth)
        found.append(value)
        position = _after_space(text, position)
        if text[position : position + 1] == "]":
            return found, position + 1
        _expect(text, position, ",")
        position = _after_space(text, position + 1)


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    return position if found is None else found.end()


def _expect(text: str, position: int, mark: str) -> None:
    if text[position : position + 1] != mark:
        raise ValueError(f"expected {mark} at {position}")
