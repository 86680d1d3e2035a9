"""Text that arrives in many fragments, joined as seldom as possible."""

from __future__ import annotations

from typing import Final

_BLOCK: Final = 256


class JoinedText(list[str]):
    """The fragments in order. Grows by `append`; when there are `full` of them, `merge` is due."""

    full = _BLOCK

    def merge(self) -> None:
        """Join the last fragments into one, so that many of them cost little."""
        self[-_BLOCK:] = ["".join(self[-_BLOCK:])]
        self.full += 1

    def text(self) -> str:
        """The fragments joined."""
        if len(self) > 1:
            self[:] = ["".join(self)]
            self.full = _BLOCK + 1
        return self[0] if self else ""

    def ends_in(self, text: str) -> bool:
        """Whether the text ends with `text`, after other fragments."""
        tail = ""
        for part in reversed(self):
            if len(tail) > len(text):
                break
            tail = part + tail
        return len(tail) > len(text) and tail.endswith(text)
