"""What an answer's body becomes, action by action."""

from __future__ import annotations

import itertools
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from tests.invariants.healthy import everywhere
from toolstream_core.delivery.schedule import Schedule, bytes_of, drawn
from toolstream_core.model import Event, EventContent
from toolstream_core.proxy.delivery import HEARTBEAT, NOWHERE, ActionQueue
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
    """Makes the bytes of a saved answer upper case."""

    def __init__(self, *, cut_off: str | None = None, forgiven: bool = False, http2: bool = False) -> None:
        self.cut_off = SimpleNamespace(name=cut_off) if cut_off else None
        self.flow = SimpleNamespace(request=SimpleNamespace(is_http2=http2))
        self.ends = 0
        self.rewrites = False
        self.errors: list[Exception] = []
        self.failed = self.errors.append
        self._forgiven = forgiven

    def stream(self, data: bytes) -> list[bytes]:
        """The bytes that the client gets."""
        return [data.upper()] if data else [b"."]

    def forgives(self, _message: str) -> bool:
        """Whether a break is none."""
        return self._forgiven

    def report_end(self) -> None:
        """The end was reached."""
        self.ends += 1


class BrokenSchedule:
    """Has a bug."""

    def __init__(self) -> None:
        self.rest = bytearray()

    def feed(self, _piece: bytes) -> Sequence[Action]:
        """Fail."""
        raise ZeroDivisionError

    def release(self) -> Sequence[Action]:
        """Everything that came."""
        return [Send(bytes(self.rest), NOWHERE)]


def queue(watch: FakeResponse, schedule: BrokenSchedule | Schedule | None = None) -> ActionQueue:
    """The actions of one answer."""
    return ActionQueue(cast("LiveResponse", watch), cast("Schedule | None", schedule))


def actions(of: ActionQueue) -> list[Action]:
    """Everything that is left to be done."""
    found = []
    while of:
        found.append(of.pop())
    return found


@pytest.mark.parametrize(
    ("hold", "pause", "behind"),
    [
        (Hold(), math.inf, [Hold()]),
        (Hold(3), 3, [Hold(0)]),
        (Hold(0), None, []),
        (Hold(3, 2), 2, [HEARTBEAT, Hold(1, 2)]),
        (Hold(1, 2), 1, [Hold(0, 2)]),
        (Hold(None, 2), 2, [HEARTBEAT, Hold(None, 2)]),
    ],
)
def test_a_hold_is_waited_for_from_comment_to_comment(hold: Hold, pause: float | None, behind: list[Action]) -> None:
    """Each wait ends at a comment or at the end of it all."""
    body = queue(FakeResponse())
    assert body.hold(hold) == pause
    assert actions(body) == behind


def test_a_bug_in_the_faults_loses_no_bytes() -> None:
    """The piece goes as it is, and so does everything behind it; the bug is told once."""
    watch = FakeResponse()
    body = queue(watch, BrokenSchedule())
    body.send(b"a")
    body.send(b"b")
    assert actions(body) == [Send(b"a", NOWHERE), Send(b"b", NOWHERE)]
    assert [type(error) for error in watch.errors] == [ZeroDivisionError]


def test_half_a_call_ends_as_a_break() -> None:
    """What repairs it is named."""
    body = queue(watch := FakeResponse(cut_off="cut-off-call"))
    body.end()
    assert actions(body) == [Cut(BreakKind.CLOSE, "cut by toolstream_repair: cut-off-call")]
    assert watch.ends == 1


@pytest.mark.parametrize(
    ("broken", "forgiven", "http2", "then"),
    [
        (None, False, False, [Send(b".", NOWHERE)]),
        ("reset", True, False, [Send(b".", NOWHERE)]),
        ("reset", False, False, [Cut(BreakKind.CLOSE, "reset")]),
        ("reset", False, True, [Cut(BreakKind.RESET, "reset")]),
    ],
)
def test_a_saved_answer_ends_as_it_was_recorded(
    *, broken: str | None, forgiven: bool, http2: bool, then: list[Action]
) -> None:
    """In order, or as a break that no repair mends."""
    body = queue(FakeResponse(forgiven=forgiven, http2=http2))
    body.read(b"x")
    body.end_saved(broken)
    assert actions(body) == [Send(b"X", NOWHERE), *then]


FAULTS = ["stall:ms=1,at=event:3", "drip:ms=1", "recut:bytes=3", "recut:events=4"]
PLACES = [
    (Schedule, "_frame"),
    (Schedule, "_place"),
    (Schedule, "_look"),
    (BodyFraming, "open"),
    (SseFramer, "feed"),
    (Stage, "take"),
    (Drip, "sent"),
    (Recut, "sent"),
    (Recut, "_joined"),
]
STREAM = next(one for one in everywhere() if str(one) == "openai-chat, fragments of two")


@pytest.mark.parametrize("at", [1, 2, 5, 9])
@pytest.mark.parametrize(("owner", "name"), PLACES, ids=lambda one: getattr(one, "__name__", one))
@pytest.mark.parametrize("specs", [[one] for one in FAULTS] + [FAULTS[:3], FAULTS[3:0:-1]], ids="+".join)
def test_wherever_the_faults_fail_no_byte_is_lost(
    monkeypatch: pytest.MonkeyPatch, specs: list[str], owner: type, name: str, at: int
) -> None:
    """Also those of an event that is incomplete, or that waits for others; and in order, none of them twice."""
    calls, real = itertools.count(1), getattr(owner, name)

    def fails(self: object, *arguments: object) -> object:
        if next(calls) == at:
            raise ZeroDivisionError
        return real(self, *arguments)

    monkeypatch.setattr(owner, name, fails)
    watch = FakeResponse()
    body = queue(watch, Schedule(STREAM.exchange, drawn(settings(Words(fault=specs)), STREAM.exchange, 1)))
    body.begin()
    for begin in range(0, len(STREAM.body), 50):
        body.send(STREAM.body[begin : begin + 50])
    body.send(b"")
    assert bytes_of(actions(body)) == STREAM.body
    assert len(watch.errors) == (next(calls) > at)


def test_what_waits_goes_when_the_delivery_fails() -> None:
    """The finish for which the provider is asked again, and the begin of an incomplete event."""
    schedule = Schedule(STREAM.exchange, ())
    body = queue(FakeResponse(), schedule)
    event = Event(Frame(b"data: {}\n\n", 0, b"{}"), lambda _: EventContent())
    body.add(Send(b"a", NOWHERE), Wait(1), Ask(event, 0, Unwritten()))
    body.send(STREAM.body[:70])
    assert b"".join(body.take_bytes()) == b"adata: {}\n\n" + STREAM.body[:70]
