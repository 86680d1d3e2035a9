"""Realtime over a real WebSocket, through a real mitmdump, read by the official client."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import openai
import pytest

from tests.e2e.harness.socket_server import SocketPlan, SocketServer
from tests.e2e.harness.trust import server_context, socket_trust
from tests.invariants.healthy import request, streams
from tests.invariants.test_invariants import CANNOT, injected
from tests.tables import INJECTORS
from toolstream_core.defects.defect import LIVE, Safety
from toolstream_core.defects.table import DEFECTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from openai.resources.realtime.realtime import RealtimeConnection

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies

pytestmark = pytest.mark.e2e

HEALTHY = [one for one in streams() if one.dialect == "openai-realtime"]
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
    """A call as the client has it, by the event with its whole arguments and by the response."""

    id: str | None
    name: str
    arguments: str


def messages_of(body: bytes) -> list[str]:
    """One a line."""
    return body.decode().splitlines()


@pytest.fixture(scope="module")
def upstream(pem: Path) -> Iterator[SocketServer]:
    """Speaks WebSocket over TLS."""
    context = server_context(pem)
    context.set_alpn_protocols(["http/1.1"])
    with SocketServer(context) as server:
        yield server


def connected(proxy: Mitmdump, server: SocketServer, planned: SocketPlan) -> Any:
    """The official client on a planned socket."""
    trust: Any = {"proxy": proxy.url, "ssl": socket_trust(proxy.ca), "max_size": None}
    sdk = openai.OpenAI(api_key="none", base_url=f"https://127.0.0.1:{server.port}{planned.path}/v1")
    return sdk.realtime.connect(model="gpt-realtime", websocket_connection_options=trust)


def calls_of(connection: RealtimeConnection) -> list[Call]:
    """Ask, and read the calls until the response is over; both places where the client finds them say the same."""
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


def said(calls: Sequence[Call]) -> list[tuple[str, object]]:
    """What the client runs."""
    return [(call.name, json.loads(call.arguments)) for call in calls]


def test_what_is_planted_and_repaired_is_read_as_the_healthy_responses(
    proxies: Proxies, upstream: SocketServer
) -> None:
    """Every defect that is safely repaired, one after the other on one socket; what is no response's passes."""
    broken = [
        messages_of(injected(TWO, name).body)
        for name in INJECTORS["openai-realtime"]
        if name in SAFELY and (name, TWO.name) not in CANNOT and injected(TWO, name).changes
    ]
    broken = [one for one in broken if json.loads(one[-1])["type"] in ENDS]
    healthy = [messages_of(one.body) for one in HEALTHY]
    session = {"type": "realtime", "tools": request("openai-realtime")["tools"]}
    greeting = [json.dumps({"type": "session.created", "event_id": "event_1", "session": session})]
    planned = upstream.plan(SocketPlan([*healthy, *broken], greeting=greeting))
    with connected(proxies.get(toolstream_repair="safe"), upstream, planned) as connection:
        assert connection.recv().type == "session.created"
        read = {one.name: said(calls_of(connection)) for one in HEALTHY}
        mended = [said(calls_of(connection)) for _ in broken]
    assert read[TWO.name] == [("get_weather", {"city": "Oslo 😀\nsouth"}), ("get_time", {"zone": "UTC"})]
    assert len(broken) > 20
    assert [calls for calls in mended if calls != read[TWO.name]] == []


def test_a_request_is_answered_with_an_error(proxies: Proxies, upstream: SocketServer) -> None:
    """As the API says errors, with the request's own id, without the provider; the session goes on."""
    fault = "http-error:status=429,on=message,times=1"
    tap = proxies.tap("realtime refused")
    proxy = proxies.get(toolstream_fault=[fault], toolstream_jsonl=str(tap.path))
    planned = upstream.plan(SocketPlan([messages_of(TWO.body)]))
    with connected(proxy, upstream, planned) as connection:
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


def test_errors_that_belong_to_no_response_are_told(proxies: Proxies, upstream: SocketServer) -> None:
    """In the log and as a JSON line; they pass like any message."""
    proxy, tap = proxies.with_jsonl()
    wrong = {"type": "invalid_request_error", "code": "unknown", "message": "no such session", "event_id": None}
    error = json.dumps({"type": "error", "event_id": "event_1", "error": wrong})
    planned = upstream.plan(SocketPlan([], greeting=[error]))
    with connected(proxy, upstream, planned) as connection:
        assert connection.recv().error.message == "no such session"
    text = "invalid_request_error: no such session"
    [line] = tap.wait_for(lambda one: one["type"] == "error")
    assert (line["dialect"], line["error"]) == ("openai-realtime", text)
    proxy.wait_for(rf"^error WS 127\.0\.0\.1:\d+{planned.path}/v1/realtime openai-realtime  flow {line['flow']}$")
    proxy.wait_for(rf'^ +"{text}"$')


def test_what_is_told_of_a_response(proxies: Proxies, upstream: SocketServer) -> None:
    """The session's model and tools, the calls, and what the client made of them: an item of the conversation."""
    tap = proxies.tap("realtime")
    proxy = proxies.get(toolstream_jsonl=str(tap.path))
    whole = messages_of(TWO.body)
    planned = upstream.plan(SocketPlan([[whole[0], json.dumps(AUDIO), *whole[1:]], whole]))
    with connected(proxy, upstream, planned) as connection:
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
    assert record["events"] == len(whole) + 1
    assert [(call["id"], call["name"]) for call in record["calls"]] == [(call.id, call.name) for call in calls]
    [verdict] = tap.wait_for(lambda one: one["type"] == "verdict" and one["flow"] == end["flow"])
    assert (verdict["verdict"]["verdict"], verdict["verdict"]["results"]) == (
        "results-only",
        [call.id for call in calls],
    )
