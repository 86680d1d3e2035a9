"""What is told of a stream: the same however its bytes were cut, whoever listens, and whether repairs are on."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.conftest import needs_shared, shared_dir
from tests.invariants.driven import exchange, lines, sse
from tests.invariants.healthy import Healthy, everywhere
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

HEALTHY = everywhere()
REPAIRED = Settings(SAFE)


class Live(Sink):
    """Wants to be told of events."""

    live = True


class Each(Sink):
    """Wants to be told of every single one."""

    live = True
    each = True


LISTENERS: list[list[type[Sink]]] = [[], [Live], [Each]]


class Told(NamedTuple):
    """What is told of a stream, but for what was done to it."""

    findings: list[tuple[str, int, int | None, str]]
    calls: list[tuple[str, str, str, bool, list[int]]]
    rest: tuple[object, ...]


def told(record: Record) -> Told:
    """All of it; findings in no order, for those of the end may be found by whoever mends."""
    return Told(
        sorted((one.name, one.event, one.call, one.message) for one in record.findings),
        [(one.id, one.name, one.arguments, one.complete, list(one.events)) for one in record.calls],
        (record.events, record.bytes, record.finish, record.ended, record.error, record.model),
    )


def cuts(body: bytes) -> Iterator[list[int]]:
    """Ways to cut it: not at all, by events, by several events, in two within an event, and small where it is short."""
    end = b"\n\n" if b"data:" in body else b"\n"
    bounds = [at + len(end) for at in range(len(body)) if body.startswith(end, at)]
    yield []
    if len(body) < 1000:
        yield list(range(1, len(body)))
    yield bounds
    yield bounds[::3]
    yield [at - 5 for at in bounds if at > 5]


def went(
    body: bytes, known: StreamFacts, wanted: Settings, places: Sequence[int], who: Sequence[type[Sink]]
) -> tuple[Told, bytes]:
    """What is told, and what goes on."""
    line = Session(known, wanted, lambda _: [one() for one in who])
    begins = [0, *places]
    out = [
        piece for begin, end in zip(begins, [*places, len(body)], strict=True) for piece in line.feed(body[begin:end])
    ]
    out += line.end()
    assert line.error is None
    record = line.record()
    assert record is not None
    return told(record), b"".join(out)


def assert_same(body: bytes, known: StreamFacts) -> None:
    """For every cut with every listener, by turns with repairs and without; what is told is the same with both."""
    first, bare = went(body, known, NOTHING, [], [])
    told_then, changed = went(body, known, REPAIRED, [], [])
    assert told_then == first
    turns = itertools.cycle([(REPAIRED, changed), (NOTHING, bare)])
    for (places, who), (wanted, out) in zip(itertools.product(cuts(body), LISTENERS), turns, strict=False):
        assert went(body, known, wanted, places, who) == (first, out)


def injected(healthy: Healthy, name: str) -> bytes:
    """The stream with a defect."""
    line = Session(healthy.exchange, Settings(faults=((Fault(name=name), Budget(None)),)))
    return b"".join([*line.feed(healthy.body), *line.end()])


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_healthy_and_planted(healthy: Healthy) -> None:
    """Every defect that can be caused, one at a time, on some streams of its protocol: on two where it has many."""
    assert_same(healthy.body, healthy.exchange)
    alike = [one for one in HEALTHY if one.dialect == healthy.dialect]
    turns = max(3, len(alike) // 2)
    for name in sorted(INJECTORS[healthy.dialect])[alike.index(healthy) % turns :: turns]:
        assert_same(injected(healthy, name), healthy.exchange)


@pytest.mark.parametrize("healthy", HEALTHY, ids=str)
def test_mutated(healthy: Healthy) -> None:
    """Events dropped, doubled, swapped, cut, and bytes changed."""
    chance = random.Random(str(healthy))
    for _ in range(6):
        frames = list(healthy.frames)
        for _ in range(chance.randint(1, 3)):
            at, other = chance.randrange(len(frames)), chance.randrange(len(frames))
            wrong = chance.randrange(5)
            if wrong == 0:
                frames[at] = b""
            elif wrong == 1:
                frames.insert(other, frames[at])
            elif wrong == 2:
                frames[at], frames[other] = frames[other], frames[at]
            elif wrong == 3:
                begin = chance.randrange(len(frames[at]) + 1)
                frames[at] = frames[at][:begin] + frames[at][begin + chance.randint(1, 9) :]
            elif frames[at]:
                begin = chance.randrange(len(frames[at]))
                frames[at] = frames[at][:begin] + bytes([chance.randrange(256)]) + frames[at][begin + 1 :]
        body = b"".join(frames)
        line = Session(healthy.exchange)
        line.feed(body)
        line.end()
        if line.record() is not None:
            assert_same(body, healthy.exchange)


TEXT = (
    '{"id":"c","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":null}]}'
)


def test_text_behind_the_end() -> None:
    """It says nothing, and is looked at all the same."""
    body = sse(TEXT, TEXT.replace("null", '"stop"'), "[DONE]", TEXT, TEXT)
    assert_same(body, exchange("openai-chat"))
    assert [one[0] for one in went(body, exchange("openai-chat"), NOTHING, [], [])[0].findings] == ["data-after-end"]


def said(text: str) -> str:
    """A chunk with this text."""
    return TEXT.replace("Hi", text)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        pytest.param(
            sse(said("a"), said("b"), TEXT.replace("null", '"stop"'))
            + sse(*map(said, ("x <|", "tool_call_begin", "|>", "f", "<|", "tool_call_argument_begin", "|>", "{}")))
            + sse(*map(said, ("<|", "tool_call_end", "|>")), "[DONE]"),
            "leaked-kimi",
            id="a leaked call behind an early finish",
        ),
        pytest.param(
            sse(said("a"), said("b")) + b"event: error\n" + sse(said("c"), "[DONE]"),
            "in-band-error",
            id="text under the name of an error",
        ),
        pytest.param(
            sse(said("a"), said("b"), TEXT.replace('{"content":"Hi"}', '"{"'), said("c"), "[DONE]"),
            "missing-delta",
            id="a delta that is no object",
        ),
    ],
)
def test_text_that_is_not_only_text(body: bytes, name: str) -> None:
    """It is seen among many chunks of text that are not looked at one by one."""
    known = StreamFacts(content_type="text/event-stream")
    assert_same(body, known)
    assert name in {one[0] for one in went(body, known, NOTHING, [], [])[0].findings}


def test_what_is_no_json_behind_the_end() -> None:
    """Also in JSON lines."""
    text = {"model": "m", "message": {"role": "assistant", "content": "Hi"}, "done": False}
    last = {**text, "done": True, "done_reason": "stop"}
    body = lines(text, last) + b'{"model":"m","message":{"role":"assistant","con"x","done":false}\n' + lines(text)
    known = exchange("ollama")
    assert_same(body, known)
    assert [one[0] for one in went(body, known, NOTHING, [], [])[0].findings] == ["unparsable-data"]


def test_rewritten_fragments_have_the_same_spaces_however_they_are_rewritten() -> None:
    """Spaces before the closing brackets hide how long a fragment is; those of a rewritten event are gone."""
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


def streams_at_hand() -> list[Path]:
    """Some of the recorded streams, and those that were told differently once."""
    folder = shared_dir()
    if folder is None:
        return []
    found = sorted(path for path in folder.glob("*/*") if path.suffix in TYPES and path.stat().st_size < 20_000)
    return [path for path in found if path.parent.name == "repro"] + found[::150]


@needs_shared
@pytest.mark.parametrize("path", streams_at_hand(), ids=lambda path: path.name)
def test_recorded(path: Path) -> None:
    """Broken ones and healthy ones, with nothing known of the request."""
    body, known = path.read_bytes(), StreamFacts(content_type=TYPES[path.suffix])
    line = Session(known)
    line.feed(body)
    line.end()
    if line.record() is not None:
        assert_same(body, known)
