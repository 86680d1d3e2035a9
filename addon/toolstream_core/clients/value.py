"""A text that a client gathers entry by entry: a name, an id, or arguments."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.calls.joined_text import JoinedText

if TYPE_CHECKING:
    from toolstream_core.clients.model import Arguments, Id, Name
    from toolstream_core.model import Seen


class Edit(NamedTuple):
    """What an entry does to a text."""

    text: str
    appended: bool
    """Whether it is appended; else it replaces the text so far."""


class Value:
    """A text that is gathered entry by entry. Each entry costs its own bytes, however long the text is."""

    __slots__ = ("_count", "_parts", "_rank", "_rule", "size")

    def __init__(self, rule: Name | Id | Arguments) -> None:
        """`rule` says what becomes of several texts."""
        self._rule = rule.name
        self._parts = JoinedText()
        self._rank = self._count = 0
        self.size = 0
        """Characters of the text."""

    def take(self, seen: Seen[str], rank: int = 0, *, complete: bool = False) -> Edit | None:
        """Take what an entry says; `None` where that changes nothing.

        Entries of a higher rank replace those of lower ranks, which do not count from then on. `complete`: the entry
        says the complete text, whatever the rule is.
        """
        if rank < self._rank:
            return None
        anew = rank > self._rank
        if not anew and self._count and not isinstance(seen, str):
            return None
        if anew:
            self._rank, self._count = rank, 0
        self._count += 1
        text = seen if isinstance(seen, str) else None
        edit = Edit(text or "", appended=False) if complete else self._edit(text, begun=not anew and self.size > 0)
        if anew and (edit is None or edit.appended):
            edit = Edit("" if edit is None else edit.text, appended=False)
        return edit and self._applied(edit)

    def text(self) -> str:
        """The text so far."""
        return self._parts.text()

    def same_as(self, other: Value) -> bool:
        """Whether both texts are the same."""
        return self.size == other.size and self.text() == other.text()

    def _edit(self, text: str | None, *, begun: bool) -> Edit | None:
        match self._rule:
            case "FIRST" | "OWN" | "UNIQUE":  # what a generated id stands for
                return Edit(text, appended=False) if text and not begun else None
            case "JOINED":
                return Edit(text, appended=True) if text else None
            case "AFTER_OPENING":
                return Edit(text, appended=True) if text and self._count > 1 else None
            case "LAST" | "ITEM":
                return Edit(text, appended=False) if text else None
            case "OPENING":
                return Edit(text or "", appended=False) if self._count == 1 else None
        return None if text is None else Edit(text, appended=False)  # OVERWRITTEN

    def _applied(self, edit: Edit) -> Edit | None:
        if edit.appended:
            self.size += len(edit.text)
            self._parts.append(edit.text)
            if len(self._parts) == self._parts.full:
                self._parts.merge()
            return edit
        if len(edit.text) == self.size and edit.text == self.text():
            return None
        self.size = len(edit.text)
        self._parts = JoinedText([edit.text])
        return edit
