"""Anthropic's events in AWS event stream messages, as Bedrock sends them, are treated as in server-sent events."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from botocore.eventstream import EventStreamBuffer

from tests.invariants.driven import run
from tests.invariants.healthy import streams
from tests.tables import INJECTORS, SHAPES
from toolstream_core.delivery.schedule import Schedule, bytes_of, drawn
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.settings import NOTHING, SAFE, Settings, Words, settings
from toolstream_core.transit.actions import Ask, Finish, Hold
from toolstream_core.wire.aws_event_stream import fresh
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.model import Record
    from toolstream_core.transit.actions import Action

HEALTHY = next(one for one in streams() if str(one) == "anthropic, fragments of two")
BINARY = replace(
    HEALTHY.exchange,
    path="/model/anthropic.claude/invoke-with-response-stream",
    content_type="application/vnd.amazon.eventstream",
)
SSE_ONLY = frozenset(
    {"unterminated-event", "comment-as-data", "empty-data", "missing-event-name", "missing-event-type"}
)
"""Defects that only server-sent events can have."""
REPAIRED = Settings(SAFE)


def messages(body: bytes) -> bytes:
    """Wrap each server-sent event in a message."""
    data = [frame.data for frame in [*SseFramer().feed(body)] if frame.data]
    payloads = [json.dumps({"bytes": base64.b64encode(event).decode(), "p": "abc"}) for event in data]
    return b"".join(fresh(payload.encode(), "chunk").encode() for payload in payloads)


BODY = messages(HEALTHY.body)


def events(body: bytes) -> list[Any]:
    """Return the events in the messages, decoded by botocore."""
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    inner = [base64.b64decode(json.loads(message.payload)["bytes"]) for message in buffer]
    assert not buffer._data
    return [as_json(event) for event in inner]


def as_json(event: bytes) -> Any:
    """Parse an event, or return its bytes if it is not JSON."""
    try:
        return json.loads(event)
    except ValueError:
        return event


def calls(record: Record) -> list[tuple[str, str, str]]:
    """Return id, name and arguments of each call."""
    return [(call.id, call.name, call.arguments) for call in record.calls]


@pytest.mark.parametrize("size", [0, 1, 50])
def test_a_healthy_stream_passes_repairs_byte_identical(size: int) -> None:
    """A healthy stream passes repairs byte-identical, with the calls of the same server-sent events."""
    out, record = run(BODY, BINARY, REPAIRED, size)
    assert out == BODY
    assert record.findings == []
    assert calls(record) == calls(run(HEALTHY.body, HEALTHY.exchange, NOTHING)[1]) != []


@pytest.mark.parametrize("name", INJECTORS["anthropic"])
def test_defects_are_injected_and_repaired_as_in_server_sent_events(name: str) -> None:
    """A defect is injected and repaired as in server-sent events, except defects of their framing."""
    faults = Settings(faults=((Fault(name=name), Budget(None)),))
    broken, _ = run(BODY, BINARY, faults)
    as_sse, _ = run(HEALTHY.body, HEALTHY.exchange, faults)
    if name in SSE_ONLY:
        assert events(broken) == events(BODY)
        return
    assert events(broken) == sse_events(as_sse)
    repaired, record = run(broken, BINARY, REPAIRED)
    in_sse, sse_record = run(as_sse, HEALTHY.exchange, REPAIRED)
    assert events(repaired) == sse_events(in_sse)
    assert [str(finding) for finding in record.findings] == [str(finding) for finding in sse_record.findings]


@pytest.mark.parametrize("shape", SHAPES["anthropic"])
def test_shapes_work_as_in_server_sent_events(shape: str) -> None:
    """A shape writes the same events as in server-sent events."""
    options = Settings(shapes=(shape,))
    assert events(run(BODY, BINARY, options)[0]) == sse_events(run(HEALTHY.body, HEALTHY.exchange, options)[0])


def sse_events(body: bytes) -> list[Any]:
    """Parse the data of server-sent events."""
    framer = SseFramer()
    return [as_json(frame.data) for frame in [*framer.feed(body), *framer.feed(b"")] if frame.data]


@pytest.mark.parametrize("place", [BODY.find(b":event-type", 1500), BODY.rfind(b":event-type") - 12, 0, len(BODY) - 1])
@pytest.mark.parametrize("options", [NOTHING, REPAIRED], ids=["read", "repaired"])
@pytest.mark.parametrize("size", [0, 20])
def test_damage_is_the_only_finding(place: int, options: Settings, size: int) -> None:
    """A damaged message or prelude is the only finding, and all bytes are forwarded unchanged."""
    broken = bytearray(BODY)
    broken[place] ^= 1
    exchange = replace(BINARY, path="/v1/messages")
    out, record = run(bytes(broken), exchange, options, size)
    assert out == broken
    [finding] = record.findings
    assert finding.name == "unreadable-body"
    assert finding.message.startswith("reading stopped here: the checksum of a message")


def actions_of(spec: str, *, body: bytes = BODY, asks: bool = False) -> list[Action]:
    """Return the actions of a timing or connection fault on the stream."""
    options = settings(Words(fault=[spec] if spec else []))
    schedule = Schedule(BINARY, drawn(options, BINARY, 1), asks=asks)
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
    """An injected error is a message with the exception type of the service."""
    actions = actions_of(f"error-event:at=event:2,error={error}")
    assert isinstance(actions[-1], Finish)
    buffer = EventStreamBuffer()
    buffer.add_data(bytes_of(actions))
    *before, last = buffer
    assert len(before) == 2
    assert (last.headers[":message-type"], last.headers[":exception-type"]) == ("exception", name)
    message = json.loads(last.payload)["message"]
    _, record = run(bytes_of(actions), BINARY, REPAIRED)
    assert record.error == f"{name}: {message}"
    assert [finding.name for finding in record.findings] == ["in-band-error"]


def test_no_comments_are_sent_between_messages() -> None:
    """No comments are sent while the connection is held open, nor during a second request."""
    assert Hold(0.01, None) in actions_of("hold-open:ms=10,heartbeat=1")
    assert bytes_of(actions_of("hold-open:ms=10,heartbeat=1")) == BODY
    lacking, _ = run(BODY, BINARY, Settings(faults=((Fault(name="missing-calls"), Budget(None)),)))
    assert not any(isinstance(action, Ask) for action in actions_of("", body=lacking, asks=True))


def sent_events(actions: Iterable[Action]) -> list[Any]:
    """Return the sent events."""
    return events(bytes_of(actions))


def test_connection_faults_act_on_messages() -> None:
    """Connection faults drop, duplicate and swap complete messages."""
    healthy = events(BODY)
    assert sent_events(actions_of("drop-event:at=event:2")) == healthy[:2] + healthy[3:]
    assert sent_events(actions_of("duplicate-event:at=event:2")) == healthy[:3] + healthy[2:]
    assert sorted(map(str, sent_events(actions_of("swap-events:at=event:2")))) == sorted(map(str, healthy))
