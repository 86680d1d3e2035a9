"""Texts that fit a JSON Schema of type string."""

from __future__ import annotations

import re
import string
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random

_FORMATS: Final[dict[str, tuple[str, ...]]] = {
    "date": ("2026-03-01", "2026-03-02"),
    "date-time": ("2026-03-01T09:30:00Z", "2026-03-02T10:45:00Z"),
    "time": ("09:30:00Z", "10:45:00Z"),
    "duration": ("PT15M", "PT30M"),
    "email": ("ada@example.com", "grace@example.com"),
    "hostname": ("example.com", "example.org"),
    "ipv4": ("192.0.2.1", "192.0.2.2"),
    "ipv6": ("2001:db8::1", "2001:db8::2"),
    "uri": ("https://example.com/page", "https://example.com/other"),
    "uri-reference": ("/page", "/other"),
    "url": ("https://example.com/page", "https://example.com/other"),
    "uuid": ("3f2504e0-4f89-41d3-9a0c-0305e82c3301", "9b2d6f1c-7a05-4c8e-8f3b-51c0a7de4402"),
    "json-pointer": ("/page", "/other"),
    "regex": ("^a+$", "^b+$"),
    "byte": ("dGV4dA==", "bW9yZQ=="),
}
_BY_NAME: Final = (
    (re.compile(r"city|town|place|location|origin|destination", re.IGNORECASE), ("Lisbon", "Nairobi", "Oslo")),
    (re.compile(r"country", re.IGNORECASE), ("Portugal", "Kenya", "Norway")),
    (re.compile(r"zone", re.IGNORECASE), ("Africa/Nairobi", "Europe/Oslo")),
    (re.compile(r"url|uri|link", re.IGNORECASE), ("https://example.com/page", "https://example.com/other")),
    (re.compile(r"path|file", re.IGNORECASE), ("notes.txt", "src/main.txt")),
    (re.compile(r"query|question|prompt|search", re.IGNORECASE), ("weather in Lisbon", "opening hours")),
    (re.compile(r"command|cmd", re.IGNORECASE), ("echo hello", "pwd")),
    (re.compile(r"code|script|program", re.IGNORECASE), ("print('hello')", "print('bye')")),
    (re.compile(r"date|day", re.IGNORECASE), ("2026-03-01", "2026-03-02")),
    (re.compile(r"mail", re.IGNORECASE), ("ada@example.com", "grace@example.com")),
    (re.compile(r"name|user|person", re.IGNORECASE), ("Ada", "Grace")),
)
_USUAL: Final = ("first light", "green door", "quiet river")
_CANDIDATES: Final = (
    *(text for _, texts in _BY_NAME for text in texts),
    *(text for texts in _FORMATS.values() for text in texts[:1]),
    *("a", "A", "1", "ab", "AB", "12", "abc", "ABC", "123", "1234", "12345", "a1", "A1", "AB12", "a-b", "a_b", "1.0"),
    *("1.2.3", "#ff8800", "+15550100", "en", "en-US", "USD", "10:30", "2026-03", "v1", "@ada", "/etc", "*.txt"),
)
"""What is tried for a pattern."""
_KINDS: Final = (string.digits, string.ascii_lowercase, string.ascii_uppercase)
_WIDE: Final = " 🌍"


def string_value(
    schema: dict[str, Any], path: str, random: random.Random, *, wide_characters: bool, varied: bool
) -> str:
    """A text that keeps to format, pattern and length; `path` ends with the property's name.

    `varied`: any of those that are known, with another letter or digit where that fits too.
    """
    pattern = schema.get("pattern")
    if isinstance(pattern, str):
        text = _fitting(pattern, schema)
        return _changed(text, pattern, random) if varied else text
    form = schema.get("format")
    if form in _FORMATS:
        return random.choice(_FORMATS[form]) if varied else _FORMATS[form][0]
    text = _sized(random.choice(_texts(path)), schema)
    text = _changed(text, "", random) if varied else text
    return text + _WIDE if wide_characters and _has_room(text, schema) else text


def _changed(text: str, pattern: str, random: random.Random) -> str:
    """The text with one letter or digit changed, so that the pattern still matches; where that cannot be, as it is."""
    try:
        wanted = re.compile(pattern)
    except re.error:
        return text
    places = random.sample(range(len(text)), len(text))
    others = ((at, other) for at in places for other in _others(text[at], random))
    changed = (f"{text[:at]}{other}{text[at + 1 :]}" for at, other in others)
    return next((one for one in changed if wanted.search(one)), text)


def _others(character: str, random: random.Random) -> list[str]:
    """The other characters of the same kind, in any order."""
    kind = next((kind for kind in _KINDS if character in kind), "")
    return random.sample(others := [one for one in kind if one != character], len(others))


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
