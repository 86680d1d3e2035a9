"""Text that comes in many pieces, joined as seldom as may be."""

from __future__ import annotations

from typing import Final

_BLOCK: Final = 256


class JoinedText:
    """Grows by `add`."""

    __slots__ = ("_loose", "_parts")

    def __init__(self) -> None:
        """No piece has come."""
        self._parts: list[str] = []
        self._loose = 0
        """How many of the last parts are pieces that were not joined yet."""

    def add(self, piece: str) -> None:
        """Take the next piece."""
        self._parts.append(piece)
        self._loose += 1
        if self._loose == _BLOCK:
            self._parts[-_BLOCK:] = ["".join(self._parts[-_BLOCK:])]
            self._loose = 0

    def text(self) -> str:
        """The pieces joined."""
        if len(self._parts) > 1:
            self._parts = ["".join(self._parts)]
            self._loose = 0
        return self._parts[0] if self._parts else ""

    def ends_in(self, text: str) -> bool:
        """Whether `text` is the last part of what came, behind others."""
        tail = ""
        for part in reversed(self._parts):
            if len(tail) > len(text):
                break
            tail = part + tail
        return len(tail) > len(text) and tail.endswith(text)
