"""The argument text of one call, judged as it grows, in time linear to its bytes. Knows JSON only."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from toolstream_core.model import Json, Seen

# Two readings are kept of every argument text, because both are in the wild:
#
#   joined      what the protocols say: the fragments, one after the other.
#   last whole  the last fragment that is a whole object by itself *and cannot be a part of the joined text*:
#               providers that send the arguments so far in each delta (hermes-agent#35718) or the whole call
#               again at the end (eliza#16973).
#
# Joined wins whenever it is one JSON value. "Cannot be a part" is what keeps a call that was cut off inside
# `{"a":{}` from being read as the whole call `{}`.

MAX_TEXT = 8 * 1024 * 1024
"""Characters of one call's arguments that are kept; what is over makes the call incomplete."""

_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')
_BLOCK = 256
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_PLACEHOLDER = re.compile(r"\s*(?:\{\s*\}|null)\s*(?=\S)")


class ArgumentText:
    """Grows by `add`, is read by `reading`; `whole` is cheap at any time."""

    __slots__ = (
        "_blocks",
        "_depth",
        "_escaped",
        "_in_string",
        "_last",
        "_limit",
        "_parts",
        "_size",
        "_tail",
        "ended",
        "spilled",
        "whole_again",
    )

    def __init__(self, limit: int | None = None) -> None:
        """Start empty; `limit` characters are kept, `MAX_TEXT` where nothing else is said."""
        self._limit = MAX_TEXT if limit is None else limit
        self._blocks: list[str] = []
        self._parts: list[str] = []
        self._size = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._tail = ""
        self._last = ""
        self.ended = False
        """Whether one JSON object, array or string has been opened and closed."""
        self.spilled = False
        """Whether something other than white space follows it."""
        self.whole_again: str | None = None
        """The last fragment that is a whole object by itself and no part of the joined text."""

    @property
    def empty(self) -> bool:
        """Whether nothing but white space has come."""
        return not self._tail

    @property
    def whole(self) -> bool:
        """Whether what came is one complete JSON value, by structure."""
        return (self.ended and not self.spilled) or self.whole_again is not None

    @property
    def amid(self) -> bool:
        """Whether an object or array is open."""
        return self._depth > 0 and not self.ended

    def add(self, piece: str) -> None:
        """Take the next fragment."""
        if not piece:
            return
        self._note_whole(piece)
        self._last = piece
        self._scan(piece)
        self._tail = piece.rstrip()[-1:] or self._tail
        self._keep(piece)

    def add_plain(self, text: str, last: str) -> None:
        """Take fragments joined that begin and end nothing; `last` is the last of them."""
        self.add(text)
        self._last = last or self._last

    def text(self) -> str:
        """The fragments joined."""
        return "".join(self._blocks) + "".join(self._parts)

    def ends_in(self, text: str) -> bool:
        """Whether `text` is the last part of what came, behind others."""
        tail = ""
        for part in (*reversed(self._parts), *reversed(self._blocks)):
            if len(tail) > len(text):
                break
            tail = part + tail
        return len(tail) > len(text) and tail.endswith(text)

    def reading(self, *, may_be_empty: bool = True) -> tuple[str, bool]:
        """What the fragments mean, and whether that is whole.

        `may_be_empty`: the tool has no required parameters, so nothing, `""` and `null` mean `{}`.
        """
        joined = _paired(self.text())
        if self._size > self._limit:
            return joined, False
        if joined.strip() in {"", "null"}:
            return ("{}", True) if may_be_empty else (joined, False)
        value = _value(joined)
        if value is not ABSENT:
            return _unwrapped(joined, value), True
        placeholder = _PLACEHOLDER.match(joined)
        if placeholder and _value(joined[placeholder.end() :]) is not ABSENT:
            return joined[placeholder.end() :], True
        if self.whole_again is not None:
            return self.whole_again, True
        return joined, False

    def restarted_by(self, piece: Seen[str]) -> bool:
        """Whether `piece` begins an object that cannot go on with the one that is open: other arguments begin."""
        return isinstance(piece, str) and piece.lstrip().startswith("{") and self._may_restart(piece)

    def _keep(self, piece: str) -> None:
        self._size += len(piece)
        if self._size > self._limit:
            return
        self._parts.append(piece)
        if len(self._parts) == _BLOCK:
            self._blocks.append("".join(self._parts))
            self._parts.clear()

    def _note_whole(self, piece: str) -> None:
        if piece[0] not in "{ \t\r\n" or not piece.lstrip().startswith("{"):
            return
        if self._may_restart(piece) and piece.rstrip().endswith("}") and isinstance(_value(piece), dict):
            self.whole_again = piece
        elif self.ended:
            self.whole_again = None

    def _may_restart(self, piece: str) -> bool:
        """Whether an object that begins here cannot lie inside the one that is open."""
        if not self._tail or piece.startswith(self._last):
            return True
        return not self._in_string and self._tail not in ":[,"

    def _scan(self, piece: str) -> None:
        if self.ended:
            self.spilled = self.spilled or bool(piece.strip())
        else:
            self._advance(piece)

    def _advance(self, piece: str) -> None:
        at, size = 0, len(piece)
        if self._escaped:
            at, self._escaped = 1, False
        while at < size:
            found = (_INSIDE if self._in_string else _OUTSIDE).search(piece, at)
            if found is None:
                return
            at = self._step(piece, found.start())
            if self.ended:
                self.spilled = self.spilled or bool(piece[at:].strip())
                return

    def _step(self, piece: str, at: int) -> int:
        match piece[at]:
            case "\\":
                self._escaped = at + 1 == len(piece)
                return at + 2
            case '"':
                self._in_string = not self._in_string
                self.ended = not self._in_string and self._depth == 0
            case "{" | "[":
                self._depth += 1
            case _:
                self._depth -= 1
                self.ended = self._depth <= 0
                self.spilled = self._depth < 0
        return at + 1


def _paired(text: str) -> str:
    """The text with halves of surrogate pairs that came in two fragments put together."""
    if not _PAIR.search(text):
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")


def _value(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return ABSENT


def _unwrapped(text: str, value: Json) -> str:
    """The inner text where a JSON string holds an object: arguments encoded twice mean the object."""
    if isinstance(value, str) and isinstance(_value(value), dict):
        return value
    return text
