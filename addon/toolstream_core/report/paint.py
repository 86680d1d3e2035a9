"""Terminal colour and safe quoting of foreign text. Knows no product noun."""

from __future__ import annotations

import json
from collections.abc import Callable

from toolstream_core.wire.json_strings import encode_basestring, encode_basestring_ascii

type Paint = Callable[[str, str], str]
"""`paint(style, text)` with a style of `STYLES`, or another, which has no colour."""

STYLES = {
    "error": "\x1b[31m",
    "warning": "\x1b[33m",
    "ok": "\x1b[32m",
}


def plain(style: str, text: str) -> str:
    """No colour."""
    del style
    return text


def colour(style: str, text: str) -> str:
    """ANSI colour, for what is ok, a warning or an error; nothing else has one."""
    return f"{STYLES[style]}{text}\x1b[0m" if style in STYLES else text


def wants_colour(*, terminal: bool, environment: dict[str, str]) -> bool:
    """Colour on a terminal, unless `NO_COLOR` is set to anything (https://no-color.org)."""
    return terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def quoted_whole(text: str) -> str:
    """`text` as one line of JSON string, with nothing in it that steers a terminal."""
    return encode_basestring(text) if text.isprintable() else encode_basestring_ascii(text)


def quoted(text: str, limit: int) -> str:
    """As `quoted_whole`, cut at `limit` characters."""
    shown = quoted_whole(text[:limit])
    return shown if len(text) <= limit else f"{shown}… (+{len(text) - limit} characters)"


def printable(text: str) -> str:
    """`text` with nothing in it that steers a terminal."""
    return text if text.isprintable() else json.dumps(text)[1:-1]


def word(text: str) -> str:
    """Foreign text that stands bare in a line: a host, a model, a reason."""
    return text if text.isprintable() and " " not in text else quoted(text, 200)
