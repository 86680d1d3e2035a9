"""Receivers of reports on a response, event by event and at its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.model import Change, Event, EventContent, Finding, Record
from toolstream_core.wire.frame import Frame


class Sink:
    """Receives reports on a response; each sink overrides the methods that it needs."""

    live = False
    """Whether it wants the events; every sink gets the end."""
    each = False
    """Whether it wants frames without calls one by one, not several at once."""

    def begun(self, record: Record) -> None:
        """Called when the protocol is known; `record` has the facts of the request."""

    def quiet(self, first: int, frames: int, size: int) -> None:
        """Called for `frames` frames without tool calls, from number `first` on, of `size` bytes."""

    def without_data(self, frame: Frame) -> None:
        """Called for a comment, a blank frame, or unread bytes."""

    def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
        """Called for an event with content, and its fragments with their calls. An unparsed one has no `frame.json`."""

    def on_each_skipped(
        self, number: int, arguments: str, call: OpenCall, change: Change | None, event: Callable[[], Event]
    ) -> None:
        """Called for an event that differs from the last one only in its number and arguments, with its change.

        `event` makes it: an event costs more than a line on it.
        """
        made = event()
        self.resolved(made, made.content, (ResolvedFragment(made.content.fragments[0], call),))
        if change is not None:
            self.changed(change)

    def found(self, finding: Finding) -> None:
        """Called for a defect at the last reported event."""

    def changed(self, changed: Change) -> None:
        """Called for a rewritten event."""

    def ended(self, record: Record) -> None:
        """Called when the response has ended."""
