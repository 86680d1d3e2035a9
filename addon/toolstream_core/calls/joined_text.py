"""Text that comes in many pieces, joined as seldom as may be."""

from __future__ import annotations

from typing import Final

_BLOCK: Final = 256


class JoinedText(list[str]):
    """The pieces in order. Grows by `append`; when there are `full` of them, `merge` is due."""

    full = _BLOCK

    def merge(self) -> None:
        """Join the last pieces into one, so that many of them cost little."""
        self[-_BLOCK:] = ["".join(self[-_BLOCK:])]
        self.full += 1

    def text(self) -> str:
        """The pieces joined."""
        if len(self) > 1:
            self[:] = ["".join(self)]
            self.full = _BLOCK + 1
        return self[0] if self else ""

    def ends_in(self, text: str) -> bool:
        """Whether `text` is the last part of what came, behind others."""
        tail = ""
        for part in reversed(self):
            if len(tail) > len(text):
                break
            tail = part + tail
        return len(tail) > len(text) and tail.endswith(text)
