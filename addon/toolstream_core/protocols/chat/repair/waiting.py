"""An event with its fragments, from its arrival until it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls.arguments import ArgumentText
    from toolstream_core.model import Event, Fragment
    from toolstream_core.protocols.chat.repair.client_call import ClientCall


class Touched(NamedTuple):
    """A fragment of an event, and its call."""

    fragment: Fragment
    one: ClientCall
    upto: int
    """How many characters of the call's arguments had come with it."""
    fresh: bool
    """Whether it has an id or a name for the first time."""
    guess: ArgumentText | None = None
    """The text that it was put into on a guess."""

    @property
    def is_foreign(self) -> bool:
        """Whether the guess was taken back: the fragment is not the call's."""
        return self.guess is not None and self.guess is not self.one.intended.call.arguments

    @property
    def delta(self) -> str:
        """The arguments that it brings."""
        return self.fragment.arguments if isinstance(self.fragment.arguments, str) else ""


class Waiting(NamedTuple):
    """An event between its arrival and the client."""

    event: Event
    touched: Sequence[Touched]

    @property
    def goes_on(self) -> bool:
        """Whether it has content other than a finish reason."""
        content = self.event.content
        if content.end or content.error or content.text.strip() or content.thought.strip():
            return True
        return any(part.fresh or part.delta for part in self.touched)

    def brings_more(self, choice: int) -> bool:
        """Whether it brings more of a choice's calls; repeated ids and names do not count."""
        return any(part.fragment.choice == choice and (part.fresh or part.delta) for part in self.touched)
