"""What an observer of a stream is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Change, Event, SkippedRun


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
