"""The framing of event streams: its repairs, faults and shapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, NamedTuple, override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.calls.json_text import is_object, unwrapped
from toolstream_core.defects.framing import COMMENT_AS_DATA, EMPTY_DATA, UNTERMINATED_EVENT
from toolstream_core.faults import Picker
from toolstream_core.model import Event, EventContent, Phase
from toolstream_core.stages.context import Context
from toolstream_core.stages.inject.injector import Injector, InjectorMaker, UnterminatedEvent
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.stages.stage import Stage, StageMaker
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.sse import BOM
from toolstream_core.wire.write import SseWriter

# A keep-alive sent as data is not valid JSON, so clients that parse the data of every event stop at it. As a comment it
# keeps the connection alive just the same, and readers ignore it. An event with empty data and a meaningful name
# (`event: error`) is not a keep-alive. Google's own Gemini clients stop at every line that does not begin with `data: `
# (Python: google-genai 3.4.0, `HttpResponse._iter_response_stream`), that for Go also at a blank line before an event
# (google.golang.org/genai 1.77.0, `iterateResponseStream`). So nothing is sent to them.


_FIELDS: Final = frozenset({b"", b"data", b"error", b"event", b"id", b"retry"})
"""The field names of an event's lines; that of a comment is empty."""


_EMPTY: Final = frozenset({b"", b"null"})
"""Data without content."""


class SseRepairer(Repairer):
    """Checks and repairs the blocks of one event stream. Runs before the protocol's own repairer."""

    skips_calls = True

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._sse = isinstance(context.writer, SseWriter)
        """Whether the framing is SSE; others are forwarded unchanged."""
        self._last: Frame | None = None
        """An event without a blank line after it. The end of the body decides whether it gets one."""
        self._damages_arguments = False
        """Whether a client that read that event would get damaged arguments."""
        self._last_complete = b"\n"
        """The last block with a line ending."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame = event.frame
        if frame.data is None or not self._sse:
            return [*self.release(), frame]
        if frame.raw.endswith((b"\n", b"\r")):
            self._last_complete = frame.raw
        if frame.trailing:
            before = self.release()
            self._last, self._damages_arguments = frame, any(map(_damages_arguments, resolved))
            return before
        begin = frame.data.lstrip()[:1]
        if (begin in {b"", b":"} or (begin == b"n" and frame.data.strip() in _EMPTY)) and _has_no_call(event.content):
            return [*self.release(), *self._commented(frame)]
        return (frame,) if self._last is None else [*self.release(), frame]

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        # A complete last event gets its blank line; an incomplete one is passed on as it is.
        last, self._last = self._last, None
        if last is None:
            return ()
        message = "the last event lacks its terminator; a reader that keeps to the standard drops it"
        if not (_is_complete(last) and clean and self.report(UNTERMINATED_EVENT, last.number, message)):
            return [last]
        if self._damages_arguments:
            return [last]
        newline = _newline(self._last_complete)
        ended = last.raw if last.raw.endswith((b"\n", b"\r")) else last.raw + newline
        changed = Frame(ended + newline, last.number, last.data, last.name)
        self.audit(last.number, [last], [changed])
        return [changed]

    @override
    def release(self) -> Iterable[Frame]:
        last, self._last = self._last, None
        return [] if last is None else [last]

    def _commented(self, frame: Frame) -> list[Frame]:
        """The block as a comment, with its `id` and `retry` lines for reconnecting; nothing for Gemini."""
        data = (frame.data or b"").strip()
        if data in _EMPTY:
            repair = self.report(EMPTY_DATA, frame.number, f"the event's data is {data.decode() or 'empty'}")
        else:
            repair = self.report(COMMENT_AS_DATA, frame.number, "a comment is sent as data")
        if not repair:
            return [frame]
        newline = _newline(self._last_complete)
        lines = [_comment(line) for line in frame.raw.removeprefix(BOM).splitlines() if line]
        comment = newline.join(lines) + newline + newline
        out = [Frame(comment, frame.number, None)] if self._context.reads_comments else []
        self.audit(frame.number, [frame], out)
        return out


def _is_complete(frame: Frame) -> bool:
    """Whether a block lacks only its blank line."""
    complete = (frame.data or b"").strip() == b"[DONE]" or isinstance(frame.json, dict)
    fields = [line.partition(b":")[0] for line in frame.raw.removeprefix(BOM).splitlines() if line]
    return complete and fields.count(b"event") < 2 and _FIELDS.issuperset(fields)  # noqa: PLR2004


def _damages_arguments(resolved: ResolvedFragment) -> bool:
    """Whether a fragment adds garbage to complete arguments, or repeats a part of them."""
    fragment, call = resolved
    text, again = fragment.arguments, fragment.phase not in {Phase.OPEN, Phase.MORE}
    said_less = again and isinstance(text, str) and call.arguments.is_complete and not is_object(unwrapped(text))
    return said_less or call.arguments.has_trailing_text


def _has_no_call(content: EventContent) -> bool:
    """Whether an event has no call, finish, error or end."""
    return not (content.fragments or content.finishes or content.error or content.end)


def _newline(raw: bytes) -> bytes:
    """The line ending of a block."""
    return b"\r\n" if raw.endswith(b"\r\n") else raw[-1:]


def _comment(line: bytes) -> bytes:
    """A line of a block, turned into a comment unless it is an `id` or `retry` line."""
    field, _, value = line.partition(b":")
    if field not in {b"data", b"event"}:
        return line
    return b": " + (value.strip().removeprefix(b":").strip() or b"keep-alive")


class BeforeCalls(Injector):
    """Inserts a block before each event with a call."""

    def __init__(self, context: Context, pick: Picker, block: bytes) -> None:
        super().__init__(context, pick)
        self._block = block

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if not resolved or not isinstance(self._context.writer, SseWriter) or not self._pick.stream():
            return [event.frame]
        self._pick.acted()
        data = self._block.rpartition(b"data:")[2].strip()
        name = "keepalive" if b"event:" in self._block else ""
        return [Frame(self._block, event.frame.number, data, name), event.frame]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "comment-as-data": partial(BeforeCalls, block=b"data: : keepalive\n\n"),
    "empty-data": partial(BeforeCalls, block=b"event: keepalive\ndata:\n\n"),
    "unterminated-event": UnterminatedEvent,
}


PLAIN_LINES: Final = "plain-lines"
_LINE_END = re.compile(rb"\r\n|\r|\n")
_UNSPACED: Final = re.compile(rb"\A(data|event):(?=[^ ])")
_BESIDE: Final = re.compile(rb":|(?:id|retry)(?::|\Z)")
"""A line that LLM clients do not need."""
_SPACED = re.compile(rb"(\A|[\r\n])(data|event|id|retry): (?! )")


class Place(NamedTuple):
    """The position of a block."""

    begun: bool = False
    """Whether blocks precede it: a byte order mark is only possible before the first."""
    events: int = 0
    """The number of blocks with data before it."""


class Framed(Stage):
    """Changes the bytes of each event, but not its content."""

    each = True

    def __init__(
        self, context: Context, framed: Callable[[bytes, Frame, Place], bytes], *, keeps_mark: bool = True
    ) -> None:
        """Does nothing in other framings (Gemini's JSON arrays).

        `framed` gets a block's bytes, without the byte order mark of the first, and returns the new ones. If there are
        none, the block is left out.
        """
        super().__init__(context)
        self._keeps_mark = keeps_mark
        self._sse = isinstance(context.writer, SseWriter)
        self._framed = framed
        self._place = Place()

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, place = event.frame, self._place
        self._place = Place(begun=True, events=place.events + (frame.data is not None and not frame.oversize))
        if not self._sse or frame.oversize:
            return [frame]
        mark = BOM if not place.begun and frame.raw.startswith(BOM) else b""
        raw = (mark if self._keeps_mark else b"") + self._framed(frame.raw.removeprefix(mark), frame, place)
        if raw == frame.raw:
            return [frame]
        if not raw:
            return []
        return [Frame(raw, frame.number, frame.data, frame.name, trailing=frame.trailing)]


def comments(raw: bytes, frame: Frame, place: Place) -> bytes:
    """Insert a comment before each event."""
    newline = _line_end(raw)
    return raw if frame.data is None else b": keep-alive" + newline + newline + raw


def crlf(raw: bytes, frame: Frame, place: Place) -> bytes:
    """End lines with CR and LF."""
    return _LINE_END.sub(b"\r\n", raw)


def no_space(raw: bytes, frame: Frame, place: Place) -> bytes:
    """Remove the space after the colon of a field."""
    return _SPACED.sub(rb"\1\2:", raw)


def bom(raw: bytes, frame: Frame, place: Place) -> bytes:
    """Insert a byte order mark at the start of the body."""
    return raw if place.begun or frame.raw.startswith(BOM) else BOM + raw


def event_ids(raw: bytes, frame: Frame, place: Place) -> bytes:
    """Insert an id line into each event."""
    if frame.data is None:
        return raw
    blank = len(raw) - len(raw.lstrip(b"\r\n"))
    return raw[:blank] + b"id: %d" % (place.events + 1) + _line_end(raw) + raw[blank:]


def plain(raw: bytes, frame: Frame, place: Place) -> bytes:
    """End lines with LF, add a space after the colon of a field, and remove comments and ids."""
    *lines, rest = _LINE_END.split(raw)
    kept = [_UNSPACED.sub(rb"\1: ", line) for line in lines if _BESIDE.match(line) is None]
    text = b"".join(line + b"\n" for line in kept) + _UNSPACED.sub(rb"\1: ", rest)
    return text.lstrip(b"\n")


def _line_end(raw: bytes) -> bytes:
    found = _LINE_END.search(raw)
    return found[0] if found else b"\n"


SHAPES: Final[dict[str, StageMaker]] = {
    "comments": partial(Framed, framed=comments),
    "crlf": partial(Framed, framed=crlf),
    "no-space": partial(Framed, framed=no_space),
    "bom": partial(Framed, framed=bom),
    "event-ids": partial(Framed, framed=event_ids),
    PLAIN_LINES: partial(Framed, framed=plain, keeps_mark=False),
}
"""By name."""
