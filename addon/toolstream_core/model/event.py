"""A frame and what it means."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.model.fragment import EventContent
    from toolstream_core.wire.frame import Frame


class Event:
    """A frame and what it means. A stage that wants another event makes another frame."""

    __slots__ = ("content", "frame")

    def __init__(
        self, frame: Frame, read: Callable[[Frame], EventContent], content: EventContent | None = None
    ) -> None:
        """`read` is the protocol's reader; `content` is what the frame says, where that is known."""
        self.frame = frame
        self.content = read(frame) if content is None else content
