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

from tests.proxy.flows import CHUNK, DONE, SECRET, llm_flow
from tests.proxy.ui.shown import FLOWS, Shown, flows_in, interface
from tests.saved.test_sockets import socket
from tests.sockets import conversation
from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.proxy.ui import facts, known
from toolstream_core.proxy.ui.text import WIDTH

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from mitmproxy import http

    from toolstream_core.saved.exchange import Exchange

OTHERS = {
    "application/json": b'{"a": 1}',
    "text/event-stream": b'data: hello\n\ndata: {"a":1}\n\n',
    "text/html": b"<html><body>x</body></html>",
    "image/png": b"\x89PNG\r\n\x1a\n\x00\x00",
    "application/octet-stream": bytes(range(256)),
}

HOSTILE = (b"\x00", b'"', b"{", b"\xff\xfe", b"\n\n", b"[" * 2000)


@pytest.fixture
def shown() -> Iterator[Shown]:
    """An interface of mitmproxy with toolstream."""
    with interface() as made:
        yield made


def answered(body: bytes, *messages: Any, content_type: str = "text/event-stream") -> http.HTTPFlow:
    """A saved chat flow."""
    flow = llm_flow(content_type, body, messages=[{"role": "user", "content": "go"}, *messages])
    flow.live = False
    return flow


def call(identity: str, arguments: str) -> dict[str, Any]:
    """The message of a client that returns a call."""
    function = {"name": "ls", "arguments": arguments}
    return {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": identity, "type": "function", "function": function}],
    }


@pytest.mark.parametrize("path", sorted(FLOWS.glob("*.flow")), ids=lambda path: path.stem)
def test_streams_are_shown_by_their_calls_or_events(shown: Shown, path: Path, caplog: Any) -> None:
    """The calls where there are any; requests as ever; no view fails, and no line is too long for mitmweb."""
    for flow in shown.load(path):
        assert flow.response is not None
        found = shown.result(flow, flow.response)
        read = shown.addon.interface.known.facts(flow)
        assert read is not None
        wanted = "Tool calls" if read.record.calls or read.record.findings else "Events"
        assert found.view_name == (wanted if read.record.streamed else "JSON")
        text = shown.text(flow, flow.response, "tool calls")
        assert text.startswith("verdict: ")
        assert all(0 < len(line) <= WIDTH for line in text.splitlines())
        for one in read.record.calls:
            assert f"intended: {one.arguments[:12] or '(empty)'}" in text
        events = shown.text(flow, flow.response, "events").splitlines()
        assert 0 < len(events) <= len(read.events) + 2 * len(read.record.findings)
    assert "toolstream cannot show" not in caplog.text


@pytest.mark.parametrize("content_type", OTHERS)
def test_all_else_is_left_to_mitmproxy(shown: Shown, content_type: str) -> None:
    """As if toolstream were not there; who selects our views sees the body."""
    body = OTHERS[content_type]
    for flow in (answered(body, content_type=content_type), tflow.tflow(resp=True)):
        flow.request.path = "/other"
        assert flow.response is not None
        flow.response.headers["content-type"] = content_type
        flow.response.content = body
        assert shown.result(flow, flow.response).view_name not in {"Tool calls", "Events"}
        assert shown.result(flow, flow.request).view_name not in {"Tool calls", "Events"}
        assert shown.text(flow, flow.response, "events")


def test_a_misread_response_is_shown_with_its_verdict(shown: Shown) -> None:
    """In the response, and in the request that shows it: the verdict first, then why, then what helps."""
    first = answered(CHUNK + DONE)
    second = answered(DONE, call("c1", '{"x":1}'), {"role": "tool", "tool_call_id": "c1", "content": "ok"})
    shown.pass_through(first, second)
    response = shown.text(first, first.response).splitlines()
    assert response[0].startswith("verdict: The client returned call 0 ls with other arguments (wrong-arguments)")
    assert "cause: no client bug that toolstream knows has this effect" in response
    assert not any(line.startswith("fix: ") for line in response)
    assert "  intended: {}" in response
    assert '  returned: {"x":1}' in response
    request = shown.result(second, second.request)
    assert request.view_name == "Tool calls"
    assert request.text.splitlines()[0] == response[0]
    assert f"response: flow {first.id}" in request.text
    assert '  returned: {"x":1}' in request.text.splitlines()


def test_a_loaded_capture_is_judged_by_what_its_client_got(shown: Shown) -> None:
    """The capture has it where it is not what the provider sent."""
    first = answered(CHUNK + DONE)
    first.metadata["toolstream"] = {"sent": {"body": CHUNK.replace(b'"{}"', b'"{\\"x\\":1}"') + DONE}}
    second = answered(DONE, call("c1", '{"x":1}'), {"role": "tool", "tool_call_id": "c1", "content": "ok"})
    shown.pass_through(first, second)
    lines = shown.text(first, first.response).splitlines()
    assert lines[0] == "verdict: The client read call 0 ls as sent (ok)"
    assert '  received: {"x":1}' in lines


def test_a_loaded_response_that_broke_off_says_so(shown: Shown) -> None:
    """As the live one did."""
    flow = answered(CHUNK)
    flow.error = mitmflow.Error("peer closed connection")
    shown.pass_through(flow)
    assert "truncated: peer closed connection" in shown.text(flow, flow.response).replace("\n    ", " ")
    assert (flow.marked, flow.comment) == (":warning:", "truncated-stream at event 0")


def test_a_request_that_returns_calls_as_sent_is_shown_as_ever(shown: Shown) -> None:
    """The view can be selected."""
    first = answered(CHUNK + DONE)
    second = answered(DONE, call("c1", "{}"), {"role": "tool", "tool_call_id": "c1", "content": "ok"})
    shown.pass_through(first, second)
    assert shown.result(second, second.request).view_name == "JSON"
    assert "returned: as intended" in shown.text(second, second.request, "tool calls")


def test_secrets_are_not_shown(shown: Shown) -> None:
    """Neither in arguments, nor in text, nor where a view shows the body."""
    body = CHUNK.replace(b'"arguments":"{}"', json.dumps({"arguments": json.dumps({"key": SECRET})})[1:-1].encode())
    flow = answered(body + DONE)
    shown.pass_through(flow)
    for view in ("tool calls", "events"):
        assert SECRET not in shown.text(flow, flow.response, view)
        assert SECRET not in shown.text(flow, flow.request, view)
    other = answered(f"<b>{SECRET}</b>".encode(), content_type="text/html")
    other.request.path = "/x"
    assert SECRET not in shown.text(other, other.response, "events")


@pytest.mark.parametrize("seed", range(40))
def test_hostile_bodies_are_shown(shown: Shown, seed: int, caplog: Any) -> None:
    """Streams that are cut, mixed or garbled raise nothing."""
    chance = random.Random(seed)
    path = chance.choice(sorted(FLOWS.glob("*.flow")))
    flow = flows_in(path)[0]
    assert flow.response is not None
    assert flow.response.raw_content is not None
    body = bytearray(flow.response.raw_content)
    for _ in range(chance.randrange(1, 30)):
        at = chance.randrange(len(body))
        body[at : at + chance.choice((0, 1, 7))] = chance.choice(
            (b"\x00", b'"', b"{", b"\xff\xfe", b"\n\n", b"[" * 2000)
        )
    flow.response.raw_content = bytes(body)
    for message in (flow.request, flow.response):
        for view in ("auto", "tool calls", "events"):
            assert "Couldn't parse" not in shown.text(flow, message, view)
    assert "toolstream cannot show" not in caplog.text


def test_a_view_that_fails_shows_the_body(shown: Shown, caplog: Any) -> None:
    """One error says so."""
    flow = answered(CHUNK + DONE)
    with patch.object(known, "facts_of", side_effect=RuntimeError("x")):
        text = shown.text(flow, flow.response, "events")
    assert text.startswith("data: ")
    assert f"toolstream cannot show flow {flow.id}" in caplog.text


def test_each_message_of_a_socket_is_shown(shown: Shown) -> None:
    """As its event; the last one of a response with its calls; the one that asked for it as ever."""
    flow = socket(conversation.two_answers())
    assert flow.websocket is not None
    found = [shown.result(flow, one) for one in flow.websocket.messages]
    names = [one.view_name for one in found]
    last = next(at for at, one in enumerate(flow.websocket.messages) if b"response.completed" in one.content)
    assert names[0] == "Raw"
    assert names[last] == "Tool calls"
    assert "call 0: get_weather" in found[last].text
    assert set(names[1:last]) == {"Events"}
    assert all(one.text.count("\n") == 1 for one in found[1:last])
    assert any('arguments="' in one.text for one in found[1:last])


def test_a_live_socket_is_shown_with_what_its_client_returned(shown: Shown) -> None:
    """In the last message of the response, and in the one that returns its call; the socket is marked."""
    first = conversation.request()
    calls = conversation.answered(first)
    call_item = {**calls[-1]["response"]["output"][0], "arguments": "{}"}
    result = {"type": "function_call_output", "call_id": call_item["call_id"], "output": "sunny"}
    second = conversation.request(input=[*first["input"], call_item, result])
    flow = tflow.twebsocketflow()
    flow.request.path, flow.live = conversation.PATH, True
    assert flow.websocket is not None
    flow.websocket.messages.clear()
    shown.view.add([flow])
    shown.addon.websocket_start(flow)
    for one in conversation.messages(first, *calls, second, *conversation.answered(second)):
        flow.websocket.messages.append(WebSocketMessage(Opcode.TEXT, one.from_client, one.data))
        shown.addon.websocket_message(flow)
    shown.addon.verdicts.close()
    assert flow.marked == ":x:"
    assert flow.comment.startswith("returned-without-arguments")
    found = [shown.result(flow, one) for one in flow.websocket.messages]
    told = [place for place, one in enumerate(found) if "without arguments (returned-" in one.text.replace("\n   ", "")]
    assert told == [len(calls), len(calls) + 1]


def test_a_socket_without_llm_is_left_to_mitmproxy(shown: Shown) -> None:
    """Whatever its messages are."""
    flow = tflow.twebsocketflow()
    assert flow.websocket is not None
    assert {shown.result(flow, one).view_name for one in flow.websocket.messages} == {"Raw"}


def test_a_response_is_read_once(shown: Shown) -> None:
    """However often it is shown: reading 5,000 events takes longer than writing their lines."""
    flow = answered(CHUNK * 5000 + DONE)
    assert flow.response is not None
    with patch.object(known, "facts_of", wraps=facts.facts_of) as reading:
        for _ in range(3):
            assert len(shown.text(flow, flow.response, "events").splitlines()) >= 5000
            shown.text(flow, flow.response, "tool calls")
    assert reading.call_count == 1
    flow.response.content = CHUNK + DONE
    assert len(shown.text(flow, flow.response, "events").splitlines()) == 4


def test_a_long_response_is_read_before_it_is_shown(shown: Shown) -> None:
    """In a thread, so that other streams go on; the view waits for it where it is shown at once."""
    threads: list[str] = []

    def reading(saved: Exchange) -> facts.Facts | None:
        threads.append(threading.current_thread().name)
        return facts.facts_of(saved)

    long, short = answered(CHUNK * 500 + DONE), answered(CHUNK + DONE)
    with patch.object(known, "facts_of", reading):
        shown.pass_through(long, short)
        assert "call 0: ls" in shown.text(long, long.response)
        assert [name.startswith("toolstream-reads") for name in threads] == [True]
        shown.text(short, short.response)
        assert len(threads) == 2


def test_nothing_is_added_without_an_interface() -> None:
    """With mitmdump there are only its own views."""
    before = set(contentviews.registry)
    addon = ToolstreamAddon()
    with taddons.context(NextLayer(), addon):
        addon.running()
        assert set(contentviews.registry) == before
        assert not addon.interface.on
