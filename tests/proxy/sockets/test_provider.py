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

if TYPE_CHECKING:
    from toolstream_core.proxy.flow_facts import Provided
    from toolstream_core.sockets.saved import SavedMessage

[WIRE] = (wire for wire in SOCKETS if wire.claims(conversation.PATH))


def upgrade(path: str = conversation.PATH, **headers: str) -> http.HTTPFlow:
    """A request to open a socket; the key and what accepts it are those of RFC 6455, section 1.3."""
    flow = tflow.twebsocketflow()
    flow.request.path = path
    flow.request.headers["sec-websocket-key"] = "dGhlIHNhbXBsZSBub25jZQ=="
    for name, value in headers.items():
        flow.request.headers[f"sec-websocket-{name}"] = value
    flow.response = flow.websocket = None
    return flow


def fixtures(*messages: SavedMessage) -> list[LlmFlow]:
    """The answers of a saved socket."""
    found = [read_flow(one.flow, "a") for one in socket_flows(socket(messages)) or ()]
    return [one for one in found if one is not None]


def answered(provider: SocketProvider, lane: str = "", **more: Any) -> tuple[Provided, http.HTTPFlow]:
    """What comes for a request on a lane, and the request's flow."""
    body = {key: value for key, value in conversation.request(**more).items() if key != "type"}
    flow = response_flow(upgrade(), SocketRequest(lane, {**body, "stream": True}), 1)
    return provider.respond(flow, SocketLane(WIRE, lane)), flow


@pytest.fixture
def saved() -> SocketProvider:
    """One that has two answers of one socket."""
    return SocketProvider(Provider(fixtures(*conversation.two_answers())), 1.0)


@pytest.mark.parametrize(
    ("extensions", "agreed"),
    [
        ("permessage-deflate; client_max_window_bits", "permessage-deflate"),
        ("x, permessage-deflate", "permessage-deflate"),
        ("permessage-deflate; server_max_window_bits=10", None),
        ("permessage-deflate; server_no_context_takeover", None),
        ("x-webkit-deflate-frame", None),
    ],
)
def test_a_socket_is_opened_as_it_was_asked_for(saved: SocketProvider, extensions: str, agreed: str | None) -> None:
    """Compressed where the client offers that and demands nothing that is not done; with its first subprotocol."""
    flow = upgrade(extensions=extensions, protocol="realtime, other")
    assert saved.accept(flow)
    assert flow.response is not None
    headers = flow.response.headers
    assert (flow.response.status_code, headers["upgrade"]) == (101, "websocket")
    assert headers["sec-websocket-accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
    assert headers.get("sec-websocket-extensions") == agreed
    assert headers["sec-websocket-protocol"] == "realtime"
    assert "content-length" not in headers


def test_nothing_else_is_opened(saved: SocketProvider) -> None:
    """No socket of another API, and no request for a page."""
    other, page = upgrade("/chat"), upgrade()
    del page.request.headers["upgrade"]
    for flow in (other, page):
        assert not saved.accept(flow)
        assert flow.response is None


def test_a_saved_answer_comes_as_it_was(saved: SocketProvider) -> None:
    """Its messages and their times; on the lane on which it is asked for."""
    messages = [one.data + b"\n" for one in conversation.two_answers() if not one.from_client]
    got, flow = answered(saved)
    assert [chunk.data for chunk in got.chunks] == messages[: len(got.chunks)]
    assert [chunk.after for chunk in got.chunks] == [10 * at for at in range(len(got.chunks))]
    assert flow.metadata[REPLAY]["answer"] == "exact"
    assert "toolstream" not in flow.metadata
    assert flow.response is not None
    assert flow.response.headers["content-type"] == "application/x-ndjson"
    elsewhere, _ = answered(saved, "b")
    assert {json.loads(chunk.data)["stream_id"] for chunk in elsewhere.chunks} == {"b"}


def test_a_warm_up_is_answered_without_output_where_none_was_saved(saved: SocketProvider) -> None:
    """A saved one comes as it was, and is never the answer to a request that wants output."""
    made, _ = answered(saved, "a", generate=False)
    kinds = [json.loads(chunk.data)["type"] for chunk in made.chunks]
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    assert json.loads(made.chunks[-1].data)["response"]["output"] == []
    asked = conversation.request(generate=False)
    warm = [{"type": "response.completed", "response": {"id": "resp_warm", "output": []}}]
    recorded = Provider(fixtures(*conversation.messages(asked, *warm), *conversation.two_answers()))
    got, _ = answered(SocketProvider(recorded, 0.0), generate=False)
    assert [json.loads(chunk.data) for chunk in got.chunks] == warm
    other, _ = answered(SocketProvider(recorded, 0.0), model="other")
    assert "resp_warm" not in str(other)


def test_an_answer_that_was_saved_whole_comes_as_its_events() -> None:
    """A strict provider gives the one that was recorded for an equal request."""
    body = {key: value for key, value in conversation.request().items() if key != "type"}
    flow = response_flow(upgrade(), SocketRequest("", body), 1)
    assert CallProvider.load(["calls:get_weather {}"], 0).respond(flow)
    fixture = read_flow(flow, "a")
    assert fixture is not None
    assert not fixture.record.streamed
    whole = SocketProvider(Provider([fixture], strict=True), 0.0)
    got, response = answered(whole)
    assert json.loads(got.chunks[-1].data)["response"]["output"][0]["name"] == "get_weather"
    assert response.metadata[REPLAY]["answer"] == "exact"
    refused, response = answered(whole, model="other")
    assert json.loads(refused.chunks[0].data)["status"] == 404
    assert response.metadata[REPLAY]["answer"] == "refused"


def test_an_error_that_was_saved_is_a_message() -> None:
    """With its status, what it said, and when to come again."""
    flow = response_flow(upgrade(), SocketRequest("", {"model": "gpt-5", "input": "hi", "stream": True}), 1)
    said = {"error": {"message": "slow down", "type": "rate_limit_error"}}
    flow.response = http.Response.make(429, json.dumps(said), {"content-type": "application/json", "retry-after": "3"})
    fixture = read_flow(flow, "a")
    assert fixture is not None
    got, _ = answered(SocketProvider(Provider([fixture]), 0.0), "a")
    [message] = [json.loads(chunk.data) for chunk in got.chunks]
    assert message == {"type": "error", "status": 429, "headers": {"retry-after": "3"}, **said, "stream_id": "a"}


def test_a_call_with_a_result_is_followed_by_a_final_text() -> None:
    """On a socket too, where the server keeps the conversation; a loop is ended with an error."""
    call = fixtures(*conversation.two_answers())[0]
    provider = SocketProvider(Provider([call], repeats=2), 0.0)
    for expected in (None, None, 404):
        got, _ = answered(provider)
        assert json.loads(got.chunks[-1].data).get("status") == expected
    brought = {"type": "function_call_output", "call_id": call.record.calls[0].id, "output": "sunny"}
    got, flow = answered(provider, input=[brought], previous_response_id="resp_1")
    assert flow.metadata[REPLAY]["answer"] == "finished"
    said = [json.loads(chunk.data) for chunk in got.chunks]
    assert (said[0]["type"], said[-1]["type"]) == ("response.created", "response.completed")
    assert [item["type"] for item in said[-1]["response"]["output"]] == ["message"]
