"""What is told of an answer, as it comes and when it is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Change, Event, EventContent, Finding, Record, SkippedRun
    from toolstream_core.wire.frame import Frame


class Sink:
    """Is told of an answer as it comes; a sink takes up what it wants to hear."""

    live = False
    """Whether it wants to be told of the events; every sink is told of the end."""
    each = False
    """Whether it wants frames that say nothing one by one, not several at once."""

    def begun(self, record: Record) -> None:
        """The answer's protocol is known; of all else, `record` has what the request says."""

    def quiet(self, first: int, frames: int, size: int) -> None:
        """So many frames from number `first` on, of `size` bytes, without anything that concerns tool calls."""

    def without_data(self, frame: Frame) -> None:
        """A comment, a blank frame, or bytes that are not read."""

    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        """An event that says something, with its fragments resolved."""

    def on_each_skipped(self, event: Event, told: Sequence[ResolvedFragment], change: Change | None) -> None:
        """An event that is as the one told last but for its arguments, and what it becomes if it is changed."""
        self.resolved(event, event.content, told)
        if change is not None:
            self.changed(change)

    def found(self, finding: Finding) -> None:
        """Something is wrong with the event that was told last, or shows in it."""

    def changed(self, changed: Change) -> None:
        """An event was rewritten for the client."""

    def ended(self, record: Record) -> None:
        """The answer is over."""


class Observer(Protocol):
    """Sees every event and changes nothing."""

    def __call__(self, event: Event) -> None:
        """An event that may say something."""
        ...

    each: bool
    """Whether it wants to see every single frame, those that say nothing too."""

    def quiet(self, first: int, frames: int, size: int) -> None:
        """So many frames from number `first` on, of `size` bytes, that say nothing of calls, finish, error or end."""
        ...

    def on_each_skipped(self, event: Event, call: OpenCall, change: Change | None) -> None:
        """An event that brings plain text of `call`'s arguments, and what it becomes if it is changed.

        Only where somebody wants to see each one; `on_skipped` counts it.
        """
        ...

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """Events that brought plain text of `call`'s arguments."""
        ...
