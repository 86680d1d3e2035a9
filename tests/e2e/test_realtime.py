"""Realtime over a WebSocket through a mitmdump, with the official client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import openai
import pytest

from tests.e2e.harness.socket_server import SocketPlan, SocketServer
from tests.e2e.harness.trust import socket_trust
from tests.invariants.healthy import request, streams
from tests.invariants.test_invariants import CANNOT, injected
from tests.tables import INJECTORS
from toolstream_core.defects.defect import LIVE, Safety
from toolstream_core.defects.table import DEFECTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openai.resources.realtime.realtime import RealtimeConnection

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies

pytestmark = pytest.mark.e2e

HEALTHY = [one for one in streams() if one.protocol == "openai-realtime"]
TWO = next(one for one in HEALTHY if one.name == "fragments of two")
SAFELY = {row.name for row in DEFECTS if row.repair is Safety.SAFE and row.code not in LIVE}
ENDS = {"response.done", "response.completed"}
AUDIO = {
    "type": "response.output_audio.delta",
    "event_id": "event_audio",
    "response_id": "resp_1",
    "item_id": "msg_1",
    "output_index": 0,
    "content_index": 0,
    "delta": "UklGRg" * 2000,
}


class Call(NamedTuple):
    """A call as the client reads it."""

    id: str | None
    name: str
    arguments: str


def messages_of(body: bytes) -> list[str]:
    """The messages of a body, one in each line."""
    return body.decode().splitlines()


def connected(proxy: Mitmdump, server: SocketServer, planned: SocketPlan) -> Any:
    """The official client on a planned socket."""
    trust: Any = {"proxy": proxy.url, "ssl": socket_trust(proxy.ca), "max_size": None}
    sdk = openai.OpenAI(api_key="none", base_url=f"https://127.0.0.1:{server.port}{planned.path}/v1")
    return sdk.realtime.connect(model="gpt-realtime", websocket_connection_options=trust)


def calls_of(connection: RealtimeConnection) -> list[Call]:
    """Request a response, and return its calls. The `done` events and the final response have the same calls."""
    connection.response.create()
    done: list[Call] = []
    for event in connection:
        if event.type == "response.function_call_arguments.done":
            done.append(Call(event.call_id, event.name, event.arguments))
        if event.type == "response.done":
            output = event.response.output or []
            calls = [Call(one.call_id, one.name, one.arguments) for one in output if one.type == "function_call"]
            assert sorted(done, key=str) == sorted(calls, key=str)
            return calls
    return []


def parsed(calls: Sequence[Call]) -> list[tuple[str, object]]:
    """Names and parsed arguments."""
    return [(call.name, json.loads(call.arguments)) for call in calls]


def test_repaired_responses_are_read_like_healthy_ones(proxies: Proxies, sockets: SocketServer) -> None:
    """The client reads the intended calls of every safely repaired defect on one socket, and other messages."""
    broken = [
        messages_of(injected(TWO, name).body)
        for name in INJECTORS["openai-realtime"]
        if name in SAFELY and (name, TWO.name) not in CANNOT and injected(TWO, name).changes
    ]
    broken = [one for one in broken if json.loads(one[-1])["type"] in ENDS]
    healthy = [messages_of(one.body) for one in HEALTHY]
    session = {"type": "realtime", "tools": request("openai-realtime")["tools"]}
    greeting = [json.dumps({"type": "session.created", "event_id": "event_1", "session": session})]
    planned = sockets.plan(SocketPlan([*healthy, *broken], greeting=greeting))
    with connected(proxies.get(toolstream_repair="safe"), sockets, planned) as connection:
        assert connection.recv().type == "session.created"
        read = {one.name: parsed(calls_of(connection)) for one in HEALTHY}
        repaired = [parsed(calls_of(connection)) for _ in broken]
    assert read[TWO.name] == [("get_weather", {"city": "Oslo 😀\nsouth"}), ("get_time", {"zone": "UTC"})]
    assert len(broken) > 20
    assert [calls for calls in repaired if calls != read[TWO.name]] == []


def test_an_injected_error_rejects_a_request(proxies: Proxies, sockets: SocketServer) -> None:
    """An injected error has the request's id, the provider gets no request, and the session goes on."""
    fault = "http-error:status=429,on=message,times=1"
    tap = proxies.tap("realtime error")
    proxy = proxies.get(toolstream_fault=[fault], toolstream_jsonl=str(tap.path))
    planned = sockets.plan(SocketPlan([messages_of(TWO.body)]))
    with connected(proxy, sockets, planned) as connection:
        connection.response.create(event_id="event_mine")
        rejection = connection.recv()
        assert (rejection.type, rejection.error.code, rejection.error.event_id) == (
            "error",
            "rate_limit_exceeded",
            "event_mine",
        )
        assert rejection.error.message == "Rate limit reached"
        assert len(calls_of(connection)) == 2
    assert [one["type"] for one in planned.received] == ["response.create"]
    first, second = tap.wait_for(lambda one: one["type"] == "end", 2)
    assert (first["record"]["error"], first["flow"][-2:]) == ("rate_limit_exceeded: Rate limit reached", ".1")
    assert (second["record"]["error"], second["flow"][-2:]) == (None, ".2")


def test_errors_without_a_response_are_reported(proxies: Proxies, sockets: SocketServer) -> None:
    """An error message that belongs to no response is forwarded, logged and written as a JSON line."""
    proxy, tap = proxies.with_jsonl()
    wrong = {"type": "invalid_request_error", "code": "unknown", "message": "no such session", "event_id": None}
    error = json.dumps({"type": "error", "event_id": "event_1", "error": wrong})
    planned = sockets.plan(SocketPlan([], greeting=[error]))
    with connected(proxy, sockets, planned) as connection:
        assert connection.recv().error.message == "no such session"
    text = "invalid_request_error: no such session"
    [line] = tap.wait_for(lambda one: one["type"] == "error")
    assert (line["dialect"], line["error"]) == ("openai-realtime", text)
    proxy.wait_for(rf"^error WS 127\.0\.0\.1:\d+{planned.path}/v1/realtime openai-realtime  flow {line['flow']}$")
    proxy.wait_for(rf'^ +"{text}"$')


def test_a_response_and_its_verdict_are_reported(proxies: Proxies, sockets: SocketServer) -> None:
    """The record has the session's model and the calls; the verdict is from the client's conversation items."""
    tap = proxies.tap("realtime")
    proxy = proxies.get(toolstream_jsonl=str(tap.path))
    messages = messages_of(TWO.body)
    planned = sockets.plan(SocketPlan([[messages[0], json.dumps(AUDIO), *messages[1:]], messages]))
    with connected(proxy, sockets, planned) as connection:
        tools: Any = [{"type": "function", "name": name, "parameters": {}} for name in ("get_weather", "get_time")]
        connection.session.update(session={"type": "realtime", "tools": tools})
        calls = calls_of(connection)
        for call in calls:
            item: Any = {"type": "function_call_output", "call_id": call.id, "output": "done"}
            connection.conversation.item.create(item=item)
        calls_of(connection)
    ends = tap.wait_for(lambda one: one["type"] == "end" and one["record"]["dialect"] == "openai-realtime", 2)
    end, record = ends[0], ends[0]["record"]
    assert (record["dialect"], record["model"], record["findings"]) == ("openai-realtime", "gpt-realtime", [])
    assert record["events"] == len(messages) + 1
    assert [(call["id"], call["name"]) for call in record["calls"]] == [(call.id, call.name) for call in calls]
    [verdict] = tap.wait_for(lambda one: one["type"] == "verdict" and one["flow"] == end["flow"])
    assert (verdict["verdict"]["verdict"], verdict["verdict"]["results"]) == (
        "results-only",
        [call.id for call in calls],
    )
