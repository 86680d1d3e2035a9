"""Long JSON, parsed in parts: no call into C takes more than `PART` characters, and other threads get their turn.

`json` holds Python's lock while it parses. A thread that reads a request of 20 MB in one call stops every
stream of the proxy.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from json import decoder
from typing import Final

from toolstream_core.wire import numbers
from toolstream_core.wire.json_value import Json

_scan: Callable[[str, int], tuple[str, int]] = decoder.scanstring  # type: ignore[attr-defined]  # typeshed lacks it
LONG: Final = 1 << 20
"""Bytes above which JSON is long."""
PART: Final = 1 << 16
_SHORT: Final = 1 << 10
"""Characters that are tried first: most values are short."""
_DEPTH: Final = 16
"""Nesting below which a value is read in one call."""
_ESCAPE: Final = len(r"\ud83d")
_SPACE: Final = re.compile(r"[ \t\n\r]*")
_RUN: Final = re.compile(
    r'(?:[^"\\\x00-\x1f]++|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[0-9a-fA-F]{4}|\\u[0-9a-fA-F]{4}|\\["\\/bfnrt])*+'
)
"""Characters and escapes of a string. A pair of surrogates is one."""
_HALF_PAIR: Final = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}")


def of_any_length(text: str) -> Json:
    """Short JSON in one call, long JSON in parts. Raises `ValueError`, `RecursionError`."""
    return loads(text) if len(text) > LONG else numbers.loads(text)


def loads(text: str) -> Json:
    """As `numbers.loads`. Raises `ValueError`, `RecursionError`."""
    value, at = _value(text, _after_space(text, 0), 0)
    if _after_space(text, at) != len(text):
        raise ValueError(f"more text after the value, at {at}")
    return value


def _value(text: str, at: int, depth: int) -> tuple[Json, int]:
    mark = text[at : at + 1]
    if mark == '"':
        return _string(text, at + 1)
    if mark not in {"{", "["} or depth == _DEPTH:
        return numbers.first(text, at)
    for size in (_SHORT, PART):
        try:
            value, length = numbers.first(text[at : at + size], 0)
        except ValueError:  # it is longer, or invalid
            continue
        return value, at + length
    return (_object if mark == "{" else _array)(text, at + 1, depth + 1)


def _object(text: str, at: int, depth: int) -> tuple[Json, int]:
    found: dict[str, Json] = {}
    at = _after_space(text, at)
    if text[at : at + 1] == "}":
        return found, at + 1
    while True:
        _expect(text, at, '"')
        key, at = _string(text, at + 1)
        at = _after_space(text, at)
        _expect(text, at, ":")
        found[key], at = _value(text, _after_space(text, at + 1), depth)
        at = _after_space(text, at)
        if text[at : at + 1] == "}":
            return found, at + 1
        _expect(text, at, ",")
        at = _after_space(text, at + 1)


def _array(text: str, at: int, depth: int) -> tuple[Json, int]:
    found: list[Json] = []
    at = _after_space(text, at)
    if text[at : at + 1] == "]":
        return found, at + 1
    while True:
        value, at = _value(text, at, depth)
        found.append(value)
        at = _after_space(text, at)
        if text[at : at + 1] == "]":
            return found, at + 1
        _expect(text, at, ",")
        at = _after_space(text, at + 1)


def _string(text: str, at: int) -> tuple[str, int]:
    parts: list[str] = []
    while True:
        end = at + PART
        run = _RUN.match(text, at, end)
        stop = run.end() if run is not None else at
        part = text[at:stop]
        if stop > end - 12 and text[stop : stop + 1] != '"' and _ends_in_high_surrogate(part):
            part, stop = part[:-_ESCAPE], stop - _ESCAPE  # the second surrogate may follow
        if stop == at and text[at : at + 1] != '"':
            raise ValueError(f"no valid string at {at}")
        parts.append(_scan(f'"{part}"', 1)[0] if "\\" in part else part)
        if text[stop : stop + 1] == '"':
            return "".join(parts), stop + 1
        at = stop


def _ends_in_high_surrogate(fragment: str) -> bool:
    before = fragment[:-_ESCAPE]
    escaped = (len(before) - len(before.rstrip("\\"))) % 2
    return not escaped and _HALF_PAIR.fullmatch(fragment[-_ESCAPE:]) is not None


def _after_space(text: str, at: int) -> int:
    found = _SPACE.match(text, at)
    return at if found is None else found.end()


def _expect(text: str, at: int, mark: str) -> None:
    if text[at : at + 1] != mark:
        raise ValueError(f"expected {mark} at {at}")
