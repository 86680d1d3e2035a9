"""What clients make of JSON that was cut off, or that more follows."""

from __future__ import annotations

import json
from typing import Final

from toolstream_core.calls.json_text import is_json

MAX_TAKEN_BACK: Final = 200
"""Characters that are taken back, at most, until what is left can be completed."""
_DECODER: Final = json.JSONDecoder()
_CLOSING: Final = {"{": "}", "[": "]"}


def head(text: str) -> str:
    """The JSON value that `text` begins with; `""` where it begins with none."""
    begin = len(text) - len(text.lstrip())
    try:
        return text[begin : _DECODER.raw_decode(text, begin)[1]]
    except (ValueError, RecursionError):
        return ""


def completed(text: str) -> str:
    """The text with its open string and brackets closed, shortened as little as it takes; `""` where that is none."""
    if found := head(text):
        return found
    for shorter in range(min(len(text), MAX_TAKEN_BACK)):
        kept = text[: len(text) - shorter]
        scanned = _open_brackets(kept)
        candidate = kept + scanned
        if is_json(candidate):
            return candidate
    return ""


def shortened(text: str) -> str:
    """The text up to its last whole member, with its brackets closed; `""` where that is none."""
    if found := head(text):
        return found
    for end in reversed(_member_ends(text)):
        candidate = text[:end] + _open_brackets(text[:end])
        if is_json(candidate):
            return candidate
    return ""


def _open_brackets(text: str) -> str:
    """What closes the string and the brackets that are open at the end of `text`."""
    closing: list[str] = []
    quoted = escaped = False
    for letter in text:
        if escaped:
            escaped = False
        elif quoted:
            escaped = letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in _CLOSING:
            closing.append(_CLOSING[letter])
        elif letter in "}]" and closing:
            closing.pop()
    return ('"' if quoted else "") + "".join(reversed(closing))


def _member_ends(text: str) -> list[int]:
    """Where a bracket opens, or a member ends, outside of strings."""
    ends: list[int] = []
    quoted = escaped = False
    for at, letter in enumerate(text):
        if escaped:
            escaped = False
        elif quoted:
            escaped = letter == "\\"
            quoted = letter != '"'
        elif letter == '"':
            quoted = True
        elif letter in "{[":
            ends.append(at + 1)
        elif letter == ",":
            ends.append(at)
    return ends
