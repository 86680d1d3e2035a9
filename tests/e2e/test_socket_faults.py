"""Faults that only a WebSocket has, through the real proxy: how it is closed, and what single messages say."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

from tests.e2e.harness.socket_server import PATIENCE, SocketPlan, SocketServer
from tests.e2e.harness.trust import server_context, socket_trust
from tests.e2e.test_sockets import ENDS, TWO, messages_of
from tests.invariants.healthy import request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from websockets.sync.client import ClientConnection

    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.tap import Tap

pytestmark = pytest.mark.e2e

ANSWER = [json.loads(message) for message in messages_of(TWO.body)]
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


class Way:
    """A client's way to sockets, through a proxy with every fault, each for requests of one model."""

    def __init__(self, proxies: Proxies, server: SocketServer) -> None:
        """Start it where it does not run yet."""
        faults = [f"{spec},model={name}" for name, spec in SPECS.items()]
        self.tap: Tap = proxies.tap("socket faults")
        upgrade = "http-error:status=503,on=upgrade,path=*/refused/*"
        self._proxy = proxies.get(toolstream_fault=[*faults, upgrade], toolstream_jsonl=str(self.tap.path))
        self._server = server

    def open(self, *, responses: int = 1, folder: str = "") -> tuple[Any, SocketPlan]:
        """A socket whose requests all get the same answer."""
        planned = self._server.plan(SocketPlan([messages_of(TWO.body)] * responses))
        address = f"wss://127.0.0.1:{self._server.port}{planned.path}{folder}/v1/responses"
        trust = socket_trust(self._proxy.ca)
        return connect(address, proxy=self._proxy.url, ssl=trust), planned


@pytest.fixture(scope="module")
def route(pem: Path, proxies: Proxies) -> Iterator[Way]:
    """The shared proxy before an upstream that speaks WebSocket."""
    context = server_context(pem)
    context.set_alpn_protocols(["http/1.1"])
    with SocketServer(context) as server:
        yield Way(proxies, server)


def ask(socket: ClientConnection, model: str, **more: str) -> None:
    """Ask for an answer under the fault of that name."""
    socket.send(json.dumps({"type": "response.create", **REQUEST, **more, "model": model}))


def response(socket: ClientConnection) -> list[dict[str, Any]]:
    """The messages until an answer's last one, or an error."""
    got: list[dict[str, Any]] = []
    while not got or got[-1]["type"] not in {*ENDS, "error"}:
        got.append(json.loads(socket.recv(timeout=PATIENCE)))
    return got


@pytest.mark.parametrize("name", ["1000", "1001", "1011", "1006", "reset"])
def test_how_a_socket_is_closed(route: Way, name: str) -> None:
    """With the code that is asked for, or with no close frame; what came before has come."""
    opened, planned = route.open()
    with opened as socket:
        ask(socket, name)
        got = [json.loads(socket.recv(timeout=PATIENCE)) for _ in range(CUT_AT)]
        with pytest.raises(ConnectionClosed) as closed:
            socket.recv(timeout=PATIENCE)
    assert got == ANSWER[:CUT_AT]
    code = closed.value.rcvd.code if closed.value.rcvd else None
    assert code == (int(name) if name.isdigit() and name != "1006" else None)
    assert planned.ended.wait(PATIENCE)


def test_messages_that_say_what_is_wrong(route: Way) -> None:
    """One socket outlives them all: another lane's id, an error in mid-answer, an error instead of one."""
    opened, planned = route.open(responses=4)
    with opened as socket:
        ask(socket, "lane", stream_id="a")
        lanes = [one["stream_id"] for one in response(socket)]
        ask(socket, "error", stream_id="b")
        *before, error = response(socket)
        ask(socket, "refused", stream_id="c")
        [rejection] = response(socket)
        ask(socket, HEALTHY)
        healthy = response(socket)
    assert lanes == ["a"] * CUT_AT + ["other"] + ["a"] * (len(ANSWER) - CUT_AT - 1)
    assert before == [{**one, "stream_id": "b"} for one in ANSWER[:CUT_AT]]
    kind = "rate_limit_exceeded"
    said = {"type": kind, "code": kind, "message": "Rate limit reached", "param": None}
    assert error == {"type": "error", "status": 429, "error": said, "stream_id": "b"}
    assert rejection == {**error, "headers": {"retry-after": "7"}, "stream_id": "c"}
    assert healthy == ANSWER
    assert [one["model"] for one in planned.received] == ["lane", "error", HEALTHY]


def test_a_request_to_open_a_socket_is_refused(route: Way) -> None:
    """With an HTTP status."""
    with pytest.raises(InvalidStatus) as rejection:
        route.open(folder="/refused")
    assert rejection.value.response.status_code == 503


def test_nothing_comes_on_a_socket_that_is_held(route: Way) -> None:
    """The next answer waits; there are no comments on a socket."""
    opened, _ = route.open(responses=2)
    with opened as socket:
        ask(socket, "hold")
        assert response(socket) == ANSWER
        since = time.monotonic()
        ask(socket, HEALTHY)
        assert response(socket) == ANSWER
    assert time.monotonic() - since > 0.25


def test_messages_cannot_be_cut_anew(route: Way) -> None:
    """The fault is drawn, and finds nothing to act on."""
    opened, _ = route.open()
    with opened as socket:
        ask(socket, "recut")
        assert response(socket) == ANSWER
    [end] = route.tap.wait_for(
        lambda one: one["type"] == "end" and any(fault["changes"] == 0 for fault in one["record"]["faults"])
    )
    [fault] = end["record"]["faults"]
    assert fault["spec"].startswith("recut")
