from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import http
from mitmproxy.test import tflow

from tests.saved.test_sockets import socket
from tests.sockets import conversation
from toolstream_core.protocols.registry import SOCKETS
from toolstream_core.protocols.socket_wire import SocketLane, SocketRequest
from toolstream_core.proxy.flow_facts import REPLAY
from toolstream_core.proxy.provider import CallProvider, Provider
from toolstream_core.proxy.sockets.provider import SocketProvider
from toolstream_core.saved.flow import LlmFlow, read_flow
from toolstream_core.saved.flowfile import response_flow, socket_flows
from toolstream_core.synthetic.responses import SyntheticProvider, parse_calls

if TYPE_CHECKING:
    from toolstream_core.proxy.flow_facts import Provided
    from toolstream_core.sockets.saved import SavedMessage

[WIRE] = (wire for wire in SOCKETS if wire.claims(conversation.PATH))


def upgrade(path: str = conversation.PATH, **headers: str) -> http.HTTPFlow:
    """Return a request to open a socket; its key and the expected reply are those of RFC 6455, section 1.3."""
    flow = tflow.twebsocketflow()
    flow.request.path = path
    flow.request.headers["sec-websocket-key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    for name, value in headers.items():
        flow.request.headers[f"sec-websocket-{name}"] = value
    flow.response = flow.websocket = None
    return flow


def fixtures(*messages: SavedMessage) -> list[LlmFlow]:
    """Return the responses of a saved socket."""
    fixtures_ = [read_flow(response.flow, "a") for response in socket_flows(socket(messages)) or ()]
    return [fixture for fixture in fixtures_ if fixture is not None]


def response_to(provider: SocketProvider, lane: str = "", **more: Any) -> tuple[Provided, http.HTTPFlow]:
    """Return the response to a request on a lane, and the request's flow."""
    body = {key: value for key, value in conversation.request(**more).items() if key != "type"}
    flow = response_flow(upgrade(), SocketRequest(lane, {**body, "stream": True}), 1)
    return provider.respond(flow, SocketLane(WIRE, lane)), flow


@pytest.fixture
def provider() -> SocketProvider:
    """Return a provider with two responses of one socket."""
    return SocketProvider(Provider(fixtures(*conversation.two_responses())), 1.0)


@pytest.mark.parametrize(
    ("offered", "accepted"),
    [
        ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
        ("x, permessage-deflate", "permessage-deflate"),
        ("permessage-deflate; server_max_window_bits=10", None),
        ("permessage-deflate; server_no_context_takeover", None),
        ("x-webkit-deflate-frame", None),
    ],
)
def test_a_socket_is_opened_with_the_offered_features(
    provider: SocketProvider, offered: str, accepted: str | None
) -> None:
    """The provider accepts the first subprotocol and compression without parameters that it does not support."""
    flow = upgrade(extensions=offered, protocol="realtime, other")
    assert provider.accept(flow)
    assert flow.response is not None
    headers = flow.response.headers
    assert (flow.response.status_code, headers["upgrade"]) == (101, "websocket")
    assert headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert headers.get("sec-websocket-extensions") == accepted
    assert headers["sec-websocket-protocol"] == "realtime"
    assert "content-length" not in headers


def test_other_requests_are_not_accepted(provider: SocketProvider) -> None:
    """Neither a socket of another API nor an ordinary request is accepted."""
    other, page = upgrade("/chat"), upgrade()
    del page.request.headers["upgrade"]
    for flow in (other, page):
        assert not provider.accept(flow)
        assert flow.response is None


def test_a_saved_response_is_replayed(provider: SocketProvider) -> None:
    """Its messages are sent at their times and on the lane of the request."""
    messages = [message.data + b"\n" for message in conversation.two_responses() if not message.from_client]
    response, flow = response_to(provider)
    assert [chunk.data for chunk in response.chunks] == messages[: len(response.chunks)]
    assert [chunk.after for chunk in response.chunks] == [10 * at for at in range(len(response.chunks))]
    assert flow.metadata[REPLAY]["answer"] == "exact"
    assert "toolstream" not in flow.metadata
    assert flow.response is not None
    assert flow.response.headers["content-type"] == "application/x-ndjson"
    elsewhere, _ = response_to(provider, "b")
    assert {json.loads(chunk.data)["stream_id"] for chunk in elsewhere.chunks} == {"b"}


def test_a_warm_up_request(provider: SocketProvider) -> None:
    """A warm-up gets its saved response or one without output; a saved warm-up answers no other request."""
    generated, _ = response_to(provider, "a", generate=False)
    kinds = [json.loads(chunk.data)["type"] for chunk in generated.chunks]
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert json.loads(generated.chunks[-1].data)["response"]["output"] == []
    warm_up = conversation.request(generate=False)
    warm = [{"type": "response.completed", "response": {"id": "resp_warm", "output": []}}]
    recorded = Provider(fixtures(*conversation.messages(warm_up, *warm), *conversation.two_responses()))
    response, _ = response_to(SocketProvider(recorded, 0.0), generate=False)
    assert [json.loads(chunk.data) for chunk in response.chunks] == warm
    other, _ = response_to(SocketProvider(recorded, 0.0), model="other")
    assert "resp_warm" not in str(other)


def test_an_unstreamed_saved_response_is_sent_as_events() -> None:
    """A strict provider sends it only for an equal request."""
    body = {key: value for key, value in conversation.request().items() if key != "type"}
    flow = response_flow(upgrade(), SocketRequest("", body), 1)
    CallProvider(SyntheticProvider(parse_calls(["calls:get_weather {}"]))).respond(flow)
    fixture = read_flow(flow, "a")
    assert fixture is not None
    assert not fixture.record.streamed
    strict = SocketProvider(Provider([fixture], strict=True), 0.0)
    response, flow = response_to(strict)
    assert json.loads(response.chunks[-1].data)["response"]["output"][0]["name"] == "get_weather"
    assert flow.metadata[REPLAY]["answer"] == "exact"
    refused, flow = response_to(strict, model="other")
    assert json.loads(refused.chunks[0].data)["status"] == 404
    assert flow.metadata[REPLAY]["answer"] == "refused"


def test_a_saved_http_error_is_sent_as_a_message() -> None:
    """The message has the status, the error and the retry-after header."""
    flow = response_flow(upgrade(), SocketRequest("", {"model": "gpt-5", "input": "hi", "stream": True}), 1)
    error = {"error": {"message": "slow down", "type": "rate_limit_error"}}
    flow.response = http.Response.make(429, json.dumps(error), {"content-type": "application/json", "retry-after": "3"})
    fixture = read_flow(flow, "a")
    assert fixture is not None
    response, _ = response_to(SocketProvider(Provider([fixture]), 0.0), "a")
    [message] = [json.loads(chunk.data) for chunk in response.chunks]
    assert message == {"type": "error", "status": 429, "headers": {"retry-after": "3"}, **error, "stream_id": "a"}


def test_a_call_with_a_result_is_followed_by_a_final_text() -> None:
    """A result on a socket with server-side state gets a final text, and repeated requests get an error."""
    call = fixtures(*conversation.two_responses())[0]
    provider = SocketProvider(Provider([call], repeats=2), 0.0)
    for expected in (None, None, 404):
        response, _ = response_to(provider)
        assert json.loads(response.chunks[-1].data).get("status") == expected
    result = {"type": "function_call_output", "call_id": call.record.calls[0].id, "output": "sunny"}
    response, flow = response_to(provider, input=[result], previous_response_id="resp_1")
    assert flow.metadata[REPLAY]["answer"] == "finished"
    payloads = [json.loads(chunk.data) for chunk in response.chunks]
    assert (payloads[0]["type"], payloads[-1]["type"]) == ("response.created", "response.completed")
    assert [item["type"] for item in payloads[-1]["response"]["output"]] == ["message"]
