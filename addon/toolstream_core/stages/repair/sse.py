"""Event streams of any protocol, judged and mended: keep-alives sent as data, and a last event without its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.defects.framing import COMMENT_AS_DATA, EMPTY_DATA, UNTERMINATED_EVENT
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.stages.stage import Indifferent
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.sse import BOM
from toolstream_core.wire.write import SseWriter

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, EventContent
    from toolstream_core.stages.context import Context

# A keep-alive as data is no JSON, on which the clients that parse every event's data stop. As a comment it still
# keeps the connection alive, and no reader dispatches it. An event whose name alone says something (`event: error`
# with empty data) is none. Google's own Gemini client stops at each line that does not begin with `data: `, at
# comments too, but passes over blank lines (google-genai 3.4.0, `HttpResponse._iter_response_stream`).


_FIELDS: Final = frozenset({b"", b"data", b"error", b"event", b"id", b"retry"})
"""What a line of an event begins with; comments with nothing."""


class SseRepairer(Repairer, Indifferent):
    """Judges and mends the blocks of one event stream. Stands before the protocol's own mender."""

    def __init__(self, context: Context) -> None:
        """As `Repairer`; does nothing where the stream is framed otherwise (Gemini's JSON arrays)."""
        super().__init__(context)
        self._sse = isinstance(context.writer, SseWriter)
        self._last: Frame | None = None
        """The last event, which lacks its end: whether it gets one is known when the body ends."""
        self._spoils = False
        """Whether that puts something behind the whole arguments of a call, which clients have without it."""
        self._latest = b"\n"
        """The latest block of which one can see how lines end."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame = event.frame
        if frame.data is None or not self._sse:
            return [*self.release(), frame]
        if frame.raw.endswith((b"\n", b"\r")):
            self._latest = frame.raw
        if frame.trailing:
            before = self.release()
            self._last, self._spoils = frame, any(one.call.arguments.spilled for one in resolved)
            return before
        if frame.data.lstrip()[:1] in {b"", b":"} and _silent(event.content):
            return [*self.release(), self._commented(frame)]
        return (frame,) if self._last is None else [*self.release(), frame]

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`: the last event gets its blank line; half an event stays half."""
        last, self._last = self._last, None
        if last is None:
            return ()
        whole = _whole(last)
        message = "the last event lacks its terminator; a reader that keeps to the standard drops it"
        if not whole or not clean or not self.report(UNTERMINATED_EVENT, last.number, message) or self._spoils:
            return [last]
        newline = _newline(self._latest)
        ended = last.raw if last.raw.endswith((b"\n", b"\r")) else last.raw + newline
        changed = Frame(ended + newline, last.number, last.data, last.name, last.last_id)
        self.audit(last.number, [last], [changed])
        return [changed]

    @override
    def release(self) -> Iterable[Frame]:
        last, self._last = self._last, None
        return [] if last is None else [last]

    def _commented(self, frame: Frame) -> Frame:
        """The block as a comment, in Gemini as a blank line; id and retry lines stay, for reconnecting goes by them."""
        if (frame.data or b"").strip():
            repair = self.report(COMMENT_AS_DATA, frame.number, "a comment is sent as data")
        else:
            repair = self.report(EMPTY_DATA, frame.number, "the event's data is empty")
        if not repair:
            return frame
        newline = _newline(self._latest)
        lines = [_comment(line) for line in frame.raw.removeprefix(BOM).splitlines() if line]
        comment = newline.join(lines) + newline + newline
        out = Frame(newline if not self._context.reads_comments else comment, frame.number, None)
        self.audit(frame.number, [frame], [out])
        return out


def _whole(frame: Frame) -> bool:
    """Whether a block lacks nothing but its blank line: its data is an event's, and no other event begins in it."""
    said = (frame.data or b"").strip() == b"[DONE]" or isinstance(frame.json, dict)
    fields = [line.partition(b":")[0] for line in frame.raw.removeprefix(BOM).splitlines() if line]
    return said and fields.count(b"event") < 2 and _FIELDS.issuperset(fields)  # noqa: PLR2004


def _silent(said: EventContent) -> bool:
    return not (said.fragments or said.finishes or said.error or said.end)


def _newline(raw: bytes) -> bytes:
    """How the lines of a block end."""
    return b"\r\n" if raw.endswith(b"\r\n") else raw[-1:]


def _comment(line: bytes) -> bytes:
    """A line of a block that is to be nothing but a comment."""
    field, _, value = line.partition(b":")
    if field not in {b"data", b"event"}:
        return line
    return b": " + (value.strip().removeprefix(b":").strip() or b"keep-alive")
