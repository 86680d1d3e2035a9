"""The pipeline: the same bytes go on whatever happens in it; who is recognised, and when it stops looking."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from tests.proxy.flows import response_bodies
from toolstream_core.engine.dispatcher import MAX_UNRECOGNISED
from toolstream_core.engine.fast_path.path import MANY
from toolstream_core.engine.session import Pipeline
from toolstream_core.engine.stage_set import StageSet
from toolstream_core.model import Event, StreamFacts
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.wire.whole import WholeFramer

if TYPE_CHECKING:
    from pathlib import Path

    from toolstream_core.calls import OpenCall
    from toolstream_core.engine.sink import Observer
    from toolstream_core.model import Change, SkippedRun
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.wire.frame import Framer

FLOWS = sorted((ROOT / "flows").glob("*.flow"))
CHUNK = (
    b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}\n\n'
)
CALL = CHUNK.replace(b'"content":"a"', b'"tool_calls":[{"index":0,"function":{"arguments":"a"}}]')
OTHER = b'data: {"price":1}\n\n'
TYPES = st.sampled_from(["text/event-stream", "application/x-ndjson", "application/json", "text/plain", ""])


class Seen:
    """An observer that keeps what it sees."""

    def __init__(self, *, each: bool = False) -> None:
        """`each`: ask for every frame by itself."""
        self.each = each
        self.events: list[int] = []
        self.quiet_ones: list[int] = []

    def __call__(self, event: Event) -> None:
        """Keep the event's number."""
        self.events.append(event.frame.number)

    def quiet(self, first: int, frames: int, size: int) -> None:
        """Keep the frames' numbers."""
        assert size > 0
        self.quiet_ones.extend(range(first, first + frames))

    def on_each_skipped(self, event: Event, call: OpenCall, change: Change | None) -> None:
        """Nothing: they are counted when they went by."""

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """Keep the events' numbers."""
        self.events.extend(range(passed.first, passed.first + passed.events))


class Begun:
    """What the pipeline calls when it knows the dialect."""

    def __init__(self, *observers: Observer) -> None:
        """Hand out `observers`."""
        self.observers = observers
        self.dialects: list[tuple[str, bool]] = []

    def __call__(self, dialect: WireProtocol, framer: Framer) -> StageSet:
        """Note who was recognised."""
        self.dialects.append((dialect.name, not isinstance(framer, WholeFramer)))
        return StageSet(self.observers)


def pipeline(begun: Begun, **exchange: str) -> Pipeline:
    """A pipeline over all protocols."""
    return Pipeline(PROTOCOLS, StreamFacts(**{"content_type": "text/event-stream", **exchange}), begun)  # type: ignore[arg-type]


def test_the_same_objects_go_on() -> None:
    """Each chunk that comes is the very object that goes, and the end is nothing."""
    line = pipeline(Begun(Seen()))
    for chunk in (CHUNK, CHUNK[:9], CHUNK[9:], CALL, b"data: [DONE]\n\n"):
        (passed,) = line.feed(chunk)
        assert passed is chunk
    assert line.feed(b"") == []


@given(st.lists(st.binary(min_size=1, max_size=60)), TYPES, st.sampled_from(["", "gzip", "br", "zstd", "deflate", "x"]))
def test_arbitrary_bytes(chunks: list[bytes], content_type: str, coding: str) -> None:
    """Nothing raises, nothing empty goes on, every chunk is passed as it is."""
    line = pipeline(Begun(Seen()), content_type=content_type, content_encoding=coding)
    for chunk in chunks:
        (passed,) = line.feed(chunk)
        assert passed is chunk
    assert line.feed(b"") == []
    assert line.error is None


@pytest.mark.parametrize("path", FLOWS, ids=lambda path: path.stem)
@given(data=st.data())
def test_mutated_streams(path: Path, data: st.DataObject) -> None:
    """Healthy streams with bytes changed, dropped and doubled, cut anywhere, raise nothing."""
    body = bytearray(response_bodies(path)[0])
    for _ in range(data.draw(st.integers(0, 6))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 3))] = data.draw(st.binary(max_size=3))
    line = pipeline(Begun(Seen()))
    step = data.draw(st.integers(1, 400))
    for at in range(0, len(body), step):
        chunk = bytes(body[at : at + step])
        assert line.feed(chunk) == [chunk]
    assert line.feed(b"") == []
    assert line.error is None


def test_an_observer_that_raises_changes_no_byte() -> None:
    """The first failure ends the reading and is kept; the bytes go on."""

    class Broken(Seen):
        def __call__(self, event: Event) -> None:
            raise ValueError("secret text")

    line = pipeline(Begun(Broken()))
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
    line = pipeline(begun, path=path, content_type=content_type)
    line.feed(CHUNK)
    assert begun.dialects == [("openai-chat", True)]


def test_content_beats_the_path() -> None:
    """An answer that is plainly another protocol's is read as that."""
    begun = Begun(Seen())
    pipeline(begun, path="/v1/messages").feed(CHUNK)
    assert begun.dialects == [("openai-chat", True)]


def test_what_nobody_recognises_is_not_read_on() -> None:
    """After a few frames it is nobody's business."""
    begun = Begun(Seen())
    line = pipeline(begun)
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
    begun.observers = (seen,)
    line = pipeline(begun)
    line.feed(OTHER)
    for _ in range(1000):
        line.feed(b": still working\n\n")
    assert len(line._recogniser.pending) <= 5 * MAX_UNRECOGNISED
    line.feed(CALL)
    assert begun.dialects == [("openai-chat", True)]
    assert [seen.events[0], seen.events[-1]] == [0, 1]


def test_an_error_alone_on_a_known_path_is_told() -> None:
    """Nothing but an error, where the path says whose it is."""
    seen, begun = Seen(), Begun()
    begun.observers = (seen,)
    line = pipeline(begun, path="/v1/chat/completions")
    line.feed(b'data: {"error":{"message":"no"}}\n\n')
    line.feed(b"")
    assert begun.dialects == [("openai-chat", True)]
    assert seen.events == [0]


def test_a_whole_answer() -> None:
    """A body that is one JSON document is an answer that was not streamed, whatever way it comes."""
    seen, begun = Seen(), Begun()
    begun.observers = (seen,)
    line = pipeline(begun, content_type="application/json")
    for byte in b'{"object": "chat.completion", "choices": []}':
        line.feed(bytes([byte]))
    line.feed(b"")
    assert begun.dialects == [("openai-chat", False)]
    assert seen.events == [0]


def test_coded_bodies_are_read() -> None:
    """The coding is undone beside the bytes that pass."""
    seen = Seen()
    line = pipeline(Begun(seen), content_encoding="gzip")
    coded = gzip.compress(CALL * 3)
    assert line.feed(coded) == [coded]
    line.feed(b"")
    assert seen.events == [0, 1, 2]


def test_a_corrupt_coding_ends_the_reading() -> None:
    """It is told why, and no byte is lost."""
    line = pipeline(Begun(Seen()), content_encoding="gzip")
    assert line.feed(b"no gzip at all") == [b"no gzip at all"]
    assert not line.reading
    assert line.failure
    assert line.error is None


@given(st.lists(st.sampled_from([CHUNK, CHUNK, CHUNK, CALL, b": ping\n\n", b"\n"]), max_size=60), st.data())
def test_frames_at_once_are_numbered_as_one_by_one(blocks: list[bytes], data: st.DataObject) -> None:
    """Passing frames by in one go tells the same events, and counts the same, as looking at each."""
    body = CHUNK + b"".join(blocks) + b"data: [DONE]\n\n"
    step = data.draw(st.integers(MANY, 3 * MANY))
    told = []
    for each in (False, True):
        seen = Seen(each=each)
        line = pipeline(Begun(seen))
        for at in range(0, len(body), step):
            line.feed(body[at : at + step])
        line.feed(b"")
        told.append((seen.events, seen.quiet_ones))
    one_by_one = pipeline(Begun(bytewise := Seen()))
    for at in range(len(body)):
        one_by_one.feed(body[at : at + 1])
    one_by_one.feed(b"")
    assert told[0] == told[1]
    assert sorted(told[0][0] + told[0][1]) == sorted(bytewise.events + bytewise.quiet_ones)


def test_frames_at_once_are_really_at_once() -> None:
    """Many quiet frames in one chunk are one look, also where the chunk begins and ends inside a frame."""
    calls = []

    class Counting(Seen):
        def quiet(self, first: int, frames: int, size: int) -> None:
            calls.append(frames)
            super().quiet(first, frames, size)

    line = pipeline(Begun(Counting()))
    line.feed(CHUNK + CHUNK[:20])
    line.feed(CHUNK[20:] + CHUNK * 100 + CHUNK[:30])
    assert calls == [1, 100]
