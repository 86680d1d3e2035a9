"""A call while its fragments arrive."""

from __future__ import annotations

from toolstream_core.calls.arguments import UNLIMITED, ArgumentText, Budget
from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.model import Fragment, Kind, Runs, Seen

_NOTHING = frozenset({"", "null", "None", "undefined"})


def nonblank(value: Seen[str]) -> str:
    """An id or name; `""` if it is absent, null, empty, or a null in a string."""
    return value if isinstance(value, str) and value not in _NOTHING else ""


class OpenCall:
    """A call while its fragments arrive."""

    def __init__(self, fragment: Fragment, position: int, budget: Budget = UNLIMITED) -> None:
        """Opened by `fragment` as the call at `position` of its choice; `budget` limits its arguments."""
        self.choice = fragment.choice
        self.index = fragment.index
        self.kind = fragment.kind
        self.position = position
        self.id = ""
        self.item_id = ""
        self.name = ""
        self.arguments = ArgumentText(budget=budget)
        self.start_input: str | None = None
        """Arguments of the fragment that opens the call. They count only if no delta follows (Anthropic, Responses)."""
        self.closed = False
        """Whether an event of its own closed it or sent it complete, even if it is truncated."""
        self.ended = False
        """Whether the protocol declared the call ended and complete. A later fragment reopens it."""
        self.cut = False
        """Whether the protocol declared the call incomplete (`status` of a Responses item)."""
        self.cancelled = False
        """Whether another model continues the response, and the call must not run."""
        self.guessed = self.signed = False
        self.in_objects = False
        """Whether its arguments arrived as objects: another object may add keys."""
        self.shared = False
        """Whether an earlier call has the same index, so a fragment may belong to either."""
        self.header_of: OpenCall | None = None
        """The earlier call whose header this may repeat."""
        self.runs = Runs()

    def start_with(self, text: str) -> None:
        """Add the arguments of the fragment that opens the call."""
        if self.arguments.budget.take(len(text)):
            self.start_input = text
        else:
            self.arguments.truncated = True

    @property
    def is_header_again(self) -> bool | None:
        """Whether it only repeats the header of an earlier call (Avarok-Cybersecurity/atlas#33); `None` if unknown."""
        earlier = self.header_of
        if earlier is None or not self.arguments.empty:
            return False
        return not earlier.arguments.empty if self.ended else None

    def is_complete(self, *, may_be_empty: bool = True) -> bool:
        """Whether a client may run it: it has ended, or its arguments are a complete JSON object.

        `may_be_empty` as for `ArgumentText.reading`.
        """
        complete = self.arguments.is_complete
        if self.kind is Kind.FUNCTION and (complete or self.arguments.unclosed):
            return complete
        return self.intended_arguments(may_be_empty=may_be_empty)[1]

    @property
    def at_most_begun(self) -> bool:
        """Whether no arguments arrived, or only the beginning of a value."""
        return self.arguments.empty or self.arguments.unclosed or self.arguments.quoted

    @property
    def incomplete(self) -> bool:
        """Whether the arguments have begun and are incomplete."""
        arguments = self.arguments
        closed = arguments.ended if self.kind is Kind.CUSTOM else arguments.closed
        return not (arguments.empty or closed or arguments.is_json or self.is_complete())

    def intended_arguments(self, *, may_be_empty: bool = True) -> tuple[str, bool]:
        """Its arguments, and whether they are complete; `may_be_empty`: as for `ArgumentText.reading`."""
        if self.kind is Kind.CUSTOM:
            return self.arguments.text(), self.ended and not self.arguments.truncated
        if self.start_input is not None and self.arguments.empty:
            text = self.start_input
            return text, is_object(text) or (self.ended and is_json(text))
        text, is_value = self.arguments.reading(may_be_empty=may_be_empty and self.ended, final=self.ended)
        if self.ended:
            return text, is_value or self.kind is Kind.SERVER
        return text, is_value and is_object(text)
