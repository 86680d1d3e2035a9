"""Foreign text as a terminal may show it, counts, and text with gaps."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from toolstream_core.wire.json_value import encode_basestring, encode_basestring_ascii


def quoted_text(text: str) -> str:
    """`text` as a JSON string on one line, without characters that control a terminal."""
    return encode_basestring(text) if text.isprintable() else encode_basestring_ascii(text)


def quoted(text: str, limit: int) -> str:
    """As `quoted_text`, cut at `limit` characters."""
    shown = quoted_text(text[:limit])
    return shown if len(text) <= limit else f"{shown}… (+{len(text) - limit} characters)"


def printable(text: str) -> str:
    """`text` without characters that control a terminal."""
    return text if text.isprintable() else json.dumps(text)[1:-1]


def word(text: str) -> str:
    """Foreign text as a word of a line, without quotes if possible: a host, a model, a reason."""
    return text if text.isprintable() and " " not in text else quoted(text, 200)


def counted(number: int, noun: str) -> str:
    """`1 event`, `2 events`."""
    return f"1 {noun}" if number == 1 else f"{number} {noun}s"


def first_difference(one: Sequence[object], other: Sequence[object]) -> int:
    """The place at which two sequences first differ; the length of the shorter one if it begins the other."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def shown_json(value: Any) -> str:
    """A value as JSON, without characters that control a terminal."""
    plain = json.dumps(value, ensure_ascii=False)
    return plain if plain.isprintable() else json.dumps(value)


def excerpt(text: str, start: int, length: int) -> str:
    """A part of a text as JSON, with `…` for what is left out."""
    end = start + length
    return f"{'…' if start else ''}{shown_json(text[start:end])}{'…' if end < len(text) else ''}"


def has_parts(text: str, parts: Sequence[str]) -> bool:
    """Whether a text consists of these parts in this order, with anything between them."""
    first, *others = parts
    if not others:
        return text == first
    if not text.startswith(first):
        return False
    at = len(first)
    for part in others[:-1]:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return len(text) - at >= len(others[-1]) and text.endswith(others[-1])
