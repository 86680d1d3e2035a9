"""Anthropic's events in AWS messages, as Bedrock streams them: read, repaired and broken as in server-sent events."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from botocore.eventstream import EventStreamBuffer

from tests.invariants.healthy import streams
from tests.tables import INJECTORS, SHAPES
from toolstream_core.delivery.schedule import Schedule, bytes_of, drawn
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.settings import NOTHING, SAFE, Settings, Words, settings
from toolstream_core.transit.actions import Ask, Finish, Hold
from toolstream_core.wire.aws_event_stream import fresh
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.model import Record, StreamFacts
    from toolstream_core.transit.actions import Action

HEALTHY = next(one for one in streams() if str(one) == "anthropic, fragments of two")
BINARY = replace(
    HEALTHY.exchange,
    path="/model/anthropic.claude/invoke-with-response-stream",
    content_type="application/vnd.amazon.eventstream",
)
OF_SSE = frozenset({"unterminated-event", "comment-as-data", "empty-data", "missing-event-name", "missing-event-type"})
"""What only server-sent events can have."""
REPAIRED = Settings(SAFE)


def messages(body: bytes) -> bytes:
    """The events of a server-sent stream, each wrapped in a message."""
    events = [frame.data for frame in [*SseFramer().feed(body)] if frame.data]
    payloads = [json.dumps({"bytes": base64.b64encode(event).decode(), "p": "abc"}) for event in events]
    return b"".join(fresh(payload.encode(), "chunk").encode() for payload in payloads)


BODY = messages(HEALTHY.body)


def said(body: bytes) -> list[Any]:
    """The events in the messages, as botocore's decoder reads them."""
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    inner = [base64.b64decode(json.loads(message.payload)["bytes"]) for message in buffer]
    assert not buffer._data
    return [as_json(event) for event in inner]


def as_json(event: bytes) -> Any:
    """What an event says, or its bytes."""
    try:
        return json.loads(event)
    except ValueError:
        return event


def run(body: bytes, exchange: StreamFacts, wanted: Settings, size: int = 0) -> tuple[bytes, Record]:
    """What goes on of `body`, cut in pieces of `size` bytes, and the record of it."""
    line = Session(exchange, wanted)
    size = size or len(body)
    out = [passed for at in range(0, len(body), size) for passed in line.feed(body[at : at + size])]
    out += line.end()
    assert line.error is None
    record = line.record()
    assert record is not None
    return b"".join(out), record


def told(record: Record) -> list[tuple[str, str, str]]:
    """The calls."""
    return [(call.id, call.name, call.arguments) for call in record.calls]


@pytest.mark.parametrize("size", [0, 1, 50])
def test_a_healthy_stream_passes_repairs_byte_identical(size: int) -> None:
    """And its calls are those of the server-sent stream."""
    out, record = run(BODY, BINARY, REPAIRED, size)
    assert out == BODY
    assert record.findings == []
    assert told(record) == told(run(HEALTHY.body, HEALTHY.exchange, NOTHING)[1]) != []


@pytest.mark.parametrize("name", INJECTORS["anthropic"])
def test_defects_are_caused_and_repaired_as_in_server_sent_events(name: str) -> None:
    """The same events leave, in whole messages; what only server-sent events can have is not caused."""
    faults = Settings(faults=((Fault(name=name), Budget(None)),))
    broken, _ = run(BODY, BINARY, faults)
    as_sse, _ = run(HEALTHY.body, HEALTHY.exchange, faults)
    if name in OF_SSE:
        assert said(broken) == said(BODY)
        return
    assert said(broken) == sse_said(as_sse)
    repaired, record = run(broken, BINARY, REPAIRED)
    in_sse, sse_record = run(as_sse, HEALTHY.exchange, REPAIRED)
    assert said(repaired) == sse_said(in_sse)
    assert [str(finding) for finding in record.findings] == [str(finding) for finding in sse_record.findings]


@pytest.mark.parametrize("shape", SHAPES["anthropic"])
def test_shapes_as_in_server_sent_events(shape: str) -> None:
    """Those of the framing change nothing."""
    wanted = Settings(shapes=(shape,))
    assert said(run(BODY, BINARY, wanted)[0]) == sse_said(run(HEALTHY.body, HEALTHY.exchange, wanted)[0])


def sse_said(body: bytes) -> list[Any]:
    """The events of a server-sent stream."""
    framer = SseFramer()
    return [as_json(frame.data) for frame in [*framer.feed(body), *framer.feed(b"")] if frame.data]


@pytest.mark.parametrize("place", [BODY.find(b":event-type", 1500), BODY.rfind(b":event-type") - 12, 0, len(BODY) - 1])
@pytest.mark.parametrize("wanted", [NOTHING, REPAIRED], ids=["read", "repaired"])
@pytest.mark.parametrize("size", [0, 20])
def test_damage_is_told_once_and_nothing_is_concluded_from_it(place: int, wanted: Settings, size: int) -> None:
    """In a message or in a prelude; the bytes go on as they came. What comes behind it may have said anything."""
    broken = bytearray(BODY)
    broken[place] ^= 1
    exchange = replace(BINARY, path="/v1/messages")
    out, record = run(bytes(broken), exchange, wanted, size)
    assert out == broken
    [finding] = record.findings
    assert finding.name == "unreadable-body"
    assert finding.message.startswith("reading stopped here: the checksum of a message")


def paced(spec: str, *, body: bytes = BODY, asks: bool = False) -> list[Action]:
    """What a fault of time or of the connection makes of the stream."""
    wanted = settings(Words(fault=[spec] if spec else []))
    schedule = Schedule(BINARY, drawn(wanted, BINARY, 1), asks=asks)
    return [*schedule.begin(), *schedule.feed(body), *schedule.feed(b"")]


@pytest.mark.parametrize(
    ("error", "name"),
    [
        ("rate-limit", "throttlingException"),
        ("overloaded", "serviceUnavailableException"),
        ("server", "internalServerException"),
    ],
)
def test_an_error_in_mid_stream_is_an_exception(error: str, name: str) -> None:
    """As the service says it, in a message of its own."""
    actions = paced(f"error-event:at=event:2,error={error}")
    assert isinstance(actions[-1], Finish)
    buffer = EventStreamBuffer()
    buffer.add_data(bytes_of(actions))
    *before, last = buffer
    assert len(before) == 2
    assert (last.headers[":message-type"], last.headers[":exception-type"]) == ("exception", name)
    said = json.loads(last.payload)["message"]
    _, record = run(bytes_of(actions), BINARY, REPAIRED)
    assert record.error == f"{name}: {said}"
    assert [finding.name for finding in record.findings] == ["in-band-error"]


def test_no_comments_stand_between_messages() -> None:
    """Neither while the connection is held open, nor while a second answer is awaited."""
    assert Hold(0.01, None) in paced("hold-open:ms=10,heartbeat=1")
    assert bytes_of(paced("hold-open:ms=10,heartbeat=1")) == BODY
    lacking, _ = run(BODY, BINARY, Settings(faults=((Fault(name="missing-calls"), Budget(None)),)))
    assert not any(isinstance(action, Ask) for action in paced("", body=lacking, asks=True))


def events(actions: Iterable[Action]) -> list[Any]:
    """What goes, event by event."""
    return said(bytes_of(actions))


def test_events_dropped_doubled_and_swapped_are_whole_messages() -> None:
    """Faults of the connection act on messages."""
    healthy = said(BODY)
    assert events(paced("drop-event:at=event:2")) == healthy[:2] + healthy[3:]
    assert events(paced("duplicate-event:at=event:2")) == healthy[:3] + healthy[2:]
    assert sorted(map(str, events(paced("swap-events:at=event:2")))) == sorted(map(str, healthy))
