"""Which response an event of a text, or of bodies appended to each other, belongs to; their order may be wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from typing import Final

from toolstream_core.engine.session import read_body
from toolstream_core.model import ABSENT, Json, StreamFacts
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.saved.exchange import UnreadableError
from toolstream_core.saved.unwrap.events import Found, Group, recognised
from toolstream_core.saved.unwrap.lines import encoded
from toolstream_core.wire.body import BodyFraming
from toolstream_core.wire.frame import CONTENT_TYPES, Form, Frame
from toolstream_core.wire.json_framings import DocumentFramer

_SETTLED: Final = 2
"""The number of events with the same id after which another id means another response."""


class AfterEnd:
    """Recognises the event after the end of a response that begins another one.

    Other events after the end belong to the response that is over.
    """

    def __init__(self) -> None:
        self.protocol: WireProtocol | None = None
        """The protocol of the response, once an event shows it."""
        self._id: Json = ABSENT
        self._first: Found | None = None
        """The first event of the response."""
        self.finished = False
        """Whether the response has ended or has a finish reason."""
        self._over = False
        """Whether it has ended: then an event with another id begins another one."""

    def __call__(self, found: Found) -> bool:
        """Whether the event begins another response. Takes the events in order."""
        again = self.finished and self._first is not None and found.data == self._first.data
        begins = found.protocol is not None and (again or (self._over and self._is_first(found)))
        if begins:
            self.begin()
        self._first = self._first or found
        self.protocol = self.protocol or found.protocol
        self._id = found.response if self._id is ABSENT else self._id
        self.finished = self.finished or found.ends
        at_finish = found.protocol is not None and found.protocol.ends_with_finish and found.ends
        self._over = self._over or at_finish or (found.content is not None and found.content.end)
        return begins

    def begin(self) -> None:
        self.protocol, self._id, self._first = None, ABSENT, None
        self.finished = self._over = False

    def _is_first(self, found: Found) -> bool:
        """Whether an event after the end begins a response: a provider may also send events too late."""
        if found.protocol is not self.protocol:
            return True
        if self._first is not None and self._first.starts:
            return found.starts
        if found.response is ABSENT:
            return self._id is ABSENT and found.has_content
        return found.response != self._id and found.has_parts


class Parts:
    """Counts consecutive responses."""

    def __init__(self) -> None:
        self._number = 0
        self._stream = 0
        self._after_end = AfterEnd()
        self._id: Json = ABSENT
        self._seen = 0
        """Events that name no other response since the id changed."""
        self._block = 0
        self._opened: set[Json] = set()
        """The indexes of the calls that parts of chunks opened."""

    def __call__(self, found: Found) -> int:
        """The number of the response that an event belongs to."""
        other = found.protocol is not None and self._is_other(found)
        if other or found.is_complete or found.stream != self._stream:
            self._after_end.begin()
            self._number += 1
        self._number += self._after_end(found)
        self._stream = found.stream
        return self._number

    def _is_other(self, found: Found) -> bool:
        """Whether an event begins another response.

        A provider may give each event a separate id, and the id of the usage often differs.
        """
        name = found.response
        if found.is_part:
            return self._opens_again(found)
        if name in (ABSENT, self._id):
            self._seen += 1
            return False
        other = self._id is not ABSENT and (
            found.block != self._block
            or (self._after_end.finished and found.has_content)
            or (self._seen >= _SETTLED and not found.ends and found.has_parts)
        )
        self._id, self._seen, self._block = name, 1, found.block
        return other

    def _opens_again(self, found: Found) -> bool:
        """Whether a part of a chunk, in a separate fence, opens a call at an index that has one."""
        fragments = found.content.fragments if found.content is not None else ()
        opened = {fragment.index for fragment in fragments if fragment.name}
        again = found.block != self._block and not opened.isdisjoint(self._opened)
        self._block = found.block
        self._opened = opened if again else self._opened | opened
        return again


def check_order(events: Sequence[Found]) -> None:
    """Raise `UnreadableError` if the events of several responses are mixed, or in reverse order."""
    runs = [key for key, _ in groupby(_keys(events))]
    mixed = [key for key in dict.fromkeys(runs) if runs.count(key) > 1]
    ends = [place for place, event in enumerate(events) if event.content is not None and event.content.end]
    begun = {event.response for event in events[: ends[0] if ends else 0]} - {ABSENT}
    if len(mixed) > 1 or (len(ends) > 1 and len(begun) > 1):
        raise UnreadableError(
            "holds the events of several responses mixed with each other. Keep the lines of one of them"
        )
    if _is_reversed([event for event in events if event.protocol is not None]):
        raise UnreadableError("holds the events in reverse order. Sort the lines by time, for example with `tac FILE`")


def _is_reversed(order: Sequence[Found]) -> bool:
    """Whether a response ends in the first half, and begins at the end or has fewer findings from there."""
    ended = [place for place, event in enumerate(order) if event.ends]
    if not ended or ended[-1] >= len(order) // 2:
        return False
    if order[0].starts or any(event.has_content for event in order[: ended[0]]):
        return False
    if order[-1].starts:
        return not any(event.starts for event in order[: ended[-1]])
    return _findings(order[::-1]) < _findings(order)


def _keys(events: Sequence[Found]) -> Iterator[tuple[str, Json]]:
    """The protocol of each event and its response, as far as they are known."""
    names: dict[str, Json] = {}
    for event in events:
        if event.protocol is not None:
            if event.response is not ABSENT:
                names[event.protocol.name] = event.response
            yield event.protocol.name, names.get(event.protocol.name, ABSENT)


def _findings(events: Sequence[Found]) -> int:
    """The number of findings of events as one response, without its end."""
    body = "".join(f"data: {event.data}\n\n" for event in events if event.content is not None and not event.content.end)
    record = read_body([encoded(body)], StreamFacts(content_type=CONTENT_TYPES[Form.EVENTS]))
    return len(record.findings) if record is not None else 0


def bodies(chunks: Iterable[bytes], content_type: str) -> Iterator[Iterator[bytes]]:
    """The chunks of each body, unchanged: read them before the next body. The first body may be empty."""
    rest: Iterator[bytes] | None = iter(chunks)
    while rest is not None:
        body = _Body(rest, content_type)
        yield body.chunks
        for _ in body.chunks:
            """Skip what was not read."""
        rest = body.rest


class _Body:
    """One body. Its chunks wait only after the end of the response."""

    def __init__(self, source: Iterator[bytes], content_type: str) -> None:
        self.rest: Iterator[bytes] | None = None
        """The chunks from the next body on, once that begins."""
        self.chunks = self._cut(source)
        self._framing = BodyFraming(content_type)
        self._after_end = AfterEnd()

    def _cut(self, source: Iterator[bytes]) -> Iterator[bytes]:
        waiting = bytearray()
        start = 0
        """Where the next frame begins in `waiting`; negative once its first bytes were sent."""
        for chunk in source:
            waiting += chunk
            for frame in self._frames(chunk):
                if self._begins_another(frame):
                    yield bytes(waiting[:start])
                    self.rest = chain([bytes(waiting[start:])], source)
                    return
                start += len(frame.raw)
            sent = start if self._after_end.finished else len(waiting)
            if sent:
                yield bytes(waiting[:sent])
                del waiting[:sent]
                start -= sent
        if waiting:
            yield bytes(waiting)

    def _frames(self, chunk: bytes) -> list[Frame]:
        """The frames that a chunk completes; none if the body is one document."""
        return [] if isinstance(self._framing.framer, DocumentFramer) else self._framing.feed(chunk)

    def _begins_another(self, frame: Frame) -> bool:
        if frame.data is None or self._is_inside(frame):
            return False
        found = Found(Group("", "data"), frame.name, frame.data.decode("utf-8", "replace"), frame.json)
        return self._after_end(recognised(found))

    def _is_inside(self, frame: Frame) -> bool:
        """Whether an event of a known protocol neither ends the response nor comes after its end, as nearly all."""
        protocol = self._after_end.protocol
        if protocol is None or self._after_end.finished:
            return False
        content = protocol.read(frame)
        return not (content.end or content.finishes)
