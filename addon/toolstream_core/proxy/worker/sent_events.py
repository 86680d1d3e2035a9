"""What a client got of one answer, event by event, as texts for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.engine.decoder import BodyDecoder
from toolstream_core.engine.framing import BodyFraming
from toolstream_core.wire.event_stream import EventStreamFramer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from toolstream_core.wire.frame import Frame

MAX_EVENTS: Final = 200
MAX_CHARACTERS: Final = 64 * 1024


class SentEvents(NamedTuple):
    """The events of one answer."""

    events: list[str]
    """By their numbers; one may have several lines, and what carries no data stands before the event behind it."""
    truncated: bool
    """Whether there were more."""


def sent_events(body: bytes, content_type: str, content_encoding: str, hide: Callable[[str], str]) -> SentEvents:
    """The events of a body: of binary messages each the name and the data; all of it where it has no events."""
    decoder, framing = BodyDecoder(content_encoding), BodyFraming(content_type)
    data = decoder.decode(body) + decoder.decode(b"") if body else b""
    opened = framing.open(data, ended=True)
    if framing.framer is None:
        return _shortened([hide(data.decode("utf-8", "replace"))] if data else [])
    frames = [*framing.framer.feed(opened), *framing.framer.feed(b"")]
    texts = _messages(frames) if isinstance(framing.framer, EventStreamFramer) else _blocks(frames)
    return _shortened(map(hide, texts))


def _messages(frames: Iterable[Frame]) -> Iterator[str]:
    for frame in frames:
        if frame.data is not None:
            yield f"{frame.name} {frame.data.decode('utf-8', 'replace')}"


def _blocks(frames: Iterable[Frame]) -> Iterator[str]:
    before = b""
    for frame in frames:
        before += frame.raw
        if frame.data is not None:
            yield before.decode("utf-8", "replace").strip()
            before = b""
    if before.strip():
        yield before.decode("utf-8", "replace").strip()


def _shortened(texts: Iterable[str]) -> SentEvents:
    events: list[str] = []
    left = MAX_CHARACTERS
    for text in texts:
        if left <= 0 or len(events) == MAX_EVENTS:
            return SentEvents(events, truncated=True)
        events.append(text[:left])
        left -= len(text)
    return SentEvents(events, truncated=left < 0)
