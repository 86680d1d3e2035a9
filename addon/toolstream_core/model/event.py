"""A frame and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.model.fragment import EventContent
    from toolstream_core.wire.frame import Frame


class Event:
    """A frame and, derived on demand, what it means. A stage that wants another event makes another frame."""

    __slots__ = ("_content", "_read", "frame")

    def __init__(
        self, frame: Frame, read: Callable[[Frame], EventContent], content: EventContent | None = None
    ) -> None:
        """`read` is the dialect's reader, which never raises; `said` is what the frame says, where that is known."""
        self.frame = frame
        self._read = read
        self._content = content

    @property
    def content(self) -> EventContent:
        """What the frame says, read once."""
        if self._content is None:
            self._content = self._read(self.frame)
        return self._content
