"""JSON whose numbers keep their notation: `1e400`, `-0`, twenty digits, and `NaN`, which JSON does not allow."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable
from typing import Self

from toolstream_core.wire.json_value import Json, scan_of

# Python's floats hold seventeen digits, and what it writes for one is the shortest text that means it. Nearly every
# number on this wire is written so, or is an integer; any other is read as `Written`. Python's encoder asks no
# subclass how it is to be written, so each such number is a string in its input, known by a mark that nobody else
# can say, and takes its place in the output.

_MARK = f"\0{os.urandom(12).hex()}:"
_IN_OUTPUT = re.compile(rf'"\\u0000{_MARK[1:]}([^"]*)"')
_MINUS_ZERO = re.compile(r"(?<![^\[{:,\s])-0(?![\d.eE])")
_CONSTANTS = ("NaN", "Infinity")


class Written(float):
    """A number whose text differs from Python's."""

    text: str
    match = False
    """Whether any was ever read: otherwise none has to be searched."""

    def __new__(cls, value: float, text: str = "") -> Self:
        """`text` as received."""
        number = super().__new__(cls, value)
        number.text = text
        return number


def loads(text: str) -> Json:
    """JSON; `NaN` and `Infinity` are read too. Raises `ValueError`, `RecursionError`."""
    if "-0" in text and _MINUS_ZERO.search(text):
        return _CAREFUL.decode(text)
    value, end = None, -1
    try:
        value, end = _scan(text, 0)
    except (StopIteration, json.JSONDecodeError):
        pass
    except ValueError:  # Python refuses integers of thousands of digits.
        return _CAREFUL.decode(text)
    return value if end == len(text) else _USUAL.decode(text)  # white space around it, or no JSON


def first(text: str, position: int) -> tuple[Json, int]:
    """The JSON value that begins at `position`, and where it ends. Raises `ValueError`, `RecursionError`."""
    return _CAREFUL.raw_decode(text, position)


def dumps(value: Json, *, ascii_only: bool = False) -> str:
    """Compact JSON, keys in their order, numbers in their notation. Raises `ValueError`, `RecursionError`."""
    encode = _ASCII if ascii_only else _COMPACT
    return _marks_replaced(value, encode) if Written.match else encode(value)


def spaced(value: Json) -> str:
    """As `dumps`, with a space after each comma and colon, as in arguments that providers serialize."""
    return _marks_replaced(value, _SPACED) if Written.match else _SPACED(value)


def _marks_replaced(value: Json, encode: Callable[[Json], str]) -> str:
    """JSON text in which each number that was read as `Written` has its own text."""
    try:
        marked = _marked(value)
    except RecursionError:
        marked = value
    return encode(value) if marked is value else _IN_OUTPUT.sub(r"\1", encode(marked))


def non_finite(text: str) -> bool:
    """Whether JSON text has a number that JSON does not have."""
    if not any(name in text for name in _CONSTANTS):
        return False
    found: list[str] = []
    try:
        json.loads(text, parse_constant=found.append)
    except (ValueError, RecursionError):
        return False
    return bool(found)


def _float(text: str) -> float:
    value = float(text)
    return value if repr(value) == text else _written(value, text)


def _int(text: str) -> int | Written:
    try:
        value = int(text)
    except ValueError:
        return _written(-math.inf if text.startswith("-") else math.inf, text)
    return _written(-0.0, text) if text == "-0" else value


def _constant(text: str) -> Written:
    return _written(float(text), text)


def _written(value: float, text: str) -> Written:
    Written.match = True
    return Written(value, text)


def _marked(value: Json) -> Json:
    """`value` with strings for such numbers; itself if it has none."""
    if isinstance(value, Written):
        return _MARK + value.text
    if isinstance(value, dict):
        inner = {key: _marked(item) for key, item in value.items()}
        return inner if any(inner[key] is not item for key, item in value.items()) else value
    if isinstance(value, list | tuple):
        entries = [_marked(item) for item in value]
        return entries if any(new is not old for new, old in zip(entries, value, strict=True)) else value
    return value


_USUAL = json.JSONDecoder(parse_float=_float, parse_constant=_constant)
_scan = scan_of(_USUAL)
_CAREFUL = json.JSONDecoder(parse_float=_float, parse_int=_int, parse_constant=_constant)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_SPACED = json.JSONEncoder(ensure_ascii=False).encode
_ASCII = json.JSONEncoder(ensure_ascii=True, separators=(",", ":")).encode
