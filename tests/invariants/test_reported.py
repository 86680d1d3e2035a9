"""The record of a stream does not depend on chunk boundaries, sinks and repairs."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conftest import needs_shared, shared_dir
from tests.invariants.driven import exchange, lines, sse
from tests.invariants.healthy import Healthy, over_all_transports
from tests.invariants.test_real_streams import TYPES
from tests.tables import INJECTORS
from toolstream_core.engine.session import Session
from toolstream_core.engine.sink import Sink
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.model import StreamFacts
from toolstream_core.settings import NOTHING, SAFE, Settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from toolstream_core.model import Record

HEALTHY = over_all_transports()
REPAIRED = Settings(SAFE)


class Live(Sink):
    """Receives events."""

    live = True


class Each(Sink):
    """Receives every event."""

    live = True
    each = True


SINKS: list[list[type[Sink]]] = [[], [Live], [Each]]


class Content(NamedTuple):
    """The contents of a record without the changes."""

    findings: list[tuple[str, int, int | None, str]]
    calls: list[tuple[str, str, str, bool, list[int]]]
    rest: tuple[object, ...]


def content(record: Record) -> Content:
    """Return the contents; findings are sorted, because repairs may report those of the end in another order."""
    return Content(
        sorted((one.name, one.event, one.call, one.message) for one in record.findings),
        [(one.id, one.name, one.arguments, one.complete, list(one.events)) for one in record.calls],
        (record.events, record.bytes, record.finish, record.ended, record.error, record.model),
    )


def cuts(body: bytes) -> Iterator[list[int]]:
    """Yield chunk boundaries: none, all (of a short body), at events, at every third event, and inside events."""
    end = b"\n\n" if b"data:" in body else b"\n"
    event_ends = [at + len(end) for at in range(len(body)) if body.startswith(end, at)]
    yield []
    if len(body) < 1000:
        yield list(range(1, len(body)))
    yield event_ends
    yield event_ends[::3]
    yield [at - 5 for at in event_ends if at > 5]


def run(
    body: bytes, facts: StreamFacts, options: Settings, boundaries: Sequence[int], sinks: Sequence[type[Sink]]
) -> tuple[Content, bytes]:
    """Return the contents of the record, and the forwarded bytes."""
    session = Session(facts, options, lambda _: [one() for one in sinks])
    begins = [0, *boundaries]
    out = [
        forwarded
        for begin, end in zip(begins, [*boundaries, len(body)], strict=True)
        for forwarded in session.feed(body[begin:end])
    ]
    out += session.end()
    assert session.error is None
    record = session.record()
    assert record is not None
    return content(record), b"".join(out)


def assert_same(body: bytes, facts: StreamFacts) -> None:
    """Compare all chunk boundaries and sinks, alternately with and without repairs."""
    expected, unchanged = run(body, facts, NOTHING, [], [])
    with_repairs, repaired = run(body, facts, REPAIRED, [], [])
    assert with_repairs == expected
    turns = itertools.cycle([(REPAIRED, repaired), (NOTHING, unchanged)])
    for (boundaries, sinks), (options, out) in zip(itertools.product(cuts(body), SINKS), turns, strict=False):
        assert run(body, facts, options, boundaries, sinks) == (expected, out)


def injected(healthy: Healthy, name: str) -> bytes:
    """Return the stream with an injected defect."""
    session = Session(healthy.exchange, Settings(faults=((Fault(name=name), Budget(None)),)))
    return b"".join([*session.feed(healthy.body), *session.end()])


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_healthy_streams_and_injected_defects(healthy: Healthy) -> None:
    """The record is always the same for healthy streams, and for each injected defect on some of them."""
    assert_same(healthy.body, healthy.exchange)
    alike = [one for one in HEALTHY if one.protocol == healthy.protocol]
    turns = max(3, len(alike) // 2)
    for name in sorted(INJECTORS[healthy.protocol])[alike.index(healthy) % turns :: turns]:
        assert_same(injected(healthy, name), healthy.exchange)


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_mutated_streams(healthy: Healthy) -> None:
    """The record is always the same for streams with dropped, duplicated, swapped, truncated and damaged events."""
    dice = random.Random(str(healthy))
    for _ in range(6):
        frames = list(healthy.frames)
        for _ in range(dice.randint(1, 3)):
            at, other = dice.randrange(len(frames)), dice.randrange(len(frames))
            mutation = dice.randrange(5)
            if mutation == 0:
                frames[at] = b""
            elif mutation == 1:
                frames.insert(other, frames[at])
            elif mutation == 2:
                frames[at], frames[other] = frames[other], frames[at]
            elif mutation == 3:
                begin = dice.randrange(len(frames[at]) + 1)
                frames[at] = frames[at][:begin] + frames[at][begin + dice.randint(1, 9) :]
            elif frames[at]:
                begin = dice.randrange(len(frames[at]))
                frames[at] = frames[at][:begin] + bytes([dice.randrange(256)]) + frames[at][begin + 1 :]
        body = b"".join(frames)
        session = Session(healthy.exchange)
        session.feed(body)
        session.end()
        if session.record() is not None:
            assert_same(body, healthy.exchange)


TEXT = (
    '{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}'
)


def test_text_after_the_end_is_reported() -> None:
    """Text after the end of the response is reported as `data-after-end`."""
    body = sse(TEXT, TEXT.replace("null", '"stop"'), "[DONE]", TEXT, TEXT)
    assert_same(body, exchange("openai-chat"))
    assert [one[0] for one in run(body, exchange("openai-chat"), NOTHING, [], [])[0].findings] == ["data-after-end"]


def text_chunk(text: str) -> str:
    """Return a chunk with this text."""
    return TEXT.replace("Hi", text)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        pytest.param(
            sse(text_chunk("a"), text_chunk("b"), TEXT.replace("null", '"stop"'))
            + sse(
                *map(text_chunk, ("x <|", "tool_call_begin", "|>", "f", "<|", "tool_call_argument_begin", "|>", "{}"))
            )
            + sse(*map(text_chunk, ("<|", "tool_call_end", "|>")), "[DONE]"),
            "leaked-kimi",
            id="a leaked call after an early finish",
        ),
        pytest.param(
            sse(text_chunk("a"), text_chunk("b")) + b"event: error\n" + sse(text_chunk("c"), "[DONE]"),
            "in-band-error",
            id="text in an event named error",
        ),
        pytest.param(
            sse(text_chunk("a"), text_chunk("b"), TEXT.replace('{"content":"Hi"}', '"{"'), text_chunk("c"), "[DONE]"),
            "missing-delta",
            id="a delta that is not an object",
        ),
    ],
)
def test_defects_among_text_chunks_are_found(body: bytes, name: str) -> None:
    """A defect is found among text chunks that the fast path skips."""
    facts = StreamFacts(content_type="text/event-stream")
    assert_same(body, facts)
    assert name in {one[0] for one in run(body, facts, NOTHING, [], [])[0].findings}


def test_invalid_json_after_the_end_is_reported() -> None:
    """A line after the end that is not valid JSON is reported."""
    text = {"model": "m", "message": {"role": "assistant", "content": "Hi"}, "done": False}
    last = {**text, "done": True, "done_reason": "stop"}
    body = lines(text, last) + b'{"model":"m","message":{"role":"assistant","con"x","done":false}\n' + lines(text)
    facts = exchange("ollama")
    assert_same(body, facts)
    assert [one[0] for one in run(body, facts, NOTHING, [], [])[0].findings] == ["unparsable-data"]


def test_rewritten_fragments_have_the_same_spaces() -> None:
    """A rewritten event has no spaces before its closing brackets, whether the fast path or the parser rewrote it."""
    start = (
        '{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}'
    )
    fragment = '{{"type":"content_block_delta","index":{},"delta":{{"type":"input_json_delta","partial_json":"{}"}}{}}}'
    first = fragment.format(1, '{\\"a\\":\\"', "")
    for index in (0, 1):
        rest = [fragment.format(index, f"x{number} ", " " * spaces) for number, spaces in enumerate((0, 0, 3, 0, 7))]
        body = b"".join(
            f"event: content_block_{kind}\ndata: {one}\n\n".encode()
            for kind, one in zip(("start", *["delta"] * 6), (start, first, *rest), strict=True)
        )
        assert_same(body, exchange("anthropic"))


def recorded_streams() -> list[Path]:
    """Return some of the recorded streams, and those with an earlier bug."""
    folder = shared_dir()
    if folder is None:
        return []
    found = sorted(path for path in folder.glob("*/*") if path.suffix in TYPES and path.stat().st_size < 20_000)
    return [path for path in found if path.parent.name == "repro"] + found[::150]


@needs_shared
@pytest.mark.parametrize("path", recorded_streams(), ids=lambda path: path.name)
def test_recorded_streams(path: Path) -> None:
    """The record is always the same for recorded streams with an unknown request."""
    body, facts = path.read_bytes(), StreamFacts(content_type=TYPES[path.suffix])
    session = Session(facts)
    session.feed(body)
    session.end()
    if session.record() is not None:
        assert_same(body, facts)
