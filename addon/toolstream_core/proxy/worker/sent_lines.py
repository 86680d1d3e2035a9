"""What a client got of one answer, as lines for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.engine.decoder import BodyDecoder
from toolstream_core.engine.framing import BodyFraming
from toolstream_core.wire.event_stream import EventStreamFramer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.wire.frame import Frame

MAX_LINES: Final = 200
MAX_CHARACTERS: Final = 64 * 1024


class SentLines(NamedTuple):
    """The lines of one answer."""

    lines: list[str]
    truncated: bool
    """Whether there were more."""


def sent_lines(body: bytes, content_type: str, content_encoding: str, hide: Callable[[str], str]) -> SentLines:
    """The lines of a body that are not empty; of binary messages one line each, its name and its data."""
    decoder, framing = BodyDecoder(content_encoding), BodyFraming(content_type)
    data = decoder.decode(body) + decoder.decode(b"") if body else b""
    opened = framing.open(data, ended=True)
    if isinstance(framing.framer, EventStreamFramer):
        texts = _messages([*framing.framer.feed(opened), *framing.framer.feed(b"")])
    else:
        texts = iter(data.decode("utf-8", "replace").splitlines())
    return _shortened(hide(text) for text in texts if text)


def _messages(frames: list[Frame]) -> Iterator[str]:
    for frame in frames:
        if frame.data is not None:
            yield f"{frame.name} {frame.data.decode('utf-8', 'replace')}"


def _shortened(texts: Iterator[str]) -> SentLines:
    lines: list[str] = []
    left = MAX_CHARACTERS
    for text in texts:
        if left <= 0 or len(lines) == MAX_LINES:
            return SentLines(lines, truncated=True)
        lines.append(text[:left])
        left -= len(text)
    return SentLines(lines, truncated=left < 0)
