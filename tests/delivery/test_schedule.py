"""Timing and connection faults as actions: what is sent, waited for and cut, without a clock."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.grouped import Case, grouped
from tests.invariants.healthy import over_all_transports
from toolstream_core.delivery.schedule import Schedule, bytes_of, drawn
from toolstream_core.engine.session import read_body
from toolstream_core.errors import ToolstreamError
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.errors import ERRORS, kind_of
from toolstream_core.protocols.registry import named
from toolstream_core.settings import Words, settings
from toolstream_core.transit.actions import Action, BreakKind, Cut, Finish, Hold, Send, Wait
from toolstream_core.transit.definitions import TRANSIT
from toolstream_core.transit.faults import point

if TYPE_CHECKING:
    from tests.invariants.healthy import Healthy

HEALTHY = over_all_transports()
STREAM = next(one for one in HEALTHY if str(one) == "openai-chat, fragments of two")
EVENTS = [event + b"\n\n" for event in STREAM.body.split(b"\n\n") if event]


def paced(spec: str, body: bytes = STREAM.body, *, seed: int = 0, chunk: int = 0) -> list[Action]:
    """The actions of a fault for a stream, in chunks of this size or in one chunk."""
    options = settings(Words(fault=[spec], seed=seed))
    schedule = Schedule(STREAM.exchange, drawn(options, STREAM.exchange, 1))
    size = chunk or len(body)
    out = schedule.begin()
    for at in range(0, len(body), size):
        out += schedule.feed(body[at : at + size])
    return [*out, *schedule.feed(b"")]


@grouped(Case(row.name, (row.name, stream)) for row in TRANSIT if row.make is not None for stream in HEALTHY)
def test_every_fault_on_every_stream(name: str, stream: Healthy) -> None:
    """A timing fault keeps the bytes, a cut only removes some, and chunk boundaries do not matter."""
    body, exchange = stream.body, stream.exchange
    spec = f"{name}:bytes=5" if name == "recut" else name
    options = settings(Words(fault=[spec]))
    results = []
    for size in (len(body), 1, 37):
        schedule = Schedule(exchange, drawn(options, exchange, 1))
        out = schedule.begin()
        for at in range(0, len(body), size):
            out += schedule.feed(body[at : at + size])
        out += schedule.feed(b"")
        results.append((bytes_of(out), [one for one in out if not isinstance(one, Send)]))
    assert results[0] == results[1] == results[2]
    if name in {"first-byte-delay", "stall", "drip", "recut", "hold-open"}:
        assert results[0][0] == body
    if name == "cut":
        assert body.startswith(results[0][0])
        complete = stream.name == "without arguments" and results[0][0] == body
        assert results[0][1] == ([] if complete else [Cut(BreakKind.CLOSE)])


@pytest.mark.parametrize(
    ("at", "sent"),
    [
        ("event:0", b""),
        ("event:2", b"".join(EVENTS[:2])),
        ("byte:7", STREAM.body[:7]),
        ("before-done", STREAM.body.removesuffix(EVENTS[-1])),
    ],
)
def test_points(at: str, sent: bytes) -> None:
    """A cut is exactly at its point."""
    actions = paced(f"cut:at={at},how=reset")
    assert bytes_of(actions) == sent
    assert actions[-1] == Cut(BreakKind.RESET)


def test_inside_the_arguments() -> None:
    """A part of a call was sent, also if the call is in one event."""
    cut = bytes_of(paced("cut"))
    record = read_body([cut], STREAM.exchange)
    assert record is not None
    assert [call.complete for call in record.calls] == [False]
    assert record.calls[0].arguments.startswith("{")
    one_event = next(one for one in HEALTHY if one.name == "one chunk" and one.protocol == "openai-chat")
    schedule = Schedule(one_event.exchange, drawn(settings(Words(fault=["cut"])), one_event.exchange, 1))
    sent = bytes_of(schedule.feed(one_event.body))
    assert one_event.body.startswith(sent)
    assert sent != one_event.body
    assert not sent.endswith(b"\n")


def test_calls_and_tools() -> None:
    """A cut is at the second call's start, or only in arguments of the given tool."""
    two = next(one for one in HEALTHY if one.name == "fragments of two" and one.protocol == "openai-chat")
    for spec in ("cut:at=call:1", "cut:tool=get_time"):
        schedule = Schedule(two.exchange, drawn(settings(Words(fault=[spec])), two.exchange, 1))
        record = read_body([bytes_of(schedule.feed(two.body))], two.exchange)
        assert record is not None
        assert record.calls[0].complete


def test_waits_depend_on_the_seed() -> None:
    """The same seed gives the same times, and all are near the given one."""
    first, again, other = (
        [action.seconds for action in paced("drip:ms=100,jitter=50", seed=seed) if isinstance(action, Wait)]
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert all(0.05 <= seconds <= 0.15 for seconds in first)
    assert len(first) == len(EVENTS)
    for dist in ("normal", "exponential"):
        seconds_of_dist = [a.seconds for a in paced(f"drip:ms=100,jitter=50,dist={dist}") if isinstance(a, Wait)]
        assert min(seconds_of_dist) >= 0.0
        assert len(set(seconds_of_dist)) > 1


def test_endings() -> None:
    """An error ends the body normally, and a complete response may stay open."""
    assert isinstance(paced("error-event")[-1], Finish)
    assert paced("hold-open:ms=5,heartbeat=2")[-1] == Hold(0.005, 0.002)
    assert paced("hold-open")[-1] == Hold(None, None)
    assert bytes_of(paced("swap-events:at=event:9999")) == STREAM.body


def test_other_responses_are_forwarded() -> None:
    """Their content does not matter."""
    options = settings(Words(fault=["cut", "drip"]))
    exchange = StreamFacts(path="/", content_type="text/html")
    schedule = Schedule(exchange, drawn(options, exchange, 1))
    assert bytes_of([*schedule.feed(b"<html>"), *schedule.feed(b"</html>"), *schedule.feed(b"")]) == b"<html></html>"


@grouped(
    Case(str(stream), (stream,))
    for stream in HEALTHY
    if not stream.body.lstrip().startswith(b"[") and not stream.over_socket
)
def test_an_error_is_a_complete_event(stream: Healthy) -> None:
    """It has the form of the protocol. In an array, an error is not possible."""
    for error in ERRORS:
        options = settings(Words(fault=[f"error-event:error={error},at=in-arguments"]))
        schedule = Schedule(stream.exchange, drawn(options, stream.exchange, 1))
        body = bytes_of([*schedule.feed(stream.body), *schedule.feed(b"")])
        record = read_body([body], stream.exchange)
        assert record is not None
        if stream.name != "without arguments":
            assert record.error
        assert not {"unparsable-data", "unterminated-event"} & {finding.name for finding in record.findings}


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"])
def test_an_http_error_has_a_body(protocol: str) -> None:
    """The body has the form of the protocol."""
    assert json.dumps(named(protocol).error_body(kind_of(503), 503))


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("cut:how=soft", "close or reset"),
        ("cut:at=middle", "event:N"),
        ("stall:ms=-1", "milliseconds"),
        ("recut", "bytes=N"),
        ("recut:bytes=1,events=2", "one of"),
        ("http-error:status=200", "400 to 599"),
        ("stall:colour=red", "keys are ms, jitter, dist, at, host"),
    ],
)
def test_invalid_faults_are_errors(spec: str, message: str) -> None:
    """The message names what was expected."""
    with pytest.raises(ToolstreamError, match=message):
        settings(Words(fault=[spec]))


def test_points_are_written_as_they_are_read() -> None:
    """Their text is the same in both directions."""
    for text in ("event:3", "byte:0", "call:1", "in-arguments", "before-done"):
        assert str(point(text)) == text
    assert point("event:") is None


def test_a_body_without_a_framing_is_sent_once() -> None:
    """At its end, its bytes are in no frame."""
    schedule = Schedule(StreamFacts(content_type=""), [])
    actions = [action for chunk in (b" ", b"\n", b"") for action in schedule.feed(chunk)]
    assert bytes_of(actions) == b" \n"
