"""One call as a plain client gathers it. Knows no protocol."""

from __future__ import annotations

from typing import Final, NamedTuple

from toolstream_core.calls.joined_text import JoinedText
from toolstream_core.calls.json_text import is_object, meaning

MAX_TEXT: Final = 128 * 1024
"""The most characters of one call's arguments that are kept. A longer call is not checked."""


class Said(NamedTuple):
    """A call that a client has complete."""

    choice: int
    name: str
    arguments: str
    """JSON text of an object."""

    @property
    def meaning(self) -> str:
        """Equal for equal arguments."""
        return meaning(self.arguments)


class PlainCall:
    """A call under one index."""

    __slots__ = ("at", "choice", "closed", "given_up", "name", "parts", "size", "strict", "whole")

    def __init__(self, choice: int) -> None:
        """A call of a choice, before its first fragment."""
        self.choice = choice
        self.at = 0
        """Number of its last event."""
        self.name = ""
        self.parts = JoinedText()
        self.strict: JoinedText | None = None
        """The parts without those that came in another form than the protocol's, where there are such."""
        self.size = 0
        self.whole: str | None = None
        """Arguments that were said at once: they count before the parts."""
        self.given_up = False
        """Whether it is not checked: it is too long, or clients stop at its start."""
        self.closed = False
        """Whether an event of its own closed it."""

    def add(self, text: str, room: int, *, well_formed: bool = True) -> int:
        """The next part of the arguments, where there is room for so many characters; what is left of the room."""
        if self.given_up:
            return room
        if len(text) > room or self.size + len(text) > MAX_TEXT:
            room += self.size
            self.given_up, self.size, self.strict = True, 0, None
            self.parts.clear()
            return room
        if not well_formed and self.strict is None:
            self.strict = JoinedText([self.parts.text()])
        self.size += len(text)
        for parts in (self.parts, self.strict if well_formed else None):
            if parts is not None:
                parts.append(text)
                if len(parts) == parts.full:
                    parts.merge()
        return room - len(text)

    def say(self, text: str, room: int) -> int:
        """All of the arguments at once; as `add`."""
        if self.given_up or len(text) > min(room, MAX_TEXT):
            self.given_up = True
            return room
        self.whole = text
        return room - len(text)

    def copy(self) -> PlainCall:
        """A copy that grows independently."""
        other = PlainCall(self.choice)
        other.at = self.at
        other.name, other.size, other.whole = self.name, self.size, self.whole
        other.given_up, other.closed = self.given_up, self.closed
        other.parts = JoinedText([self.parts.text()])
        other.strict = None if self.strict is None else JoinedText([self.strict.text()])
        return other

    @property
    def silent(self) -> bool:
        """Whether it was closed without arguments, which clients treat as `{}`."""
        return self.closed and bool(self.name) and not (self.whole or self.parts.text()).strip()

    def object(self, *, odd: bool) -> str:
        """Its arguments where they are a whole object, else `""`; `odd`: whether parts in another form count too."""
        parts = self.parts if odd or self.strict is None else self.strict
        text = parts.text() if self.whole is None else self.whole
        return text if not self.given_up and is_object(text) else ""

    def said(self, *, odd: bool) -> Said | None:
        """What a client has of it, where it can run it; `odd` as above."""
        text = self.object(odd=odd) if self.name else ""
        return Said(self.choice, self.name, text) if text else None
