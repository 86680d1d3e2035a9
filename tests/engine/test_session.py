"""A session forwards all bytes; which protocol it recognises, and when it stops reading."""

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


class RecordingSink(Sink):
    """A sink that keeps the numbers of frames."""

    live = True

    def __init__(self, *, each: bool = False) -> None:
        """With `each`, receive every frame."""
        self.each = each
        self.events: list[int] = []
        self.quiet_ones: list[int] = []

    def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
        """Keep the event's number."""
        self.events.append(event.frame.number)

    def without_data(self, frame: Frame) -> None:
        """Keep the frame's number."""
        self.events.append(frame.number)

    def quiet(self, first: int, frames: int, size: int) -> None:
        """Keep the frames' numbers."""
        assert size > 0
        self.quiet_ones.extend(range(first, first + frames))


class SinkFactory:
    """Returns sinks once the protocol is recognised."""

    def __init__(self, *sinks: Sink) -> None:
        """Store the sinks to return."""
        self.sinks = sinks
        self.protocols: list[str] = []

    def __call__(self, protocol: WireProtocol) -> Sequence[Sink]:
        """Keep the recognised protocol."""
        self.protocols.append(protocol.name)
        return self.sinks


def new_session(factory: SinkFactory, **exchange: str) -> Session:
    """Return a session for all protocols."""
    return Session(StreamFacts(**{"content_type": "text/event-stream", **exchange}), sinks=factory)  # type: ignore[arg-type]


def test_the_same_objects_are_forwarded() -> None:
    """Each received chunk is forwarded as the same object, and the end adds nothing."""
    session = new_session(SinkFactory(RecordingSink()))
    for chunk in (CHUNK, CHUNK[:9], CHUNK[9:], CALL, b"data: [DONE]\n\n"):
        (forwarded,) = session.feed(chunk)
        assert forwarded is chunk
    assert session.end() == []


@given(st.lists(st.binary(min_size=1, max_size=60)), TYPES, st.sampled_from(["", "gzip", "br", "zstd", "deflate", "x"]))
def test_arbitrary_bytes_are_forwarded(chunks: list[bytes], content_type: str, coding: str) -> None:
    """Arbitrary bytes raise nothing, and every chunk is forwarded unchanged."""
    session = new_session(SinkFactory(RecordingSink()), content_type=content_type, content_encoding=coding)
    for chunk in chunks:
        (forwarded,) = session.feed(chunk)
        assert forwarded is chunk
    assert session.end() == []
    assert session.error is None


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
@given(data=st.data())
def test_mutated_streams_are_forwarded(path: Path, data: st.DataObject) -> None:
    """Healthy streams with changed, dropped and repeated bytes raise nothing in any chunks."""
    body = bytearray(response_bodies(path)[0])
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    session = new_session(SinkFactory(RecordingSink()))
    step = data.draw(st.integers(1, 400))
    for at in range(0, len(body), step):
        chunk = bytes(body[at : at + step])
        assert session.feed(chunk) == [chunk]
    assert session.end() == []
    assert session.error is None


def test_a_sink_that_raises_changes_no_byte() -> None:
    """If a sink raises, reading ends, the error is kept, and the bytes are forwarded."""

    class Broken(RecordingSink):
        def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
            raise ValueError("secret text")

    session = new_session(SinkFactory(Broken()))
    for _ in range(3):
        (forwarded,) = session.feed(CALL)
        assert forwarded is CALL
    assert isinstance(session.error, ValueError)
    assert session.failure == "ValueError while reading"
    assert not session.reading


@pytest.mark.parametrize(("path", "content_type"), [("/v1/chat/completions", "text/event-stream"), ("/any/thing", "")])
def test_a_protocol_is_recognised_by_path_or_content(path: str, content_type: str) -> None:
    """A protocol is recognised by the path, or by its first events on an unknown path."""
    factory = SinkFactory(RecordingSink())
    session = new_session(factory, path=path, content_type=content_type)
    session.feed(CHUNK)
    assert factory.protocols == ["openai-chat"]


def test_the_content_takes_precedence_over_the_path() -> None:
    """A response of another protocol than the path suggests is read as that protocol."""
    factory = SinkFactory(RecordingSink())
    new_session(factory, path="/v1/messages").feed(CHUNK)
    assert factory.protocols == ["openai-chat"]


def test_unrecognised_streams_are_no_longer_read() -> None:
    """Reading stops after a few frames that no protocol recognises."""
    factory = SinkFactory(RecordingSink())
    session = new_session(factory)
    for number in range(MAX_UNRECOGNISED):
        assert session.reading, number
        session.feed(OTHER)
    assert not session.reading
    session.feed(CHUNK)
    assert factory.protocols == []
    assert session.failure is None


def test_a_limited_number_of_comments_is_kept() -> None:
    """Until a protocol is recognised, only the last comments are kept, but all frames with data."""
    sink, factory = RecordingSink(), SinkFactory()
    factory.sinks = (sink,)
    session = new_session(factory)
    session.feed(OTHER)
    for _ in range(1000):
        session.feed(b": still working\n\n")
    assert len(session._recogniser.pending) <= 5 * MAX_UNRECOGNISED
    session.feed(CALL)
    assert factory.protocols == ["openai-chat"]
    assert [sink.events[0], sink.events[-1]] == [0, 1]


def test_an_error_alone_on_a_known_path_is_read() -> None:
    """A stream with only an error is read in the protocol of its path."""
    sink, factory = RecordingSink(), SinkFactory()
    factory.sinks = (sink,)
    session = new_session(factory, path="/v1/chat/completions")
    session.feed(b'data: {"error":{"message":"no"}}\n\n')
    session.end()
    assert factory.protocols == ["openai-chat"]
    assert sink.events == [0]


def test_a_json_document_is_an_unstreamed_response() -> None:
    """A JSON document is read as an unstreamed response, also byte by byte."""
    sink, factory = RecordingSink(), SinkFactory()
    factory.sinks = (sink,)
    session = new_session(factory, content_type="application/json")
    for byte in b'{"object": "chat.completion", "choices": []}':
        session.feed(bytes([byte]))
    session.end()
    assert factory.protocols == ["openai-chat"]
    assert sink.events == [0]


def test_compressed_bodies_are_read() -> None:
    """A compressed body is read, and forwarded unchanged."""
    sink = RecordingSink()
    session = new_session(SinkFactory(sink), content_encoding="gzip")
    compressed = gzip.compress(CALL * 3)
    assert session.feed(compressed) == [compressed]
    session.end()
    assert sink.events == [0, 1, 2]


def test_a_corrupt_compression_ends_the_reading() -> None:
    """A corrupt compression ends the reading with a reason, and no byte is lost."""
    session = new_session(SinkFactory(RecordingSink()), content_encoding="gzip")
    assert session.feed(b"no gzip at all") == [b"no gzip at all"]
    assert not session.reading
    assert session.failure
    assert session.error is None


@given(st.lists(st.sampled_from([CHUNK, CHUNK, CHUNK, CALL, b": ping\n\n", b"\n"]), max_size=60), st.data())
def test_skipped_frames_are_counted(blocks: list[bytes], data: st.DataObject) -> None:
    """Skipping several frames at once gives the same events and numbers as reading each."""
    body = CHUNK + b"".join(blocks) + b"data: [DONE]\n\n"
    step = data.draw(st.integers(500, 6000))
    numbers = []
    for each in (False, True):
        sink = RecordingSink(each=each)
        session = new_session(SinkFactory(sink))
        for at in range(0, len(body), step):
            session.feed(body[at : at + step])
        session.end()
        numbers.append((sink.events, sink.quiet_ones))
    one_by_one = new_session(SinkFactory(bytewise := RecordingSink()))
    for at in range(len(body)):
        one_by_one.feed(body[at : at + 1])
    one_by_one.end()
    assert numbers[0] == numbers[1]
    assert sorted(numbers[0][0] + numbers[0][1]) == sorted(bytewise.events + bytewise.quiet_ones)
