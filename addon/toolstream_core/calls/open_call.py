"""One call while its fragments come: what is known of it, and whether it is whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.arguments import ENDLESS, ArgumentText, Room
from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.model import Kind, Runs

if TYPE_CHECKING:
    from toolstream_core.model import Fragment, Seen

_NOTHING = frozenset({"", "null", "None", "undefined"})


def nonblank(value: Seen[str]) -> str:
    """An id or name that says something, else `""`: absent, null, empty and a stringified null say nothing."""
    return value if isinstance(value, str) and value not in _NOTHING else ""


class OpenCall:
    """One call while its fragments come."""

    __slots__ = (
        "arguments",
        "cancelled",
        "choice",
        "closed",
        "cut",
        "guessed",
        "id",
        "index",
        "item_id",
        "kind",
        "name",
        "over",
        "position",
        "runs",
        "shared",
        "start_input",
        "unsure_since",
    )

    def __init__(self, fragment: Fragment, position: int, room: Room = ENDLESS) -> None:
        """Opened by `fragment`, as the call at `position` of its choice. Its arguments take `room`."""
        self.choice = fragment.choice
        self.index = fragment.index
        self.kind = fragment.kind
        self.position = position
        self.id = ""
        self.item_id = ""
        self.name = ""
        self.arguments = ArgumentText(room=room)
        self.start_input: str | None = None
        """Arguments said by the fragment that opens, which count only where no delta follows (Anthropic, Responses)."""
        self.closed = False
        """Whether an event of its own closed it or said it whole, be it cut off or not."""
        self.over = False
        """Whether the protocol said that the call is over and whole; a fragment that follows takes it back."""
        self.cut = False
        """Whether the protocol said that the call is not whole (`status` of a Responses item)."""
        self.cancelled = False
        """Whether another model continues the response, so that the call is not to be run."""
        self.guessed = False
        self.shared = False
        """Whether an earlier call has its index too, so that what fills the one may be a guess for the other."""
        self.unsure_since: int | None = None
        """The event from which on it is a guess that the arguments are the call's; `None` where that is known."""
        self.runs = Runs()

    def start_with(self, text: str) -> None:
        """Take arguments said by the fragment that opens."""
        if self.arguments.room.take(len(text)):
            self.start_input = text
        else:
            self.arguments.truncated = True

    @property
    def sure(self) -> bool:
        """Whether nothing that comes can show that arguments it was given are another's."""
        return self.unsure_since is None

    def whole(self, *, may_be_empty: bool = True) -> bool:
        """Whether it may be run: the protocol said that it is over, or its arguments are a whole JSON object.

        `may_be_empty` as for `ArgumentText.reading`.
        """
        whole = self.arguments.whole
        if self.kind is Kind.FUNCTION and (whole or self.arguments.half):
            return whole
        return self.meant(may_be_empty=may_be_empty)[1]

    @property
    def at_most_begun(self) -> bool:
        """Whether no arguments have come, or only the beginning of a value."""
        return self.arguments.empty or self.arguments.half or self.arguments.quoted

    @property
    def half(self) -> bool:
        """Whether arguments have begun and are not whole."""
        arguments = self.arguments
        return not (arguments.empty or arguments.scanner.ended or arguments.is_json or self.whole())

    def meant(self, *, may_be_empty: bool = True) -> tuple[str, bool]:
        """Its arguments, and whether they are whole; parameters as for `whole`."""
        if self.kind is Kind.CUSTOM:
            return self.arguments.text(), self.over and not self.arguments.truncated
        if self.start_input is not None and self.arguments.empty:
            text = self.start_input
            return text, is_object(text) or (self.over and is_json(text))
        text, is_value = self.arguments.reading(may_be_empty=may_be_empty and self.over)
        if self.over:
            return text, is_value or self.kind is Kind.SERVER
        return text, is_value and is_object(text)
