"""Sockets that toolstream serves: Realtime sessions, and answers that are cancelled or steered."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import openai
import pytest
from websockets.sync.client import connect

from tests.e2e.harness.foreign import SOCKET_CLIENTS, Programs, unavailable
from tests.e2e.harness.socket_server import PATIENCE, SocketPlan, SocketServer
from tests.e2e.test_realtime import HEALTHY, SAFELY, calls_of, messages_of, said
from tests.sockets import conversation
from tests.tables import INJECTORS, SHAPES
from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from websockets.sync.client import ClientConnection

pytestmark = pytest.mark.e2e

MADE = ('get_weather {"city": "Oslo"}', 'get_time {"zone": "UTC"}')
MEANT: list[tuple[str, object]] = [("get_weather", {"city": "Oslo"}), ("get_time", {"zone": "UTC"})]
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
"""The speed at which two events come 100 milliseconds apart."""


@pytest.fixture(scope="module")
def session() -> Iterator[ProxySession]:
    """One proxy for all tests here."""
    with ProxySession() as shared:
        yield shared


@pytest.fixture(scope="module")
def programs(session: ProxySession) -> Iterator[Programs]:
    """Clients of other languages."""
    with Programs(session.ca_file) as started:
        yield started


def realtime(session: ProxySession, model: str = "gpt-realtime") -> Any:
    """The official client on a Realtime socket."""
    client = openai.OpenAI(api_key="sk-test", base_url=f"http://127.0.0.1:{session.port}/v1")
    return client.realtime.connect(model=model)


def kind_of(connection: Any, kind: str) -> Any:
    """The next event, which is of that type."""
    event = connection.recv()
    assert event.type == kind, event
    return event


def offer(connection: Any) -> None:
    """Begin a session that has tools."""
    kind_of(connection, "session.created")
    connection.session.update(session={"type": "realtime", "tools": TOOLS})
    assert len(kind_of(connection, "session.updated").session.tools) == 2


def test_a_realtime_session_is_served(session: ProxySession) -> None:
    """From its begin to the answer to what the tools gave, which is understood."""
    session.reset(Setup(calls=MADE))
    with realtime(session) as connection:
        offer(connection)
        message: Any = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
        connection.conversation.item.create(item=message)
        asked = kind_of(connection, "conversation.item.added").item
        assert (asked.content[0].text, kind_of(connection, "conversation.item.done").item.id) == ("hi", asked.id)
        calls = calls_of(connection)
        assert said(calls) == MEANT
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
    """Planted in what is served, each for sessions of one model; the official client reads what was meant."""
    names = [name for name in INJECTORS["openai-realtime"] if name in SAFELY]
    faults = tuple(f"{name}:model={name}" for name in names)
    session.reset(Setup(calls=MADE, fault=faults, repair=("safe",), shape=shapes))
    read = {}
    for name in ("healthy", *names):
        with realtime(session, name) as connection:
            offer(connection)
            read[name] = said(calls_of(connection))
    assert {name for name, calls in read.items() if calls != MEANT} == set()
    changed = {one.request.url.rpartition("=")[2] for one in session.exchanges() if one.findings}
    assert len(changed) > 20


def test_what_was_captured_is_served_as_it_was(session: ProxySession, tmp_path: Path) -> None:
    """Each response message for message to an equal request, in a session as the provider had it."""
    provided = {"type": "realtime", "model": "gpt-realtime", "instructions": "Be kind.", "tool_choice": "auto"}
    greeting = [json.dumps({"type": "session.created", "event_id": "event_1", "session": provided})]
    responses = [messages_of(one.body) for one in HEALTHY]
    session.reset(Setup(network="loopback", options={"toolstream_capture": str(tmp_path)}))
    updates: list[dict[str, Any]] = [{"type": "session.update", "session": {"type": "realtime", "tools": TOOLS}}]
    texts = [{"type": "input_text", "text": str(number)} for number in range(len(responses))]
    items = [{"type": "message", "role": "user", "content": [text]} for text in texts]
    with SocketServer() as server:
        plan = server.plan(SocketPlan(responses, greeting=greeting))
        there = f"ws://127.0.0.1:{server.port}{plan.path}/v1/realtime?model=gpt-realtime"
        with connect(there, proxy=session.proxy_url) as client:
            captured = talked(client, updates, items)
    assert captured == responses
    session.reset(Setup(flows=(tmp_path,), strict=True))
    with connect(f"ws://127.0.0.1:{session.port}/v1/realtime?model=gpt-realtime") as client:
        served = talked(client, updates, items)
    assert served == responses
    assert {one.response for one in session.exchanges() if one.request.protocol} == {"exact"}


def talked(client: ClientConnection, updates: list[dict[str, Any]], items: list[dict[str, Any]]) -> list[list[str]]:
    """The messages of the response to each item."""
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
    got: list[str] = []
    while not got or json.loads(got[-1])["type"] != "response.done":
        message = str(client.recv(PATIENCE))
        if json.loads(message)["type"].startswith("response."):
            got.append(message)
    return got


@pytest.mark.parametrize("repair", [(), ("safe",)], ids=["plain", "repairing"])
def test_a_realtime_response_is_cancelled(session: ProxySession, repair: tuple[str, ...]) -> None:
    """In the middle of a call: it is done at once, and the session goes on."""
    session.reset(Setup(calls=MADE, speed=SLOW, repair=repair))
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
        assert said(calls_of(connection)) == MEANT
    cancelled, _ = (one for one in session.exchanges() if one.request.protocol)
    assert cancelled.finish == ("cancelled: client_cancelled",)


def test_a_response_is_cancelled_while_another_goes_on(session: ProxySession) -> None:
    """At once, in its own lane; what cannot be steered says so, and all of it goes on."""
    session.reset(Setup(calls=MADE[:1], speed=SLOW))
    asked = [conversation.request(stream_id=lane) for lane in ("a", "b")]
    with connect(f"ws://127.0.0.1:{session.port}/v1/responses") as client:
        for one in asked:
            client.send(json.dumps(one))
        got = [json.loads(client.recv(PATIENCE)) for _ in range(4)]
        client.send(json.dumps({"type": "response.cancel", "stream_id": "a"}))
        steered = next(one["response"]["id"] for one in got if one["stream_id"] == "b")
        client.send(json.dumps({"type": "response.steer", "previous_response_id": steered, "input": "shorter"}))
        while got[-1]["type"] != "response.completed":
            got.append(json.loads(client.recv(PATIENCE)))
    lanes = {lane: [one for one in got if one["stream_id"] == lane] for lane in ("a", "b")}
    *_, before, last = lanes["a"]
    assert (last["type"], last["response"]["status"]) == ("response.cancelled", "cancelled")
    assert (last["sequence_number"], last["response"]["id"]) == (
        before["sequence_number"] + 1,
        lanes["a"][0]["response"]["id"],
    )
    [failed] = (one for one in lanes["b"] if one["type"] == "response.steer.failed")
    assert (failed["error"]["code"], failed["steer"]["input"]) == ("steering_not_supported", "shorter")
    whole = [one["type"] for one in lanes["b"] if one is not failed]
    assert len(lanes["a"]) < len(whole)
    assert (whole[0], whole[-1], len(set(whole))) == ("response.created", "response.completed", 7)
    finishes = [one.finish for one in session.exchanges() if one.request.protocol]
    assert sorted(finishes) == [("cancelled",), ("completed",)]


def test_requests_on_a_served_session_are_refused(session: ProxySession) -> None:
    """By a fault, with the message's id; the next one is answered."""
    session.reset(Setup(calls=MADE, fault=("http-error:status=503,on=message,times=1",)))
    with realtime(session) as connection:
        offer(connection)
        connection.response.create(event_id="event_mine")
        assert kind_of(connection, "error").error.event_id == "event_mine"
        assert said(calls_of(connection)) == MEANT


@pytest.mark.parametrize("client", SOCKET_CLIENTS, ids=str)
@pytest.mark.parametrize("fault", ["", "cumulative-arguments", "missing-call-id"])
def test_clients_of_another_language(session: ProxySession, programs: Programs, client: Any, fault: str) -> None:
    """Each answer on one socket, one after the other and at once."""
    if unavailable(client.toolchain) is not None:
        pytest.skip(str(unavailable(client.toolchain)))
    faults = (fault,) if fault in INJECTORS[client.dialect] else ()
    session.reset(Setup(calls=MADE, fault=faults, repair=("safe",)))
    for lanes in {1, client.lanes}:
        url, how = f"https://127.0.0.1:{session.port}", {"answers": 2, "lanes": lanes, "compressed": True}
        told = programs.request(client.toolchain, client.name, url, "gpt-5", {}, OFFERED, **how)
        assert "error" not in told, told
        assert [sorted(map(tuple, one), key=repr) for one in told["answers"]] == [sorted(MEANT, key=repr)] * 2
