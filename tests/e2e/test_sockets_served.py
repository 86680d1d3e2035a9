"""Sockets that toolstream serves: Realtime sessions, and responses that are cancelled or steered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import openai
import pytest
from websockets.sync.client import connect

from tests.e2e.harness.foreign import SOCKET_CLIENTS, Programs, unavailable
from tests.e2e.harness.socket_server import PATIENCE, SocketPlan, SocketServer
from tests.e2e.test_realtime import HEALTHY, SAFELY, calls_of, messages_of, parsed
from tests.sockets import conversation
from tests.tables import INJECTORS, SHAPES
from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from websockets.sync.client import ClientConnection

pytestmark = pytest.mark.e2e

SPECS = ('get_weather {"city": "Oslo"}', 'get_time {"zone": "UTC"}')
INTENDED: list[tuple[str, object]] = [("get_weather", {"city": "Oslo"}), ("get_time", {"zone": "UTC"})]
STRING = {"type": "string"}
OFFERED = [
    {
        "name": "get_weather",
        "description": "Weather.",
        "parameters": {"type": "object", "properties": {"city": STRING}},
    },
    {"name": "get_time", "description": "Time.", "parameters": {"type": "object", "properties": {"zone": STRING}}},
]
TOOLS: Any = [{"type": "function", **one} for one in OFFERED]
SLOW = 0.2
"""The speed at which events are 100 milliseconds apart."""


@pytest.fixture(scope="module")
def session() -> Iterator[ProxySession]:
    """The proxy of all tests in this file."""
    with ProxySession() as shared:
        yield shared


@pytest.fixture(scope="module")
def programs(session: ProxySession) -> Iterator[Programs]:
    """Clients in other languages."""
    with Programs(session.ca_file) as started:
        yield started


def realtime(session: ProxySession, model: str = "gpt-realtime") -> Any:
    """The official client on a Realtime socket."""
    client = openai.OpenAI(api_key="sk-test", base_url=f"http://127.0.0.1:{session.port}/v1")
    return client.realtime.connect(model=model)


def kind_of(connection: Any, kind: str) -> Any:
    """The next event, which must have this type."""
    event = connection.recv()
    assert event.type == kind, event
    return event


def offer(connection: Any) -> None:
    """Begin a session with tools."""
    kind_of(connection, "session.created")
    connection.session.update(session={"type": "realtime", "tools": TOOLS})
    assert len(kind_of(connection, "session.updated").session.tools) == 2


def test_a_realtime_session_is_served(session: ProxySession) -> None:
    """A served Realtime session has its first events, a response with calls, and a response to their results."""
    session.reset(Setup(calls=SPECS))
    with realtime(session) as connection:
        offer(connection)
        message: Any = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
        connection.conversation.item.create(item=message)
        added = kind_of(connection, "conversation.item.added").item
        assert (added.content[0].text, kind_of(connection, "conversation.item.done").item.id) == ("hi", added.id)
        calls = calls_of(connection)
        assert parsed(calls) == INTENDED
        for call in calls:
            result: Any = {"type": "function_call_output", "call_id": call.id, "output": "done"}
            connection.conversation.item.create(item=result)
        assert calls_of(connection) == []
    first, second = (one for one in session.exchanges() if one.request.protocol)
    assert first.request["input"] == [message]
    assert [one["call_id"] for one in second.request["input"]] == [call.id for call in calls]
    assert first.verdict is not None
    assert first.verdict.understood


@pytest.mark.parametrize("shapes", [(), tuple(SHAPES["openai-realtime"])], ids=["healthy", "shaped"])
def test_every_defect_of_a_served_response_is_repaired(session: ProxySession, shapes: tuple[str, ...]) -> None:
    """The official client reads the intended calls of served responses with each injected and repaired defect."""
    names = [name for name in INJECTORS["openai-realtime"] if name in SAFELY]
    faults = tuple(f"{name}:model={name}" for name in names)
    session.reset(Setup(calls=SPECS, fault=faults, repair=("safe",), shape=shapes))
    read = {}
    for name in ("healthy", *names):
        with realtime(session, name) as connection:
            offer(connection)
            read[name] = parsed(calls_of(connection))
    assert {name for name, calls in read.items() if calls != INTENDED} == set()
    changed = {one.request.url.rpartition("=")[2] for one in session.exchanges() if one.findings}
    assert len(changed) > 20


def test_a_captured_realtime_session_is_served_unchanged(session: ProxySession, tmp_path: Path) -> None:
    """A captured Realtime session is served with the provider's settings, and each response message for message."""
    provided = {"type": "realtime", "model": "gpt-realtime", "instructions": "Be kind.", "tool_choice": "auto"}
    greeting = [json.dumps({"type": "session.created", "event_id": "event_1", "session": provided})]
    responses = [messages_of(one.body) for one in HEALTHY]
    session.reset(Setup(network="loopback", options={"toolstream_capture": str(tmp_path)}))
    updates: list[dict[str, Any]] = [{"type": "session.update", "session": {"type": "realtime", "tools": TOOLS}}]
    texts = [{"type": "input_text", "text": str(number)} for number in range(len(responses))]
    items = [{"type": "message", "role": "user", "content": [text]} for text in texts]
    with SocketServer() as server:
        plan = server.plan(SocketPlan(responses, greeting=greeting))
        address = f"ws://127.0.0.1:{server.port}{plan.path}/v1/realtime?model=gpt-realtime"
        with connect(address, proxy=session.proxy_url) as client:
            captured = responses_to(client, updates, items)
    assert captured == responses
    session.reset(Setup(flows=(tmp_path,), strict=True))
    with connect(f"ws://127.0.0.1:{session.port}/v1/realtime?model=gpt-realtime") as client:
        served = responses_to(client, updates, items)
    assert served == responses
    assert {one.response for one in session.exchanges() if one.request.protocol} == {"exact"}


def responses_to(
    client: ClientConnection, updates: list[dict[str, Any]], items: list[dict[str, Any]]
) -> list[list[str]]:
    """Send each item and request a response. Returns the messages of each response."""
    assert json.loads(client.recv(PATIENCE))["session"]["instructions"] == "Be kind."
    for update in updates:
        client.send(json.dumps(update))
    responses = []
    for item in items:
        client.send(json.dumps({"type": "conversation.item.create", "item": item}))
        client.send(json.dumps({"type": "response.create"}))
        responses.append(response(client))
    return responses


def response(client: ClientConnection) -> list[str]:
    """The messages of the next response."""
    messages: list[str] = []
    while not messages or json.loads(messages[-1])["type"] != "response.done":
        message = str(client.recv(PATIENCE))
        if json.loads(message)["type"].startswith("response."):
            messages.append(message)
    return messages


@pytest.mark.parametrize("repair", [(), ("safe",)], ids=["plain", "repairing"])
def test_a_realtime_response_is_cancelled(session: ProxySession, repair: tuple[str, ...]) -> None:
    """A response that is cancelled inside a call ends at once, and the session goes on."""
    session.reset(Setup(calls=SPECS, speed=SLOW, repair=repair))
    with realtime(session) as connection:
        offer(connection)
        connection.response.create()
        kinds = []
        for event in connection:
            kinds.append(event.type)
            if event.type == "response.function_call_arguments.delta" and event.type not in kinds[:-1]:
                connection.response.cancel()
            if event.type == "response.done":
                break
        assert event.response.status == "cancelled"
        assert event.response.status_details.reason == "client_cancelled"
        assert "response.function_call_arguments.done" not in kinds
        connection.response.cancel(event_id="event_c")
        assert kind_of(connection, "error").error.event_id == "event_c"
        assert parsed(calls_of(connection)) == INTENDED
    cancelled, _ = (one for one in session.exchanges() if one.request.protocol)
    assert cancelled.finish == ("cancelled: client_cancelled",)


def test_a_response_is_cancelled_while_another_goes_on(session: ProxySession) -> None:
    """A cancelled response ends at once in its lane; a steer request fails, and its response goes on."""
    session.reset(Setup(calls=SPECS[:1], speed=SLOW))
    requests = [conversation.request(stream_id=lane) for lane in ("a", "b")]
    with connect(f"ws://127.0.0.1:{session.port}/v1/responses") as client:
        for request in requests:
            client.send(json.dumps(request))
        events = [json.loads(client.recv(PATIENCE)) for _ in range(4)]
        client.send(json.dumps({"type": "response.cancel", "stream_id": "a"}))
        steered = next(one["response"]["id"] for one in events if one["stream_id"] == "b")
        client.send(json.dumps({"type": "response.steer", "previous_response_id": steered, "input": "shorter"}))
        while events[-1]["type"] != "response.completed":
            events.append(json.loads(client.recv(PATIENCE)))
    lanes = {lane: [one for one in events if one["stream_id"] == lane] for lane in ("a", "b")}
    *_, before, last = lanes["a"]
    assert (last["type"], last["response"]["status"]) == ("response.cancelled", "cancelled")
    assert (last["sequence_number"], last["response"]["id"]) == (
        before["sequence_number"] + 1,
        lanes["a"][0]["response"]["id"],
    )
    [failed] = (one for one in lanes["b"] if one["type"] == "response.steer.failed")
    assert (failed["error"]["code"], failed["steer"]["input"]) == ("steering_not_supported", "shorter")
    kinds = [one["type"] for one in lanes["b"] if one is not failed]
    assert len(lanes["a"]) < len(kinds)
    assert (kinds[0], kinds[-1], len(set(kinds))) == ("response.created", "response.completed", 7)
    finishes = [one.finish for one in session.exchanges() if one.request.protocol]
    assert sorted(finishes) == [("cancelled",), ("completed",)]


def test_a_fault_rejects_a_request_of_a_served_session(session: ProxySession) -> None:
    """An injected error rejects a request with its event id, and the next request gets a response."""
    session.reset(Setup(calls=SPECS, fault=("http-error:status=503,on=message,times=1",)))
    with realtime(session) as connection:
        offer(connection)
        connection.response.create(event_id="event_mine")
        assert kind_of(connection, "error").error.event_id == "event_mine"
        assert parsed(calls_of(connection)) == INTENDED


@pytest.mark.parametrize("client", SOCKET_CLIENTS, ids=str)
@pytest.mark.parametrize("fault", ["", "cumulative-arguments", "missing-call-id"])
def test_clients_of_another_language(session: ProxySession, programs: Programs, client: Any, fault: str) -> None:
    """Clients in other languages read served responses on one socket, sequential and concurrent."""
    if unavailable(client.toolchain) is not None:
        pytest.skip(str(unavailable(client.toolchain)))
    faults = (fault,) if fault in INJECTORS[client.protocol] else ()
    session.reset(Setup(calls=SPECS, fault=faults, repair=("safe",)))
    for lanes in {1, client.lanes}:
        url, settings = f"https://127.0.0.1:{session.port}", {"responses": 2, "lanes": lanes, "compressed": True}
        result = programs.request(client.toolchain, client.name, url, "gpt-5", {}, OFFERED, **settings)
        assert "error" not in result, result
        assert [sorted(map(tuple, one), key=repr) for one in result["responses"]] == [sorted(INTENDED, key=repr)] * 2
