"""Bare bodies that were appended to each other: `cat first.sse second.sse`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain

from toolstream_core.saved.unwrap.events import Found, Group, recognised
from toolstream_core.saved.unwrap.parts import AfterEnd
from toolstream_core.wire.body import BodyFraming
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_framings import DocumentFramer


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
        protocol = self._after_end.dialect
        if protocol is None or self._after_end.finished:
            return False
        content = protocol.read(frame)
        return not (content.end or content.finishes)
