"""A session: the same bytes are forwarded whatever happens; what is recognised, and when it stops reading."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.proxy.flows import response_bodies
from toolstream_core.engine.recogniser import MAX_UNRECOGNISED
from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.model import StreamFacts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, EventContent
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.wire.frame import Frame

FLOWS = sorted((ROOT / "flows").glob("*.flow"))
CHUNK = (
    b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
)
CALL = CHUNK.replace(b'"content":"a"', b'"tool_calls":[{"index":0,"function":{"arguments":"a"}}]')
OTHER = b'data: {"price":1}\n\n'
TYPES = st.sampled_from(["text/event-stream", "application/x-ndjson", "application/json", "text/plain", ""])


class Seen(Sink):
    """A sink that keeps what it sees."""

    live = True

    def __init__(self, *, each: bool = False) -> None:
        """`each`: ask for every frame by itself."""
        self.each = each
        self.events: list[int] = []
        self.quiet_ones: list[int] = []

    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        """Keep the event's number."""
        self.events.append(event.frame.number)

    def without_data(self, frame: Frame) -> None:
        """Keep the frame's number."""
        self.events.append(frame.number)

    def quiet(self, first: int, frames: int, size: int) -> None:
        """Keep the frames' numbers."""
        assert size > 0
        self.quiet_ones.extend(range(first, first + frames))


class Begun:
    """Makes the sinks when the protocol is known."""

    def __init__(self, *sinks: Sink) -> None:
        """Hand out `sinks`."""
        self.sinks = sinks
        self.dialects: list[str] = []

    def __call__(self, dialect: WireProtocol) -> Sequence[Sink]:
        """Note which protocol was recognised."""
        self.dialects.append(dialect.name)
        return self.sinks


def session(begun: Begun, **exchange: str) -> Session:
    """A session over all protocols."""
    return Session(StreamFacts(**{"content_type": "text/event-stream", **exchange}), sinks=begun)  # type: ignore[arg-type]


def test_the_same_objects_go_on() -> None:
    """Each chunk that comes is the very object that goes, and the end is nothing."""
    line = session(Begun(Seen()))
    for chunk in (CHUNK, CHUNK[:9], CHUNK[9:], CALL, b"data: [DONE]\n\n"):
        (passed,) = line.feed(chunk)
        assert passed is chunk
    assert line.end() == []


@given(st.lists(st.binary(min_size=1, max_size=60)), TYPES, st.sampled_from(["", "gzip", "br", "zstd", "deflate", "x"]))
def test_arbitrary_bytes(chunks: list[bytes], content_type: str, coding: str) -> None:
    """Nothing raises, nothing empty goes on, every chunk is passed as it is."""
    line = session(Begun(Seen()), content_type=content_type, content_encoding=coding)
    for chunk in chunks:
        (passed,) = line.feed(chunk)
        assert passed is chunk
    assert line.end() == []
    assert line.error is None


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
@given(data=st.data())
def test_mutated_streams(path: Path, data: st.DataObject) -> None:
    """Healthy streams with bytes changed, dropped and doubled, cut anywhere, raise nothing."""
    body = bytearray(response_bodies(path)[0])
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    line = session(Begun(Seen()))
    step = data.draw(st.integers(1, 400))
    for at in range(0, len(body), step):
        chunk = bytes(body[at : at + step])
        assert line.feed(chunk) == [chunk]
    assert line.end() == []
    assert line.error is None


def test_a_sink_that_raises_changes_no_byte() -> None:
    """The first failure ends the reading and is kept; the bytes go on."""

    class Broken(Seen):
        def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
            raise ValueError("secret text")

    line = session(Begun(Broken()))
    for _ in range(3):
        (passed,) = line.feed(CALL)
        assert passed is CALL
    assert isinstance(line.error, ValueError)
    assert line.failure == "ValueError while reading"
    assert not line.reading


@pytest.mark.parametrize(("path", "content_type"), [("/v1/chat/completions", "text/event-stream"), ("/any/thing", "")])
def test_recognised_by_path_or_content(path: str, content_type: str) -> None:
    """An unknown path does not matter where the first events tell."""
    begun = Begun(Seen())
    line = session(begun, path=path, content_type=content_type)
    line.feed(CHUNK)
    assert begun.dialects == ["openai-chat"]


def test_content_beats_the_path() -> None:
    """An answer that is plainly another protocol's is read as that."""
    begun = Begun(Seen())
    session(begun, path="/v1/messages").feed(CHUNK)
    assert begun.dialects == ["openai-chat"]


def test_what_nobody_recognises_is_not_read_on() -> None:
    """After a few frames it is nobody's business."""
    begun = Begun(Seen())
    line = session(begun)
    for number in range(MAX_UNRECOGNISED):
        assert line.reading, number
        line.feed(OTHER)
    assert not line.reading
    line.feed(CHUNK)
    assert begun.dialects == []
    assert line.failure is None


def test_comments_without_end_fill_no_memory() -> None:
    """Only the last ones are kept until somebody is recognised; what carried data before them is still read."""
    seen, begun = Seen(), Begun()
    begun.sinks = (seen,)
    line = session(begun)
    line.feed(OTHER)
    for _ in range(1000):
        line.feed(b": still working\n\n")
    assert len(line._recogniser.pending) <= 5 * MAX_UNRECOGNISED
    line.feed(CALL)
    assert begun.dialects == ["openai-chat"]
    assert [seen.events[0], seen.events[-1]] == [0, 1]


def test_an_error_alone_on_a_known_path_is_told() -> None:
    """Nothing but an error, where the path says whose it is."""
    seen, begun = Seen(), Begun()
    begun.sinks = (seen,)
    line = session(begun, path="/v1/chat/completions")
    line.feed(b'data: {"error":{"message":"no"}}\n\n')
    line.end()
    assert begun.dialects == ["openai-chat"]
    assert seen.events == [0]


def test_a_whole_answer() -> None:
    """A body that is one JSON document is an answer that was not streamed, whatever way it comes."""
    seen, begun = Seen(), Begun()
    begun.sinks = (seen,)
    line = session(begun, content_type="application/json")
    for byte in b'{"object": "chat.completion", "choices": []}':
        line.feed(bytes([byte]))
    line.end()
    assert begun.dialects == ["openai-chat"]
    assert seen.events == [0]


def test_coded_bodies_are_read() -> None:
    """The coding is undone beside the bytes that pass."""
    seen = Seen()
    line = session(Begun(seen), content_encoding="gzip")
    coded = gzip.compress(CALL * 3)
    assert line.feed(coded) == [coded]
    line.end()
    assert seen.events == [0, 1, 2]


def test_a_corrupt_coding_ends_the_reading() -> None:
    """It is told why, and no byte is lost."""
    line = session(Begun(Seen()), content_encoding="gzip")
    assert line.feed(b"no gzip at all") == [b"no gzip at all"]
    assert not line.reading
    assert line.failure
    assert line.error is None


@given(st.lists(st.sampled_from([CHUNK, CHUNK, CHUNK, CALL, b": ping\n\n", b"\n"]), max_size=60), st.data())
def test_frames_at_once_are_numbered_as_one_by_one(blocks: list[bytes], data: st.DataObject) -> None:
    """Passing frames by in one go tells the same events, and counts the same, as looking at each."""
    body = CHUNK + b"".join(blocks) + b"data: [DONE]\n\n"
    step = data.draw(st.integers(500, 6000))
    told = []
    for each in (False, True):
        seen = Seen(each=each)
        line = session(Begun(seen))
        for at in range(0, len(body), step):
            line.feed(body[at : at + step])
        line.end()
        told.append((seen.events, seen.quiet_ones))
    one_by_one = session(Begun(bytewise := Seen()))
    for at in range(len(body)):
        one_by_one.feed(body[at : at + 1])
    one_by_one.end()
    assert told[0] == told[1]
    assert sorted(told[0][0] + told[0][1]) == sorted(bytewise.events + bytewise.quiet_ones)
