"""After an internal error in the delivery of a response, its client gets the response or an error, and never hangs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from websockets.sync.client import connect

from tests.e2e.harness.changes import sample_stream
from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import HERE, Proxies, client, route
from tests.e2e.harness.samples import JSON, MAKERS, openai_chat
from tests.e2e.harness.script import Response, Send
from tests.e2e.harness.socket_server import PATIENCE, SocketPlan, SocketServer
from tests.e2e.harness.trust import socket_trust
from tests.e2e.test_sockets import TWO, messages_of
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.packaged import addon_script

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

VERSIONS = pytest.mark.parametrize("version", ["h1", "h2"])
SCRIPTS = (addon_script(), HERE / "saboteur.py")
DESTREAMING = [
    "toolstream_core.proxy.deliveries:Deliveries._fetch",
    "toolstream_core.proxy.delivery:Delivery._next",
    "toolstream_core.proxy.delivery:Delivery._next_chunk",
    "toolstream_core.proxy.delivery:Delivery._read",
]
STREAMING = [
    "toolstream_core.proxy.delivery:Delivery._next",
    "toolstream_core.delivery.schedule:Schedule.begin",
    "toolstream_core.delivery.schedule:Schedule._cut",
    "toolstream_core.proxy.deliveries:Deliveries._close",
]


@pytest.fixture(scope="module")
def destreaming(proxies: Proxies) -> Iterator[Mitmdump]:
    """A proxy with `destream`, in which a request can make a function fail."""
    with proxies.make({"toolstream_shape": "destream"}, scripts=SCRIPTS) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def dripping(proxies: Proxies) -> Iterator[Mitmdump]:
    """A proxy that delays every event, in which a request can make a function fail."""
    with proxies.make({"toolstream_fault": "drip:ms=1"}, scripts=SCRIPTS) as proxy:
        yield proxy


def received(
    proxy: Mitmdump, upstream: Upstream, version: str, sample: Sample, response: Response, place: str = ""
) -> bytes | None:
    """The body that the client receives; `None` if the connection breaks."""
    plan = upstream.plan(response)
    headers = plan.headers | ({"x-sabotage": place} if place else {})
    with client(version, route(proxy, upstream)) as connection:
        try:
            return connection.request(sample.path, sample.body, headers).rest()
        except (BrokenOffError, ConnectionError):
            return None


@VERSIONS
def test_a_response_with_an_odd_status_becomes_a_stream(destreaming: Mitmdump, secure: Upstream, version: str) -> None:
    """With `destream`, a response whose status is not a string becomes a stream."""
    sample = MAKERS["openai-responses"]("call_1", "Bern")
    odd = json.dumps({**json.loads(sample.unstreamed_response_body), "status": []}).encode()
    body = received(destreaming, secure, version, sample, Response((Send(odd),), content_type=JSON))
    assert body is not None
    record = read_body([body], StreamFacts(path=sample.path, content_type=sample.content_type))
    assert record is not None
    assert [call.name for call in record.calls] == ["get_weather"]


@VERSIONS
@pytest.mark.parametrize("protocol", MAKERS)
def test_an_error_while_streaming_forwards_the_response_unchanged(
    destreaming: Mitmdump, secure: Upstream, version: str, protocol: str
) -> None:
    """After an error while `destream` makes a stream, the client gets the response as upstream sent it."""
    sample = MAKERS[protocol]("call_1", "Bern")
    place = "toolstream_core.protocols.protocol:WireProtocol.streamed"
    mark = len(destreaming.output)
    response = Response((Send(sample.unstreamed_response_body),), content_type=JSON)
    assert received(destreaming, secure, version, sample, response, place) == sample.unstreamed_response_body
    destreaming.wait_for("toolstream stopped reading", after=mark)


@VERSIONS
@pytest.mark.parametrize("place", DESTREAMING)
def test_an_error_while_destreaming_disconnects(
    destreaming: Mitmdump, secure: Upstream, version: str, place: str
) -> None:
    """After an error in the delivery of a destreamed response the connection breaks: no part looks complete."""
    sample = openai_chat("call_1", "Bern")
    mark = len(destreaming.output)
    response = Response((Send(sample.unstreamed_response_body),), content_type=JSON)
    assert received(destreaming, secure, version, sample, response, place) is None
    destreaming.wait_for("toolstream stopped reading", after=mark)
    assert not [line for line in destreaming.output[mark:] if "crashed" in line or "Traceback" in line]


@VERSIONS
@pytest.mark.parametrize("place", STREAMING)
def test_an_error_while_delaying_loses_nothing(dripping: Mitmdump, secure: Upstream, version: str, place: str) -> None:
    """After an error in the delivery of a delayed stream the client gets every byte in order, and the end."""
    sample = openai_chat("call_1", "Bern")
    mark = len(dripping.output)
    assert received(dripping, secure, version, sample, sample_stream(sample), place) == b"".join(sample.chunks)
    assert not [line for line in dripping.output[mark:] if "crashed" in line]


ON_A_SOCKET = [
    "toolstream_core.proxy.sockets.sockets:Sockets._begin#1",
    "toolstream_core.proxy.sockets.sockets:Sockets._close#1",
    "toolstream_core.proxy.sockets.relay:SocketRelay.take#1",
    "toolstream_core.proxy.sockets.relay:SocketRelay.take#4",
    "toolstream_core.proxy.sockets.relay:SocketRelay.advance#4",
    "toolstream_core.proxy.sockets.response:SocketResponse.take#3",
    "toolstream_core.proxy.sockets.response:SocketResponse.advance#4",
    "toolstream_core.proxy.sockets.response:SocketResponse.end#1",
    "toolstream_core.proxy.live_response:LiveResponse.stream#3",
    "toolstream_core.proxy.live_response:LiveResponse.finish#1",
    "toolstream_core.proxy.delivery:Delivery._next#5",
    "toolstream_core.delivery.schedule:Schedule._cut#3",
    "toolstream_core.engine.session:Session.feed_frames#3",
    "toolstream_core.sockets.lanes:Lanes.read_request#1",
    "toolstream_core.sockets.lanes:Lanes.read_event#3",
    "toolstream_core.sockets.lines:Messages.line#3",
]


@pytest.fixture(scope="module")
def on_sockets(proxies: Proxies, sockets: SocketServer) -> Iterator[tuple[Mitmdump, SocketServer]]:
    """A proxy that delays every event and re-encodes calls as complete calls, and an upstream."""
    options = {"toolstream_fault": "drip:ms=5", "toolstream_shape": "whole-calls"}
    with proxies.make(options, scripts=SCRIPTS) as proxy:
        yield proxy, sockets


@pytest.mark.parametrize("place", ["", *ON_A_SOCKET])
def test_a_socket_loses_no_message(on_sockets: tuple[Mitmdump, SocketServer], place: str) -> None:
    """After an error on a socket the client gets all messages, also withheld ones, and the socket works on."""
    proxy, server = on_sockets
    messages: list[str] = []
    mark, sent = len(proxy.output), messages_of(TWO.body)
    planned = server.plan(SocketPlan([sent, sent[:1]]))
    url = f"wss://127.0.0.1:{server.port}{planned.path}/v1/responses"
    headers = {"x-sabotage": place} if place else {}
    with connect(url, proxy=proxy.url, ssl=socket_trust(proxy.ca), additional_headers=headers) as socket:
        socket.send(json.dumps({"type": "response.create", "model": "m", "input": "go"}))
        while json.loads((messages or ["{}"])[-1]).get("type") != "response.completed":
            messages.append(socket.recv(PATIENCE, decode=True))
        socket.send(json.dumps({"type": "response.create", "model": "m", "input": "go on"}))
        assert json.loads(socket.recv(PATIENCE))["type"] == "response.created"
    assert arguments_of(messages) == arguments_of(sent)
    assert planned.ended.wait(PATIENCE)
    if place:
        proxy.wait_for(r"\] toolstream stopped reading", after=mark)
    errors = [line for line in proxy.output[mark:] if "] toolstream stopped reading" in line]
    assert len(errors) == (1 if place else 0)
    assert not [line for line in proxy.output[mark:] if "crashed" in line or "Traceback" in line]


def arguments_of(messages: list[str]) -> dict[str, str]:
    """The arguments of each call, joined."""
    found: dict[str, str] = {}
    for message in map(json.loads, messages):
        if message["type"] == "response.function_call_arguments.delta":
            found[message["item_id"]] = found.get(message["item_id"], "") + message["delta"]
    return found
