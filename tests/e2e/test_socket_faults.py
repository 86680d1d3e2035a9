"""Faults of WebSockets through a mitmdump: how a socket is closed, and errors in single messages."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.e2e.harness.socket_server import PATIENCE, SocketPlan, SocketServer
from tests.e2e.harness.trust import socket_trust
from tests.e2e.test_sockets import ENDS, TWO, messages_of
from tests.invariants.healthy import request

if TYPE_CHECKING:
    from websockets.sync.client import ClientConnection

    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.tap import Tap

pytestmark = pytest.mark.e2e

RESPONSE = [json.loads(message) for message in messages_of(TWO.body)]
REQUEST = {key: value for key, value in request("openai-responses").items() if key != "stream"}
SPECS = {
    "1000": "cut:code=1000,at=event:2",
    "1001": "cut:code=1001,at=event:2",
    "1011": "cut:code=1011,at=event:2",
    "1006": "cut:at=event:2",
    "reset": "cut:how=reset,at=event:2",
    "lane": "wrong-stream-id:at=event:2",
    "error": "error-event:error=rate-limit,at=event:2",
    "refused": "http-error:status=429,retry-after=7",
    "hold": "hold-open:ms=300,heartbeat=50",
    "recut": "recut:bytes=3",
}
CUT_AT = 2
HEALTHY = "healthy"


class FaultySockets:
    """Opens sockets through a proxy with every fault; the model of a request selects the fault."""

    def __init__(self, proxies: Proxies, server: SocketServer) -> None:
        """Start the proxy if it does not run yet."""
        faults = [f"{spec},model={name}" for name, spec in SPECS.items()]
        self.tap: Tap = proxies.tap("socket faults")
        upgrade = "http-error:status=503,on=upgrade,path=*/refused/*"
        self._proxy = proxies.get(toolstream_fault=[*faults, upgrade], toolstream_jsonl=str(self.tap.path))
        self._server = server

    def open(self, *, responses: int = 1, folder: str = "") -> tuple[Any, SocketPlan]:
        """Open a socket whose requests all get the same response."""
        planned = self._server.plan(SocketPlan([messages_of(TWO.body)] * responses))
        address = f"wss://127.0.0.1:{self._server.port}{planned.path}{folder}/v1/responses"
        trust = socket_trust(self._proxy.ca)
        return connect(address, proxy=self._proxy.url, ssl=trust), planned


@pytest.fixture(scope="module")
def route(proxies: Proxies, sockets: SocketServer) -> FaultySockets:
    """The shared proxy with an upstream for WebSockets."""
    return FaultySockets(proxies, sockets)


def send(socket: ClientConnection, model: str, **more: str) -> None:
    """Request a response with the fault of that name."""
    socket.send(json.dumps({"type": "response.create", **REQUEST, **more, "model": model}))


def response(socket: ClientConnection) -> list[dict[str, Any]]:
    """The messages up to the end of the response, or to an error."""
    messages: list[dict[str, Any]] = []
    while not messages or messages[-1]["type"] not in {*ENDS, "error"}:
        messages.append(json.loads(socket.recv(timeout=PATIENCE)))
    return messages


@pytest.mark.parametrize("name", ["1000", "1001", "1011", "1006", "reset"])
def test_a_socket_is_closed_with_the_code_or_reset(route: FaultySockets, name: str) -> None:
    """`cut` closes the socket with the given code or without a close frame, after the earlier messages."""
    opened, planned = route.open()
    with opened as socket:
        send(socket, name)
        received = [json.loads(socket.recv(timeout=PATIENCE)) for _ in range(CUT_AT)]
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE)
    assert received == RESPONSE[:CUT_AT]
    code = closed.value.rcvd.code if closed.value.rcvd else None
    assert code == (int(name) if name.isdigit() and name != "1006" else None)
    assert planned.ended.wait(PATIENCE)


def test_errors_in_messages_leave_the_socket_open(route: FaultySockets) -> None:
    """A wrong lane id, an error inside a response and an error instead of a response leave the socket open."""
    opened, planned = route.open(responses=4)
    with opened as socket:
        send(socket, "lane", stream_id="a")
        lanes = [one["stream_id"] for one in response(socket)]
        send(socket, "error", stream_id="b")
        *before, error = response(socket)
        send(socket, "refused", stream_id="c")
        [rejection] = response(socket)
        send(socket, HEALTHY)
        healthy = response(socket)
    assert lanes == ["a"] * CUT_AT + ["other"] + ["a"] * (len(RESPONSE) - CUT_AT - 1)
    assert before == [{**one, "stream_id": "b"} for one in RESPONSE[:CUT_AT]]
    kind = "rate_limit_exceeded"
    details = {"type": kind, "code": kind, "message": "Rate limit reached", "param": None}
    assert error == {"type": "error", "status": 429, "error": details, "stream_id": "b"}
    assert rejection == {**error, "headers": {"retry-after": "7"}, "stream_id": "c"}
    assert healthy == RESPONSE
    assert [one["model"] for one in planned.received] == ["lane", "error", HEALTHY]


def test_an_injected_error_rejects_an_upgrade(route: FaultySockets) -> None:
    """`http-error` with `on=upgrade` rejects the upgrade with an HTTP status."""
    with pytest.raises(InvalidStatus) as rejection:
        route.open(folder="/refused")
    assert rejection.value.response.status_code == 503


def test_hold_open_delays_the_next_response(route: FaultySockets) -> None:
    """`hold-open` delays the next response on a socket, without heartbeats."""
    opened, _ = route.open(responses=2)
    with opened as socket:
        send(socket, "hold")
        assert response(socket) == RESPONSE
        since = time.monotonic()
        send(socket, HEALTHY)
        assert response(socket) == RESPONSE
    assert time.monotonic() - since > 0.25


def test_recut_does_not_change_messages(route: FaultySockets) -> None:
    """`recut` is selected on a socket, but changes nothing."""
    opened, _ = route.open()
    with opened as socket:
        send(socket, "recut")
        assert response(socket) == RESPONSE
    [end] = route.tap.wait_for(
        lambda line: line["type"] == "end" and any(fault["changes"] == 0 for fault in line["record"]["faults"])
    )
    [fault] = end["record"]["faults"]
    assert fault["spec"].startswith("recut")
