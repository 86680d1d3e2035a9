"""Transit faults as actions: what is sent, waited for and cut, without a clock; points, keys, errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.grouped import Case, grouped
from tests.invariants.healthy import everywhere
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

HEALTHY = everywhere()
STREAM = next(one for one in HEALTHY if str(one) == "openai-chat, fragments of two")
EVENTS = [event + b"\n\n" for event in STREAM.body.split(b"\n\n") if event]


def paced(spec: str, body: bytes = STREAM.body, *, seed: int = 0, chunk: int = 0) -> list[Action]:
    """What a fault makes of a stream that comes in chunks of a size, or in one."""
    asked = settings(Words(fault=[spec], seed=seed))
    schedule = Schedule(STREAM.exchange, drawn(asked, STREAM.exchange, 1))
    size = chunk or len(body)
    out = schedule.begin()
    for at in range(0, len(body), size):
        out += schedule.feed(body[at : at + size])
    return [*out, *schedule.feed(b"")]


@grouped(Case(row.name, (row.name, stream)) for row in TRANSIT if row.make is not None for stream in HEALTHY)
def test_every_fault_on_every_stream(name: str, stream: Healthy) -> None:
    """What is not meant to change the bytes does not; none is made up; the same whatever the cuts."""
    body, exchange = stream.body, stream.exchange
    spec = f"{name}:bytes=5" if name == "recut" else name
    asked = settings(Words(fault=[spec]))
    told = []
    for size in (len(body), 1, 37):
        schedule = Schedule(exchange, drawn(asked, exchange, 1))
        out = schedule.begin()
        for at in range(0, len(body), size):
            out += schedule.feed(body[at : at + size])
        out += schedule.feed(b"")
        told.append((bytes_of(out), [one for one in out if not isinstance(one, Send)]))
    assert told[0] == told[1] == told[2]
    if name in {"first-byte-delay", "stall", "drip", "recut", "hold-open"}:
        assert told[0][0] == body
    if name == "cut":
        assert body.startswith(told[0][0])
        unharmed = stream.name == "without arguments" and told[0][0] == body
        assert told[0][1] == ([] if unharmed else [Cut(BreakKind.CLOSE)])


@pytest.mark.parametrize(
    ("at", "came"),
    [
        ("event:0", b""),
        ("event:2", b"".join(EVENTS[:2])),
        ("byte:7", STREAM.body[:7]),
        ("before-done", STREAM.body.removesuffix(EVENTS[-1])),
    ],
)
def test_points(at: str, came: bytes) -> None:
    """A cut is exactly there."""
    actions = paced(f"cut:at={at},how=reset")
    assert bytes_of(actions) == came
    assert actions[-1] == Cut(BreakKind.RESET)


def test_inside_the_arguments() -> None:
    """Something of a call has come and not all of it, also where it comes in one event."""
    cut = bytes_of(paced("cut"))
    record = read_body([cut], STREAM.exchange)
    assert record is not None
    assert [call.complete for call in record.calls] == [False]
    assert record.calls[0].arguments.startswith("{")
    whole = next(one for one in HEALTHY if one.name == "whole" and one.dialect == "openai-chat")
    schedule = Schedule(whole.exchange, drawn(settings(Words(fault=["cut"])), whole.exchange, 1))
    came = bytes_of(schedule.feed(whole.body))
    assert whole.body.startswith(came)
    assert came != whole.body
    assert not came.endswith(b"\n")


def test_calls_and_tools() -> None:
    """The second call's beginning; only arguments of the tool that is meant."""
    two = next(one for one in HEALTHY if one.name == "fragments of two" and one.dialect == "openai-chat")
    for spec in ("cut:at=call:1", "cut:tool=get_time"):
        schedule = Schedule(two.exchange, drawn(settings(Words(fault=[spec])), two.exchange, 1))
        record = read_body([bytes_of(schedule.feed(two.body))], two.exchange)
        assert record is not None
        assert record.calls[0].complete


def test_waits_are_drawn_from_the_seed() -> None:
    """The same number, the same times; another, others; all around what was asked for."""
    first, again, other = (
        [action.seconds for action in paced("drip:ms=100,jitter=50", seed=seed) if isinstance(action, Wait)]
        for seed in (1, 1, 2)
    )
    assert first == again != other
    assert all(0.05 <= seconds <= 0.15 for seconds in first)
    assert len(first) == len(EVENTS)
    for dist in ("normal", "exponential"):
        drawn_so = [a.seconds for a in paced(f"drip:ms=100,jitter=50,dist={dist}") if isinstance(a, Wait)]
        assert min(drawn_so) >= 0.0
        assert len(set(drawn_so)) > 1


def test_endings() -> None:
    """An error ends the body in order; everything may come and nothing end."""
    assert isinstance(paced("error-event")[-1], Finish)
    assert paced("hold-open:ms=5,heartbeat=2")[-1] == Hold(0.005, 0.002)
    assert paced("hold-open")[-1] == Hold(None, None)
    assert bytes_of(paced("swap-events:at=event:9999")) == STREAM.body


def test_what_is_no_stream_passes() -> None:
    """Whatever it is, and however it ends."""
    asked = settings(Words(fault=["cut", "drip"]))
    exchange = StreamFacts(path="/", content_type="text/html")
    schedule = Schedule(exchange, drawn(asked, exchange, 1))
    assert bytes_of([*schedule.feed(b"<html>"), *schedule.feed(b"</html>"), *schedule.feed(b"")]) == b"<html></html>"


@grouped(
    Case(str(stream), (stream,))
    for stream in HEALTHY
    if not stream.body.lstrip().startswith(b"[") and not stream.over_socket
)
def test_an_error_is_an_event_of_its_own(stream: Healthy) -> None:
    """Of each protocol's own form, and in place of a complete event; an array has no place for one."""
    for error in ERRORS:
        asked = settings(Words(fault=[f"error-event:error={error},at=in-arguments"]))
        schedule = Schedule(stream.exchange, drawn(asked, stream.exchange, 1))
        body = bytes_of([*schedule.feed(stream.body), *schedule.feed(b"")])
        record = read_body([body], stream.exchange)
        assert record is not None
        if stream.name != "without arguments":
            assert record.error
        assert not {"unparsable-data", "unterminated-event"} & {finding.name for finding in record.findings}


@pytest.mark.parametrize("dialect", ["openai-chat", "openai-responses", "anthropic", "gemini", "ollama"])
def test_an_http_error_has_a_body(dialect: str) -> None:
    """Of the protocol's form."""
    assert json.dumps(named(dialect).error_body(kind_of(503), 503))


@pytest.mark.parametrize(
    ("spec", "right"),
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
def test_what_is_asked_wrongly(spec: str, right: str) -> None:
    """Is told with what would be right."""
    with pytest.raises(ToolstreamError, match=right):
        settings(Words(fault=[spec]))


def test_points_read_as_they_are_written() -> None:
    """There and back."""
    for text in ("event:3", "byte:0", "call:1", "in-arguments", "before-done"):
        assert str(point(text)) == text
    assert point("event:") is None


def test_a_body_that_never_shows_its_framing_goes_once() -> None:
    """Its bytes are in no frame when it is over."""
    schedule = Schedule(StreamFacts(content_type=""), [])
    actions = [action for chunk in (b" ", b"\n", b"") for action in schedule.feed(chunk)]
    assert bytes_of(actions) == b" \n"
