"""How event streams of any protocol are broken; JSON lines can lack their end too."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.stages.inject.injector import Injector, Pick
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.write import ArrayWriter, EventStreamWriter, SseWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker


class _BeforeCalls(Injector):
    """Puts a block before each event with a call."""

    block = b""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if not resolved or not isinstance(self._context.writer, SseWriter) or not self._pick.stream():
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


class UnterminatedEvent(Injector):
    """The last event lacks what ends it: its blank line, or its line feed."""

    each = True

    @override
    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick)
        self._last: Frame | None = None

    @property
    @override
    def holding(self) -> bool:
        return self._last is not None

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        del resolved
        if isinstance(self._context.writer, ArrayWriter | EventStreamWriter) or not self._pick.stream():
            return [event.frame]
        before = self.release()
        self._last = event.frame
        return before

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        frames = list(self.release())
        if not clean or not frames or frames[0].data is None or frames[0].trailing:
            return frames
        last = frames[0]
        self._pick.acted()
        return [Frame(last.raw.rstrip(b"\r\n"), last.number, last.data, last.name, last.last_id, trailing=True)]

    @override
    def release(self) -> Iterable[Frame]:
        last, self._last = self._last, None
        return [] if last is None else [last]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "comment-as-data": CommentAsData,
    "empty-data": EmptyData,
    "unterminated-event": UnterminatedEvent,
}
