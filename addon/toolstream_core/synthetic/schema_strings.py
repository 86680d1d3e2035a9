"""Texts that fit a JSON Schema of type string."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random

_FORMATS: Final = {
    "date": "2026-03-01",
    "date-time": "2026-03-01T09:30:00Z",
    "time": "09:30:00Z",
    "duration": "PT15M",
    "email": "ada@example.com",
    "hostname": "example.com",
    "ipv4": "192.0.2.1",
    "ipv6": "2001:db8::1",
    "uri": "https://example.com/page",
    "uri-reference": "/page",
    "url": "https://example.com/page",
    "uuid": "3f2504e0-4f89-41d3-9a0c-0305e82c3301",
    "json-pointer": "/page",
    "regex": "^a+$",
    "byte": "dGV4dA==",
}
_BY_NAME: Final = (
    (re.compile(r"city|town|place|location|origin|destination", re.IGNORECASE), ("Lisbon", "Nairobi", "Oslo")),
    (re.compile(r"country", re.IGNORECASE), ("Portugal", "Kenya", "Norway")),
    (re.compile(r"zone", re.IGNORECASE), ("Africa/Nairobi", "Europe/Oslo")),
    (re.compile(r"url|uri|link", re.IGNORECASE), ("https://example.com/page",)),
    (re.compile(r"path|file", re.IGNORECASE), ("notes.txt", "src/main.txt")),
    (re.compile(r"query|question|prompt|search", re.IGNORECASE), ("weather in Lisbon", "opening hours")),
    (re.compile(r"command|cmd", re.IGNORECASE), ("echo hello", "pwd")),
    (re.compile(r"code|script|program", re.IGNORECASE), ("print('hello')",)),
    (re.compile(r"date|day", re.IGNORECASE), ("2026-03-01",)),
    (re.compile(r"mail", re.IGNORECASE), ("ada@example.com",)),
    (re.compile(r"name|user|person", re.IGNORECASE), ("Ada", "Grace")),
)
_USUAL: Final = ("first light", "green door", "quiet river")
_CANDIDATES: Final = (
    *(text for _, texts in _BY_NAME for text in texts),
    *_FORMATS.values(),
    *("a", "A", "1", "ab", "AB", "12", "abc", "ABC", "123", "1234", "12345", "a1", "A1", "AB12", "a-b", "a_b", "1.0"),
    *("1.2.3", "#ff8800", "+15550100", "en", "en-US", "USD", "10:30", "2026-03", "v1", "@ada", "/etc", "*.txt"),
)
"""What is tried for a pattern."""
_WIDE: Final = " 🌍"


def string_value(schema: dict[str, Any], path: str, random: random.Random, *, wide_characters: bool) -> str:
    """A text that keeps to format, pattern and length; `path` ends with the property's name."""
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        return _fitting(pattern, schema)
    form = schema.get("format")
    if form in _FORMATS:
        return _FORMATS[form]
    text = _sized(random.choice(_texts(path)), schema)
    return text + _WIDE if wide_characters and _has_room(text, schema) else text


def _texts(path: str) -> tuple[str, ...]:
    name = path.rpartition(".")[2]
    return next((texts for known, texts in _BY_NAME if known.search(name)), _USUAL)


def _fitting(pattern: str, schema: dict[str, Any]) -> str:
    """A text that the pattern matches, where one is at hand."""
    try:
        wanted = re.compile(pattern)
    except re.error:
        return _sized(_USUAL[0], schema)
    for text in _CANDIDATES:
        if wanted.search(text) and _sized(text, schema) == text:
            return text
    longer = (_sized(character, schema) for character in "a0A")
    return next((text for text in longer if wanted.search(text)), _sized(_USUAL[0], schema))


def _sized(text: str, schema: dict[str, Any]) -> str:
    """A text cut or repeated to the length that is allowed."""
    least, most = schema.get("minLength"), schema.get("maxLength")
    if isinstance(least, int) and len(text) < least:
        text = (text * (least // max(len(text), 1) + 1))[:least]
    return text[:most] if isinstance(most, int) and most >= 0 else text


def _has_room(text: str, schema: dict[str, Any]) -> bool:
    most = schema.get("maxLength")
    return not isinstance(most, int) or len(text) + len(_WIDE) <= most
