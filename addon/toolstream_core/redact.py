"""Keeps secrets out of everything that is told while it runs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlsplit

from toolstream_core.redaction import Redaction, redacted_text
from toolstream_core.secret_shapes import ANY_SHAPE, SHAPES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HIDDEN = "[redacted]"
MIN_SECRET = 8
"""Characters below which nothing counts as a secret."""
_SHAPES = re.compile(rf"{ANY_SHAPE}|(?<=[Bb]earer )[A-Za-z0-9._~+/=-]{{8,}}")
_HINTS = ("earer ", "_mmk", *sorted({shape.prefix for shape in SHAPES if shape.prefix}))
_PLAIN = Redaction()
_MAY_NAME = (
    *("pass", "pwd", "secret", "token", "key", "auth", "cookie", "cred", "bearer", "login", "curl", "ldap", "redis"),
    *("identified", "bindpw", "jwt", "jqqj99", "azdo", "q~", "://"),
)
"""Of these, a text has one that says of something that it is a secret; to look closely costs more than to log."""
_HEADER = re.compile(r"auth|api-?key|token|secret|cookie|signature|credential|password", re.IGNORECASE)
_QUERY = re.compile(r"key|token|secret|sig|auth|password|credential", re.IGNORECASE)


def is_secret_header(name: str) -> bool:
    """Whether a header of this name carries a secret."""
    return _HEADER.search(name) is not None


def is_secret_parameter(name: str) -> bool:
    """Whether a query parameter of this name carries a secret."""
    return _QUERY.search(name) is not None


def redacted(text: str, secrets: tuple[str, ...] = ()) -> str:
    """`text` without what looks like a secret, and without `secrets`, the values that the request itself carried.

    What a name beside it says to be one is overwritten with `*`.
    """
    if len(text) < MIN_SECRET:
        return text
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, HIDDEN)
    hidden = False
    for hint in _HINTS:
        if hint in text:
            text = _SHAPES.sub(HIDDEN, text)
            hidden = "\\" in text  # behind an escape such as `\n` no expression sees where a key begins
            break
    lowered = text.lower()
    return redacted_text(text, _PLAIN) if hidden or any(word in lowered for word in _MAY_NAME) else text


def request_secrets(headers: Iterable[tuple[str, str]], path: str) -> tuple[str, ...]:
    """The values of a request that are secrets by the name of their header or parameter, longest first."""
    found = {value for value in _carried(headers, path) if len(value) >= MIN_SECRET}
    return tuple(sorted(found, key=lambda value: (-len(value), value)))


def _carried(headers: Iterable[tuple[str, str]], path: str) -> Iterator[str]:
    for name, value in headers:
        if name.lower() == "cookie":
            yield from (pair.partition("=")[2].strip() for pair in value.split(";"))
        elif is_secret_header(name):
            yield value.rpartition(" ")[2]
    try:
        query = urlsplit(path).query
    except ValueError:
        return
    for pair in query.split("&"):
        for name, value in parse_qsl(pair):
            if is_secret_parameter(name):
                yield from (value, pair.partition("=")[2])
