"""While a fault delays a response, the proxy stops reading from upstream: it does not buffer the response."""

from __future__ import annotations

import json
import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from websockets.sync.client import connect

from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import Response, Send
from tests.e2e.harness.socket_server import PATIENCE, SocketPlan, SocketServer
from tests.e2e.harness.trust import socket_trust

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

MIB = 1024 * 1024
OFFERED = 64 * MIB
MOST = 24 * MIB
"""The maximum of bytes in the proxy and in the buffers of four sockets."""
MOST_ON_A_SOCKET = MOST + 15 * MIB
"""On a WebSocket the proxy may buffer 16 MiB."""
PLAIN: dict[str, Any] = {"max_size": None, "compression": None}
CHUNK = {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "word " * (MIB // 80)}}]}
EVENT = b"data: " + json.dumps(CHUNK).encode() + b"\n\n"
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


class Generous:
    """Sends a response as fast as possible, and measures how far it gets ahead of the client."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self.sent = self.received = self.ahead = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        peer, _ = self._listener.accept()
        with peer, self._listener:
            while b"\r\n\r\n" not in peer.recv(65536):
                pass
            peer.sendall(HEAD)
            chunk = b"%x\r\n%s\r\n" % (len(EVENT), EVENT)
            while self.sent < OFFERED:
                peer.sendall(chunk)
                self.sent += len(chunk)
                self.ahead = max(self.ahead, self.sent - self.received)
            peer.sendall(b"0\r\n\r\n")
            peer.shutdown(socket.SHUT_WR)
            while peer.recv(65536):  # a socket that is closed with unread data loses the data that it has sent
                pass

    def wait(self) -> None:
        self._thread.join()


@pytest.mark.parametrize("fault", ["stall:ms=1000,at=event:2", "drip:ms=2"])
def test_a_delayed_response_stops_upstream_and_arrives_completely(proxies: Proxies, fault: str) -> None:
    """Over HTTP/1.1 the proxy reads little ahead of the client, and the client receives the complete response."""
    sample, upstream = openai_chat("call_1", "Bern"), Generous()
    with proxies.make({"toolstream_fault": fault, "toolstream_log": "off"}) as proxy:
        head = f"POST http://127.0.0.1:{upstream.port}{sample.path} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        head += f"content-type: application/json\r\ncontent-length: {len(sample.body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", proxy.port)) as peer:
            peer.sendall(head.encode() + sample.body)
            end = b""
            while end != b"\r\n0\r\n\r\n" and (chunk := peer.recv(1 << 20)):
                upstream.received += len(chunk)
                end = (end + chunk)[-7:]
        upstream.wait()
    assert upstream.ahead < MOST
    assert upstream.received >= OFFERED * len(EVENT) // (len(EVENT) + 9)


def test_a_delayed_http2_response_ends_with_an_error(proxies: Proxies, secure: Upstream) -> None:
    """Over HTTP/2 the proxy buffers 16 MiB of a delayed response, then breaks it off and logs the limit."""
    sample = openai_chat("call_1", "Bern")
    options = {"toolstream_fault": "stall:ms=600000,at=event:2", "toolstream_log": "off"}
    with proxies.make(options) as proxy:
        plan = secure.plan(Response((Send(EVENT),) * (OFFERED // len(EVENT))))
        with client("h2", route(proxy, secure)) as connection:
            reply = connection.request(sample.path, sample.body, plan.headers)
            with pytest.raises(BrokenOffError):
                reply.rest()
    assert [line for line in proxy.output if "more than 16 MiB" in line]


class CountedMessages(list[str]):
    """The messages of a response, with a count of how far the server gets ahead of the client."""

    received = ahead = 0
    """Numbers of messages."""

    def __iter__(self) -> Iterator[str]:
        for at, message in enumerate(super().__iter__()):
            self.ahead = max(self.ahead, at - self.received)
            yield message


@pytest.mark.parametrize("fault", ["stall:ms=1000,at=event:2", "drip:ms=4"])
def test_a_delayed_response_on_a_socket_stops_upstream(proxies: Proxies, sockets: SocketServer, fault: str) -> None:
    """On a WebSocket the proxy reads little ahead of the client, and the client receives every message in order."""
    delta = json.dumps({"type": "response.output_text.delta", "output_index": 0, "delta": "word " * (MIB // 80)})
    completed = json.dumps({"type": "response.completed", "response": {"status": "completed", "output": []}})
    messages = CountedMessages([*[delta] * (OFFERED // len(delta)), completed])
    with proxies.make({"toolstream_fault": fault, "toolstream_log": "off"}) as proxy:
        url = f"wss://127.0.0.1:{sockets.port}{sockets.plan(SocketPlan([messages])).path}/v1/responses"
        with connect(url, proxy=proxy.url, ssl=socket_trust(proxy.ca), **PLAIN) as client:
            client.send(json.dumps({"type": "response.create", "model": "m", "input": "go"}))
            for message in messages[:]:
                assert client.recv(PATIENCE) == message
                messages.received += 1
    assert messages.ahead * len(delta) < MOST_ON_A_SOCKET
