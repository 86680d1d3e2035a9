"""Strings of JSON found by their quotes: in any protocol, also where the JSON is broken or cut."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME: Final = 32
"""Bytes beyond which what stands where a name does may be anything."""
_INSIDE: Final = rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+'
# Fields that never carry a piece of a text; passed over in C, as each event has several of them.
_NO_TEXT: Final = rb"id|object|model|type|role|finish_reason|system_fingerprint|service_tier|provider|event|status"
_PASSED: Final = (
    rb'(?:[^"]*+(?:"[^"\\\r\n]{0,%d}+"\s*+:\s*+(?=[^"\s])|"(?:' % _NAME
    + _NO_TEXT
    + rb')"\s*+:\s*+"[^"\\\r\n]*+"))*+[^"]*+'
)
# A string, and what stands behind it where it is a key; a string that a line cuts off counts too.
_LEAF: Final = re.compile(_PASSED + rb'"(' + _INSIDE + rb')(?:"(\s*+:\s*+(?:"(' + _INSIDE + rb')"?+)?+)?+)?+')
_REST: Final = re.compile(_INSIDE)


class Leaf(NamedTuple):
    """A string, without its quotes."""

    key: bytes
    """Of the field; empty in an array."""
    start: int
    end: int
    outset: int
    """Where its key begins, or its own quote."""


def leaves(text: bytes, open_key: bytes | None = None) -> Iterator[Leaf]:
    """The strings that are values, in order, and names that are as long as a text.

    With `open_key` the text begins inside the value of that key.
    """
    at = 0
    if open_key is not None:
        at = _REST.match(text).end()  # type: ignore[union-attr]
        yield Leaf(open_key, 0, at, 0)
        at += 1
    # Not searched for, but matched: where nothing more is found, that is told once.
    while found := _LEAF.match(text, at):
        outset, at = found.start(1) - 1, found.end()
        start, end = found.span(3)
        if found[2] is None or found.end(1) - outset > _NAME + 1:
            yield Leaf(b"", *found.span(1), outset)
        if start >= 0:
            yield Leaf(found[1], start, end, outset)
