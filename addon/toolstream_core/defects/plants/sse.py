"""How event streams of any protocol are broken; JSON lines can lack their end too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.plants.plant import Pick, Plant
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.write import ArrayWriter, EventStreamWriter, SseWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard
    from toolstream_core.defects.plants.plant import Planter
    from toolstream_core.defects.stage import Context
    from toolstream_core.model import Event


class _BeforeCalls(Plant):
    """Puts a block before each event with a call."""

    block = b""

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        if not heard or not isinstance(self._context.writer, SseWriter) or not self._pick.stream():
            return [event.frame]
        self._pick.acted()
        data = self.block.rpartition(b"data:")[2].strip()
        name = "keepalive" if b"event:" in self.block else ""
        return [Frame(self.block, event.frame.number, data, name), event.frame]


class CommentAsData(_BeforeCalls):
    """Keep-alive comments are sent as data."""

    block = b"data: : keepalive\n\n"


class EmptyData(_BeforeCalls):
    """Keep-alives are events with empty data."""

    block = b"event: keepalive\ndata:\n\n"


class UnterminatedEvent(Plant):
    """The last event lacks what ends it: its blank line, or its line feed."""

    each = True

    def __init__(self, context: Context, pick: Pick) -> None:
        """As `Plant`."""
        super().__init__(context, pick)
        self._last: Frame | None = None

    @property
    def holding(self) -> bool:
        """As `Stage.holding`."""
        return self._last is not None

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        del heard
        if isinstance(self._context.writer, ArrayWriter | EventStreamWriter) or not self._pick.stream():
            return [event.frame]
        before = self.release()
        self._last = event.frame
        return before

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        frames = list(self.release())
        if not clean or not frames or frames[0].data is None or frames[0].trailing:
            return frames
        last = frames[0]
        self._pick.acted()
        return [Frame(last.raw.rstrip(b"\r\n"), last.number, last.data, last.name, last.last_id, trailing=True)]

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`."""
        last, self._last = self._last, None
        return [] if last is None else [last]


PLANTS: Final[dict[str, Planter]] = {
    "comment-as-data": CommentAsData,
    "empty-data": EmptyData,
    "unterminated-event": UnterminatedEvent,
}
