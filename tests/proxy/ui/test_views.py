"""The content views of LLM responses, requests and WebSocket messages."""

from __future__ import annotations

import json
import random
import threading
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from mitmproxy import contentviews
from mitmproxy import flow as mitmflow
from mitmproxy.addons.next_layer import NextLayer
from mitmproxy.test import taddons, tflow
from mitmproxy.websocket import WebSocketMessage
from wsproto.frame_protocol import Opcode

from tests.conftest import FLOWS
from tests.proxy.flows import CHUNK, DONE, SECRET, flows_in, llm_flow
from tests.proxy.ui.interfaces import Interface
from tests.saved.test_sockets import socket
from tests.sockets import conversation
from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.proxy.ui import facts, known
from toolstream_core.proxy.ui.text import WIDTH

if TYPE_CHECKING:
    from pathlib import Path

    from mitmproxy import http

    from toolstream_core.saved.exchange import Exchange

OTHER_BODIES = {
    "application/json": b'{"a": 1}',
    "text/event-stream": b'data: hello\n\ndata: {"a":1}\n\n',
    "text/html": b"<html><body>x</body></html>",
    "image/png": b"\x89PNG\r\n\x1a\n\x00\x00",
    "application/octet-stream": bytes(range(256)),
}

INVALID_BYTES = (b"\x00", b'"', b"{", b"\xff\xfe", b"\n\n", b"[" * 2000)


def response_flow(body: bytes, *messages: Any, content_type: str = "text/event-stream") -> http.HTTPFlow:
    """Return a saved chat flow with this response body."""
    flow = llm_flow(content_type, body, messages=[{"role": "user", "content": "go"}, *messages])
    flow.live = False
    return flow


def returned_call(identity: str, arguments: str) -> dict[str, Any]:
    """Return the message of a client that returns a call."""
    function = {"name": "ls", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": identity, "type": "function", "function": function}],
    }


@pytest.mark.parametrize("path", sorted(FLOWS.glob("*.flow")), ids=lambda path: path.stem)
def test_streams_are_shown_as_calls_or_events(mitm: Interface, path: Path, caplog: Any) -> None:
    """A stream with calls or findings is shown as calls; no view fails, and each line fits into mitmweb."""
    for flow in mitm.load(path):
        assert flow.response is not None
        shown_response = mitm.result(flow, flow.response)
        read = mitm.addon.interface.known.facts(flow)
        assert read is not None
        expected = "Tool calls" if read.record.calls or read.record.findings else "Events"
        assert shown_response.view_name == (expected if read.record.streamed else "JSON")
        text = mitm.text(flow, flow.response, "tool calls")
        assert text.startswith("verdict: ")
        assert all(0 < len(line) <= WIDTH for line in text.splitlines())
        for call in read.record.calls:
            assert f"intended: {call.arguments[:12] or '(empty)'}" in text
        events = mitm.text(flow, flow.response, "events").splitlines()
        assert 0 < len(events) <= len(read.events) + 2 * len(read.record.findings)
    assert "toolstream cannot show" not in caplog.text


@pytest.mark.parametrize("content_type", OTHER_BODIES)
def test_other_messages_are_shown_by_mitmproxy(mitm: Interface, content_type: str) -> None:
    """Other messages look as without toolstream, and toolstream's views show their body."""
    body = OTHER_BODIES[content_type]
    for flow in (response_flow(body, content_type=content_type), tflow.tflow(resp=True)):
        flow.request.path = "/other"
        assert flow.response is not None
        flow.response.headers["content-type"] = content_type
        flow.response.content = body
        assert mitm.result(flow, flow.response).view_name not in {"Tool calls", "Events"}
        assert mitm.result(flow, flow.request).view_name not in {"Tool calls", "Events"}
        assert mitm.text(flow, flow.response, "events")


def test_a_misread_response_is_shown_with_its_verdict(mitm: Interface) -> None:
    """The response and the next request show the verdict first, then its cause and its fix."""
    first = response_flow(CHUNK + DONE)
    second = response_flow(
        DONE, returned_call("c1", '{"x":1}'), {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    )
    mitm.pass_through(first, second)
    response = mitm.text(first, first.response).splitlines()
    assert response[0].startswith("verdict: The client returned call 0 ls with other arguments (wrong-arguments)")
    assert "cause: no client bug that toolstream knows has this effect" in response
    assert not any(line.startswith("fix: ") for line in response)
    assert "  intended: {}" in response
    assert '  returned: {"x":1}' in response
    request = mitm.result(second, second.request)
    assert request.view_name == "Tool calls"
    assert request.text.splitlines()[0] == response[0]
    assert f"response: flow {first.id}" in request.text
    assert '  returned: {"x":1}' in request.text.splitlines()


def test_a_loaded_capture_is_compared_with_the_sent_response(mitm: Interface) -> None:
    """A capture has the sent response if it differs from the provider's."""
    first = response_flow(CHUNK + DONE)
    first.metadata["toolstream"] = {"sent": {"body": CHUNK.replace(b'"{}"', b'"{\\"x\\":1}"') + DONE}}
    second = response_flow(
        DONE, returned_call("c1", '{"x":1}'), {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    )
    mitm.pass_through(first, second)
    lines = mitm.text(first, first.response).splitlines()
    assert lines[0] == "verdict: The client read call 0 ls as sent (ok)"
    assert '  received: {"x":1}' in lines


def test_a_loaded_truncated_response_is_shown_as_truncated(mitm: Interface) -> None:
    """The text has the error of the connection."""
    flow = response_flow(CHUNK)
    flow.error = mitmflow.Error("peer closed connection")
    mitm.pass_through(flow)
    assert "truncated: peer closed connection" in mitm.text(flow, flow.response).replace("\n    ", " ")
    assert (flow.marked, flow.comment) == (":warning:", "truncated-stream at event 0")


def test_a_request_with_correct_calls_is_shown_as_json(mitm: Interface) -> None:
    """The view of calls can be selected."""
    first = response_flow(CHUNK + DONE)
    second = response_flow(DONE, returned_call("c1", "{}"), {"role": "tool", "tool_call_id": "c1", "content": "ok"})
    mitm.pass_through(first, second)
    assert mitm.result(second, second.request).view_name == "JSON"
    assert "returned: as intended" in mitm.text(second, second.request, "tool calls")


def test_secrets_are_not_shown(mitm: Interface) -> None:
    """Secrets are hidden in arguments, texts and bodies."""
    body = CHUNK.replace(b'"arguments":"{}"', json.dumps({"arguments": json.dumps({"key": SECRET})})[1:-1].encode())
    flow = response_flow(body + DONE)
    mitm.pass_through(flow)
    for view in ("tool calls", "events"):
        assert SECRET not in mitm.text(flow, flow.response, view)
        assert SECRET not in mitm.text(flow, flow.request, view)
    other = response_flow(f"<b>{SECRET}</b>".encode(), content_type="text/html")
    other.request.path = "/x"
    assert SECRET not in mitm.text(other, other.response, "events")


@pytest.mark.parametrize("seed", range(40))
def test_corrupt_bodies_are_shown(mitm: Interface, seed: int, caplog: Any) -> None:
    """A truncated or corrupt stream raises nothing."""
    randomness = random.Random(seed)
    path = randomness.choice(sorted(FLOWS.glob("*.flow")))
    flow = flows_in(path)[0]
    assert flow.response is not None
    assert flow.response.raw_content is not None
    body = bytearray(flow.response.raw_content)
    for _ in range(randomness.randrange(1, 30)):
        at = randomness.randrange(len(body))
        body[at : at + randomness.choice((0, 1, 7))] = randomness.choice(
            (b"\x00", b'"', b"{", b"\xff\xfe", b"\n\n", b"[" * 2000)
        )
    flow.response.raw_content = bytes(body)
    for message in (flow.request, flow.response):
        for view in ("auto", "tool calls", "events"):
            assert "Couldn't parse" not in mitm.text(flow, message, view)
    assert "toolstream cannot show" not in caplog.text


def test_a_view_that_fails_shows_the_body(mitm: Interface, caplog: Any) -> None:
    """One error is logged."""
    flow = response_flow(CHUNK + DONE)
    with patch.object(known, "facts_of", side_effect=RuntimeError("x")):
        text = mitm.text(flow, flow.response, "events")
    assert text.startswith("data: ")
    assert f"toolstream cannot show flow {flow.id}" in caplog.text


def test_each_message_of_a_socket_is_shown(mitm: Interface) -> None:
    """A message is shown as its event, and the last message of a response shows its calls."""
    flow = socket(conversation.two_responses())
    assert flow.websocket is not None
    results = [mitm.result(flow, message) for message in flow.websocket.messages]
    names = [result.view_name for result in results]
    last = next(at for at, message in enumerate(flow.websocket.messages) if b"response.completed" in message.content)
    assert names[0] == "Raw"
    assert names[last] == "Tool calls"
    assert "call 0: get_weather" in results[last].text
    assert set(names[1:last]) == {"Events"}
    assert all(result.text.count("\n") == 1 for result in results[1:last])
    assert any('arguments="' in result.text for result in results[1:last])


def test_a_live_socket_is_shown_with_its_verdict(mitm: Interface) -> None:
    """The end of the response and the client's next message show the verdict, and the flow is marked."""
    first = conversation.request()
    calls = conversation.response_to(first)
    call_item = {**calls[-1]["response"]["output"][0], "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": call_item["call_id"], "output": "sunny"}
    second = conversation.request(input=[*first["input"], call_item, result])
    flow = tflow.twebsocketflow()
    flow.request.path, flow.live = conversation.PATH, True
    assert flow.websocket is not None
    flow.websocket.messages.clear()
    mitm.view.add([flow])
    mitm.addon.websocket_start(flow)
    for saved in conversation.messages(first, *calls, second, *conversation.response_to(second)):
        flow.websocket.messages.append(WebSocketMessage(Opcode.TEXT, saved.from_client, saved.data))
        mitm.addon.websocket_message(flow)
    mitm.addon.verdicts.close()
    assert flow.marked == ":x:"
    assert flow.comment.startswith("returned-without-arguments")
    results = [mitm.result(flow, message) for message in flow.websocket.messages]
    with_verdict = [
        place
        for place, result in enumerate(results)
        if "without arguments (returned-" in result.text.replace("\n   ", "")
    ]
    assert with_verdict == [len(calls), len(calls) + 1]


def test_other_sockets_are_shown_by_mitmproxy(mitm: Interface) -> None:
    """A socket that is not from an LLM is shown raw."""
    flow = tflow.twebsocketflow()
    assert flow.websocket is not None
    assert {mitm.result(flow, message).view_name for message in flow.websocket.messages} == {"Raw"}


def test_a_response_is_read_once(mitm: Interface) -> None:
    """Showing a response again does not read it again; 5,000 events take longer to read than to write."""
    flow = response_flow(CHUNK * 5000 + DONE)
    assert flow.response is not None
    with patch.object(known, "facts_of", wraps=facts.facts_of) as reading:
        for _ in range(3):
            assert len(mitm.text(flow, flow.response, "events").splitlines()) >= 5000
            mitm.text(flow, flow.response, "tool calls")
    assert reading.call_count == 1
    flow.response.content = CHUNK + DONE
    assert len(mitm.text(flow, flow.response, "events").splitlines()) == 4


def test_a_long_response_is_read_before_it_is_shown(mitm: Interface) -> None:
    """A long response is read in a thread, which does not block other streams."""
    threads: list[str] = []

    def reading(saved: Exchange) -> facts.Facts | None:
        threads.append(threading.current_thread().name)
        return facts.facts_of(saved)

    long, short = response_flow(CHUNK * 500 + DONE), response_flow(CHUNK + DONE)
    with patch.object(known, "facts_of", reading):
        mitm.pass_through(long, short)
        mitm.addon.interface.known._reader.submit(int).result()
        assert "call 0: ls" in mitm.text(long, long.response)
        assert [name.startswith("toolstream-reads") for name in threads] == [True]
        mitm.text(short, short.response)
        assert len(threads) == 2


def test_nothing_is_added_without_an_interface() -> None:
    """Mitmdump has only its own views."""
    before = set(contentviews.registry)
    addon = ToolstreamAddon()
    with taddons.context(NextLayer(), addon):
        addon.running()
        assert set(contentviews.registry) == before
        assert not addon.interface.on
