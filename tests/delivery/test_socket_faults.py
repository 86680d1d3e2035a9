"""Timing and connection faults of a response on a WebSocket, whose events are complete messages."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from toolstream_core.delivery.schedule import Schedule, bytes_of, drawn
from toolstream_core.errors import ToolstreamError
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.responses.socket import RESPONSES_SOCKET
from toolstream_core.protocols.socket_wire import SocketLane
from toolstream_core.settings import Words, settings
from toolstream_core.transit.actions import Action, BreakKind, Cut, Finish, Hold, Send
from toolstream_core.transit.definitions import Moment

if TYPE_CHECKING:
    from collections.abc import Iterable

EXCHANGE = StreamFacts(path="/v1/responses", content_type="application/x-ndjson", request={"model": "m"})
PLACE = {"item_id": "fc_1", "output_index": 0}
EVENTS: list[dict[str, object]] = [
    {"type": "response.created", "response": {"id": "resp_1", "object": "response", "output": []}},
    {
        "type": "response.output_item.added",
        "output_index": 0,
        "item": {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": ""},
    },
    {"type": "response.function_call_arguments.delta", **PLACE, "delta": '{"a"'},
    {"type": "response.function_call_arguments.delta", **PLACE, "delta": ":1}"},
    {"type": "response.completed", "response": {"id": "resp_1", "object": "response", "output": []}},
]
IN_ARGUMENTS = 3
LINES = [json.dumps(one).encode() + b"\n" for one in EVENTS]


def faulty(spec: str, lane: str | None = "a") -> tuple[list[Action], int]:
    """The actions of a fault, and how often it acted. Without a lane, the response is over HTTP."""
    faults = drawn(settings(Words(fault=[spec])), EXCHANGE, 1)
    place = None if lane is None else SocketLane(RESPONSES_SOCKET, lane)
    schedule = Schedule(EXCHANGE, faults, socket=place)
    out = schedule.begin()
    for line in (*LINES, b""):
        out += schedule.feed(line)
    return out, faults[0][1].touched


def messages(actions: Iterable[Action]) -> list[dict[str, object]]:
    """The sent messages."""
    return [json.loads(line) for line in bytes_of(actions).splitlines()]


@pytest.mark.parametrize(
    ("keys", "cut"),
    [
        ("", Cut(BreakKind.CLOSE)),
        ("code=1006,", Cut(BreakKind.CLOSE)),
        ("code=1000,", Cut(BreakKind.CLOSE, "cut by toolstream_fault with code 1000", 1000)),
        ("code=1001,", Cut(BreakKind.CLOSE, "cut by toolstream_fault with code 1001", 1001)),
        ("code=1011,", Cut(BreakKind.CLOSE, "cut by toolstream_fault with code 1011", 1011)),
        ("how=reset,", Cut(BreakKind.RESET)),
    ],
)
def test_a_cut_closes_the_socket(keys: str, cut: Cut) -> None:
    """Without a code there is no close frame. All messages before the cut are sent."""
    actions, _ = faulty(f"cut:{keys}at=event:2")
    assert messages(actions) == EVENTS[:2]
    assert actions[-1] == cut


def test_other_close_codes_are_an_error() -> None:
    """The message has the allowed codes."""
    with pytest.raises(ToolstreamError, match="1000, 1001, 1006"):
        settings(Words(fault=["cut:code=1002"]))


@pytest.mark.parametrize(("lane", "other"), [("a", "b"), ("", "other")])
def test_an_event_gets_another_stream_id(lane: str, other: str) -> None:
    """All other events stay, also if the request had no stream id."""
    keys = "" if other == "other" else f":id={other}"
    actions, acted = faulty(f"wrong-stream-id{keys}", lane)
    changed = [*EVENTS]
    changed[IN_ARGUMENTS] = {**EVENTS[IN_ARGUMENTS], "stream_id": other}
    assert messages(actions) == changed
    assert acted == 1


@pytest.mark.parametrize(("spec", "lane"), [("wrong-stream-id", None), ("wrong-stream-id:id=a", "a")])
def test_a_stream_id_is_not_replaced_by_itself(spec: str, lane: str | None) -> None:
    """Over HTTP there are no stream ids."""
    actions, acted = faulty(spec, lane)
    assert bytes_of(actions) == b"".join(LINES)
    assert acted == 0


@pytest.mark.parametrize("keys", ["bytes=3", "events=2", "utf8=yes"])
def test_messages_are_not_split(keys: str) -> None:
    """A WebSocket sends complete messages."""
    actions, acted = faulty(f"recut:{keys}")
    assert [one.raw for one in actions if isinstance(one, Send)] == LINES
    assert acted == 0


def test_a_point_inside_a_message_is_before_it() -> None:
    """An incomplete message cannot be sent."""
    actions, _ = faulty(f"error-event:error=rate-limit,at=byte:{len(LINES[0]) + 9}")
    error = {"type": "rate_limit_exceeded", "code": "rate_limit_exceeded", "message": "Rate limit reached"}
    assert messages(actions) == [EVENTS[0], {"type": "error", "status": 429, "error": {**error, "param": None}}]
    assert actions[-1] == Finish()


def test_a_held_socket_is_silent() -> None:
    """WebSockets have no comments."""
    actions, _ = faulty("hold-open:ms=300,heartbeat=100")
    assert actions[-1] == Hold(0.3, None)


@pytest.mark.parametrize(
    ("on", "moments"),
    [
        ("", {Moment.REQUEST, Moment.UPGRADE, Moment.MESSAGE}),
        (":on=upgrade", {Moment.REQUEST, Moment.UPGRADE}),
        (":on=message", {Moment.REQUEST, Moment.MESSAGE}),
    ],
)
def test_the_moment_of_an_http_error(on: str, moments: set[Moment]) -> None:
    """It refuses the upgrade, a request on the socket, or both. Over HTTP it is always possible."""
    wanted = settings(Words(fault=[f"http-error{on}"]))
    assert {moment for moment in Moment if drawn(wanted, EXCHANGE, 1, moment)} == moments
