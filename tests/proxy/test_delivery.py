"""The actions of a response's body."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from tests.invariants.healthy import over_all_transports
from toolstream_core.delivery.schedule import Schedule, bytes_of, drawn
from toolstream_core.model import Event, EventContent
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.proxy import delivery
from toolstream_core.proxy.delivery import HEARTBEAT, NOWHERE, Delivery
from toolstream_core.settings import Words, settings
from toolstream_core.transit.actions import Action, Ask, BreakKind, Cut, Hold, Send, Wait
from toolstream_core.transit.faults import Drip, Recut, Stage
from toolstream_core.wire.body import BodyFraming
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.sse import SseFramer
from toolstream_core.wire.write import Unwritten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.proxy.live_response import LiveResponse


class FakeResponse:
    """A live response that forwards its bytes in upper case."""

    def __init__(self, *, cut_off: str | None = None, ignores_disconnect: bool = False, http2: bool = False) -> None:
        self.cut_off = SimpleNamespace(name=cut_off) if cut_off else None
        self.flow = SimpleNamespace(request=SimpleNamespace(is_http2=http2))
        self.ends = 0
        self.rewrites = False
        self.errors: list[Exception] = []
        self.failed = self.errors.append
        self._ignores_disconnect = ignores_disconnect

    def stream(self, data: bytes) -> list[bytes]:
        """Return the bytes for the client."""
        return [data.upper()] if data else [b"."]

    def forgives(self, _message: str) -> bool:
        """Return whether a disconnect is ignored."""
        return self._ignores_disconnect

    def report_end(self) -> None:
        """Count the ends."""
        self.ends += 1

    def delivered(self) -> None:
        """Take no bytes."""


class BrokenSchedule:
    """A schedule that raises on each chunk."""

    def __init__(self) -> None:
        self.rest = bytearray()

    def feed(self, chunk: bytes) -> Sequence[Action]:
        self.rest += chunk
        raise ZeroDivisionError

    def release(self) -> Sequence[Action]:
        """Return all bytes that were fed."""
        return [Send(bytes(self.rest), NOWHERE)]


def delivery_of(response: FakeResponse, schedule: BrokenSchedule | Schedule | None = None) -> Delivery:
    """Return the delivery of a response."""
    return Delivery(cast("LiveResponse", response), cast("Schedule | None", schedule))


@pytest.mark.parametrize(
    ("hold", "pause", "remaining"),
    [
        (Hold(), math.inf, [Hold()]),
        (Hold(3), 3, [Hold(0)]),
        (Hold(0), None, []),
        (Hold(3, 2), 2, [HEARTBEAT, Hold(1, 2)]),
        (Hold(1, 2), 1, [Hold(0, 2)]),
        (Hold(None, 2), 2, [HEARTBEAT, Hold(None, 2)]),
    ],
)
def test_a_hold_with_heartbeats_waits_from_comment_to_comment(
    monkeypatch: pytest.MonkeyPatch, hold: Hold, pause: float | None, remaining: list[Action]
) -> None:
    """Each wait ends at the next SSE comment or at the end of the hold."""
    monkeypatch.setattr(delivery, "_now", lambda: 0.0)
    body = delivery_of(FakeResponse())
    body._hold(hold)
    assert body._due == pause
    assert [*body._actions] == remaining


def test_an_internal_error_of_a_fault_loses_no_bytes() -> None:
    """The current chunk and all later chunks are forwarded unchanged, and the error is reported once."""
    response = FakeResponse()
    body = delivery_of(response, BrokenSchedule())
    body._send(b"a")
    body._send(b"b")
    assert [*body._actions] == [Send(b"a", NOWHERE), Send(b"b", NOWHERE)]
    assert [type(error) for error in response.errors] == [ZeroDivisionError]


def test_an_incomplete_call_ends_with_a_disconnect() -> None:
    """The reason of the disconnect names the repair."""
    body = delivery_of(response := FakeResponse(cut_off="cut-off-call"))
    body._end_body()
    assert [*body._actions] == [Cut(BreakKind.CLOSE, "cut by toolstream_repair: cut-off-call")]
    assert response.ends == 1


@pytest.mark.parametrize(
    ("broken", "ignores_disconnect", "http2", "expected"),
    [
        (None, False, False, [Send(b".", NOWHERE)]),
        ("reset", True, False, [Send(b".", NOWHERE)]),
        ("reset", False, False, [Cut(BreakKind.CLOSE, "reset")]),
        ("reset", False, True, [Cut(BreakKind.RESET, "reset")]),
    ],
)
def test_a_saved_response_ends_as_recorded(
    *, broken: str | None, ignores_disconnect: bool, http2: bool, expected: list[Action]
) -> None:
    """A saved response ends in order or with the recorded disconnect, unless a repair removes it."""
    body = delivery_of(FakeResponse(ignores_disconnect=ignores_disconnect, http2=http2))
    body._read(b"x")
    body._end_saved(broken)
    assert [*body._actions] == [Send(b"X", NOWHERE), *expected]


FAULTS = ["stall:ms=1,at=event:3", "drip:ms=1", "recut:bytes=3", "recut:events=4"]
PLACES = [
    (Schedule, "_frame"),
    (Schedule, "_place"),
    (Schedule, "_cut"),
    (BodyFraming, "open"),
    (SseFramer, "feed"),
    (Stage, "take"),
    (Drip, "sent"),
    (Recut, "sent"),
    (Recut, "_joined"),
]
STREAM = next(healthy for healthy in over_all_transports() if str(healthy) == "openai-chat, fragments of two")


@pytest.mark.parametrize("at", [1, 2, 5, 9])
@pytest.mark.parametrize(("owner", "name"), PLACES, ids=lambda spec: getattr(spec, "__name__", spec))
@pytest.mark.parametrize("specs", [[spec] for spec in FAULTS] + [FAULTS[:3], FAULTS[3:0:-1]], ids="+".join)
def test_no_byte_is_lost_wherever_a_fault_fails(
    monkeypatch: pytest.MonkeyPatch, specs: list[str], owner: type, name: str, at: int
) -> None:
    """The client receives all bytes once and in order, including those of incomplete and of held events."""
    calls, real = itertools.count(1), getattr(owner, name)

    def fails(self: object, *arguments: object) -> object:
        if next(calls) == at:
            raise ZeroDivisionError
        return real(self, *arguments)

    monkeypatch.setattr(owner, name, fails)
    response = FakeResponse()
    body = delivery_of(response, Schedule(STREAM.exchange, drawn(settings(Words(fault=specs)), STREAM.exchange, 1)))
    body.offer_headers()
    for begin in range(0, len(STREAM.body), 50):
        body._send(STREAM.body[begin : begin + 50])
    body._send(b"")
    assert bytes_of([*body._actions]) == STREAM.body
    assert len(response.errors) == (next(calls) > at)


def test_held_events_are_forwarded_if_the_delivery_fails() -> None:
    """A held finish event and the start of an incomplete event are forwarded."""
    schedule = Schedule(STREAM.exchange, ())
    body = delivery_of(FakeResponse(), schedule)
    event = Event(Frame(b"data: {}\n\n", 0, b"{}"), lambda _: EventContent())
    body._add(Send(b"a", NOWHERE), Wait(1), Ask(event, 0, Unwritten(), PROTOCOLS[0]))
    body._send(STREAM.body[:70])
    assert b"".join(body.take_waiting()) == b"adata: {}\n\n" + STREAM.body[:70]
