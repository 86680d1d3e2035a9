"""Responses over WebSockets through a mitmdump, read by the official client and byte for byte."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

import openai
import pytest
from websockets.exceptions import ConnectionClosedError, InvalidStatus
from websockets.sync.client import connect

from tests.e2e.harness.captures import metadata, read
from tests.e2e.harness.socket_server import PATIENCE, SocketPlan, SocketServer
from tests.e2e.harness.trust import socket_trust
from tests.invariants.healthy import request, streams
from tests.invariants.test_invariants import CANNOT, injected
from tests.tables import INJECTORS, SHAPES
from toolstream_core.defects.defect import LIVE, Safety
from toolstream_core.defects.table import DEFECTS
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from openai.resources.responses.responses import ResponsesConnection
    from openai.types.responses import Response

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.invariants.healthy import Healthy

pytestmark = pytest.mark.e2e

RESPONSES = [one for one in streams() if one.protocol == "openai-responses"]
TWO = next(one for one in RESPONSES if one.name == "fragments of two")
REQUEST = {key: value for key, value in request("openai-responses").items() if key != "stream"}
SAFELY = [row.name for row in DEFECTS if row.repair is Safety.SAFE and row.code not in LIVE]
NO_MESSAGES = {"comment-as-data", "empty-data", "unterminated-event", "missing-event-name", "missing-event-type"}
"""Defects of the event stream's syntax, which does not exist on a socket."""


class Call(NamedTuple):
    """A call as the SDK reads it."""

    name: str
    arguments: str


def messages_of(body: bytes) -> list[str]:
    """The events of an event stream as messages of a socket."""
    return [frame.data.decode() for frame in SseFramer().feed(body) if frame.data]


class ProxiedSockets:
    """Opens sockets through a proxy."""

    def __init__(self, proxy: Mitmdump, server: SocketServer, *, compressed: bool = True) -> None:
        self._proxy = proxy
        self._server = server
        self._options: Any = {
            "proxy": proxy.url,
            "ssl": socket_trust(proxy.ca),
            "compression": "deflate" if compressed else None,
            "max_size": None,
        }

    def connect(self, planned: SocketPlan) -> Any:
        """A bare client on a planned socket."""
        return connect(f"wss://127.0.0.1:{self._server.port}{planned.path}/v1/responses", **self._options)

    def openai(self, planned: SocketPlan) -> Any:
        """The official client on a planned socket."""
        sdk = openai.OpenAI(api_key="none", base_url=f"https://127.0.0.1:{self._server.port}{planned.path}/v1")
        return sdk.responses.connect(websocket_connection_options=self._options)

    def responses(self, *responses: Sequence[str], **more: Any) -> list[list[Call]]:
        """The calls of each response as the official client reads them."""
        with self.openai(self._server.plan(SocketPlan(responses, **more))) as connection:
            return [calls_of(response_of(connection)) for _ in responses]


def response_of(connection: ResponsesConnection) -> Response | None:
    """Send a request, and read until the end of the response."""
    connection.response.create(**REQUEST)
    for event in connection:
        if event.type in {"response.completed", "response.incomplete"}:
            return event.response
        if event.type in {"error", "response.failed"}:
            return None
    return None


def calls_of(response: Response | None) -> list[Call]:
    """The calls of a response."""
    items = [] if response is None else response.output
    return [Call(item.name, item.arguments) for item in items if item.type == "function_call"]


@pytest.mark.parametrize("compressed", [True, False], ids=["deflate", "plain"])
@pytest.mark.parametrize("options", [{}, {"toolstream_repair": "safe"}], ids=["nothing on", "safe"])
def test_healthy_messages_are_forwarded_unchanged(
    proxies: Proxies, sockets: SocketServer, options: dict[str, str], compressed: bool
) -> None:
    """Healthy messages and messages of no response are forwarded in order, byte for byte, and text as text."""
    route = ProxiedSockets(proxies.get(**options), sockets, compressed=compressed)
    greeting: list[str | bytes] = ['{"type":"codex.rate_limits","of":1}', "no JSON at all", b"\x00binary"]
    responses = [messages_of(one.body) for one in RESPONSES]
    responses[0] = [json.dumps(json.loads(one), indent=2, ensure_ascii=False) for one in responses[0]]
    planned = sockets.plan(SocketPlan(responses, greeting=greeting))
    with route.connect(planned) as socket:
        received = [socket.recv() for _ in greeting]
        for messages in responses:
            socket.send(json.dumps({"type": "response.create", **REQUEST}))
            received += [socket.recv() for _ in messages]
    assert received == [*greeting, *(message for messages in responses for message in messages)]
    assert [one["type"] for one in planned.received] == ["response.create"] * len(responses)


@pytest.fixture(scope="session")
def healthy(proxies: Proxies, sockets: SocketServer) -> dict[str, list[Call]]:
    """The calls that the official client reads from each healthy stream, by its name."""
    read = ProxiedSockets(proxies.get(), sockets).responses(*(messages_of(one.body) for one in RESPONSES))
    return {one.name: calls for one, calls in zip(RESPONSES, read, strict=True)}


def test_shapes_are_read_alike(proxies: Proxies, sockets: SocketServer, healthy: dict[str, list[Call]]) -> None:
    """The official client reads the same calls from shaped responses, on one socket."""
    shapes = list(SHAPES["openai-responses"])
    route = ProxiedSockets(proxies.get(toolstream_shape=",".join(shapes)), sockets)
    assert route.responses(*(messages_of(one.body) for one in RESPONSES)) == [healthy[one.name] for one in RESPONSES]


ENDS = {"response.completed", "response.incomplete", "response.failed", "response.done"}
"""The types of events that end a response."""


def defective() -> Iterator[tuple[str, Healthy, list[str]]]:
    """Each safely repaired defect in each stream, as messages."""
    for name in INJECTORS["openai-responses"]:
        if name in SAFELY and name not in NO_MESSAGES:
            for one in RESPONSES:
                if (name, one.name) not in CANNOT and (broken := injected(one, name)).changes:
                    yield name, one, messages_of(broken.body)


def ends(messages: Sequence[str]) -> bool:
    """Whether one of the messages ends the response."""
    return any(json.loads(message).get("type") in ENDS for message in messages)


def test_repaired_responses_are_read_alike(
    proxies: Proxies, sockets: SocketServer, healthy: dict[str, list[Call]]
) -> None:
    """The official client reads the intended calls of every safely repaired defect in every stream, on one socket."""
    cases = [(name, one, messages) for name, one, messages in defective() if ends(messages)]
    read = ProxiedSockets(proxies.get(toolstream_repair="safe"), sockets).responses(
        *(messages for _, _, messages in cases)
    )
    wrong = [
        f"{name}: {one.name}" for (name, one, _), calls in zip(cases, read, strict=True) if calls != healthy[one.name]
    ]
    assert len(cases) > 100
    assert wrong == []


def test_a_missing_end_is_added_when_the_socket_closes(
    proxies: Proxies, sockets: SocketServer, healthy: dict[str, list[Call]]
) -> None:
    """If a response has no end, the repair adds it when the provider closes the socket."""
    endless = [(one, messages) for _, one, messages in defective() if not ends(messages)]
    route = ProxiedSockets(proxies.get(toolstream_repair="safe"), sockets)
    for one, messages in endless:
        assert route.responses(messages, close=1000) == [healthy[one.name]]
    assert endless


CREATE = {"type": "response.create", **REQUEST}


def test_responses_of_several_lanes_are_repaired_separately(
    proxies: Proxies, sockets: SocketServer, healthy: dict[str, list[Call]]
) -> None:
    """Interleaved responses keep their order and their lanes, also in messages that a repair adds."""
    names = ["cumulative-arguments", "missing-head", "repeated-stop"]
    responses = [messages_of(injected(TWO, name).body) for name in names]
    planned = sockets.plan(SocketPlan(responses, concurrent=len(names)))
    lanes: dict[str, list[dict[str, Any]]] = {}
    with ProxiedSockets(proxies.get(toolstream_repair="safe"), sockets).connect(planned) as socket:
        for name in names:
            socket.send(json.dumps({**CREATE, "stream_id": name}))
        while not all(any(one["type"] in ENDS for one in lanes.get(name, [])) for name in names):
            event = json.loads(socket.recv(timeout=PATIENCE))
            lanes.setdefault(event["stream_id"], []).append(event)
    assert set(lanes) == set(names)
    for events in lanes.values():
        numbers = [event["sequence_number"] for event in events]
        assert numbers == sorted(set(numbers))
        output = events[-1]["response"]["output"]
        assert [Call(item["name"], item["arguments"]) for item in output] == healthy[TWO.name]
        deltas = [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]
        assert "".join(deltas) == "".join(call.arguments for call in healthy[TWO.name])


def test_a_missing_end_is_added_when_the_next_response_begins(proxies: Proxies, sockets: SocketServer) -> None:
    """If a response has no end, the repair adds it before the next response, which is forwarded unchanged."""
    responses = [messages_of(injected(TWO, "missing-finish").body), messages_of(TWO.body)]
    planned = sockets.plan(SocketPlan(responses))
    with ProxiedSockets(proxies.get(toolstream_repair="safe"), sockets).connect(planned) as socket:
        socket.send(json.dumps(CREATE))
        for _ in responses[0]:
            socket.recv(timeout=PATIENCE)
        socket.send(json.dumps(CREATE))
        after = [socket.recv(timeout=PATIENCE) for _ in range(len(responses[1]) + 1)]
    assert json.loads(after[0])["type"] == "response.completed"
    assert after[1:] == responses[1]


def test_the_provider_gets_its_own_items_back(proxies: Proxies, sockets: SocketServer) -> None:
    """The result of a custom tool call that was repaired from a function call is converted back for the provider."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "apply_patch"}
    done = {**item, "arguments": '{"patch":"*** Begin"}'}
    head = {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}
    events = [
        head,
        {"type": "response.output_item.added", "output_index": 0, "item": {**item, "arguments": ""}},
        {"type": "response.output_item.done", "output_index": 0, "item": done},
        {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": [done]}},
    ]
    responses = [[json.dumps(event) for event in events], messages_of(TWO.body)]
    create = {**CREATE, "tools": [{"type": "custom", "name": "apply_patch"}], "input": []}
    planned = sockets.plan(SocketPlan(responses))
    route = ProxiedSockets(proxies.get(toolstream_repair=["safe", "custom-as-function"]), sockets)
    with route.connect(planned) as socket:
        socket.send(json.dumps(create))
        received = [json.loads(socket.recv(timeout=PATIENCE)) for _ in range(3)]
        while received[-1]["type"] not in ENDS:
            received.append(json.loads(socket.recv(timeout=PATIENCE)))
        [call] = received[-1]["response"]["output"]
        assert (call["type"], call["input"]) == ("custom_tool_call", "*** Begin")
        result = {"type": "custom_tool_call_output", "call_id": "call_1", "output": "done"}
        socket.send(json.dumps({**create, "previous_response_id": "resp_1", "input": [result]}))
        socket.recv(timeout=PATIENCE)
    assert planned.received[1]["input"] == [{**result, "type": "function_call_output"}]


def test_responses_and_disconnects_are_reported(proxies: Proxies, sockets: SocketServer) -> None:
    """Each response is in the log and in JSON Lines with its verdict, also the response that the close truncated."""
    proxy, tap = proxies.with_jsonl()
    planned = sockets.plan(SocketPlan([messages_of(TWO.body), messages_of(TWO.body)[:4]], close=1011))
    ids = [item["call_id"] for item in json.loads(messages_of(TWO.body)[-1])["response"]["output"]]
    with ProxiedSockets(proxy, sockets).connect(planned) as socket:
        socket.send(json.dumps(CREATE))
        events = [json.loads(socket.recv(timeout=PATIENCE)) for _ in messages_of(TWO.body)]
        results = [{"type": "function_call_output", "call_id": call_id, "output": "rain"} for call_id in ids]
        previous = events[-1]["response"]["id"]
        socket.send(json.dumps({**CREATE, "previous_response_id": previous, "input": results}))
        for _ in range(4):
            socket.recv(timeout=PATIENCE)
        with pytest.raises(ConnectionClosedError) as closed:
            socket.recv(timeout=PATIENCE)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1011
    path = f"{planned.path}/v1/responses"
    proxy.wait_for(rf"#\d+ WS 127.0.0.1:\d+{path} ")
    [verdict] = tap.wait_for(lambda line: line["type"] == "verdict" and line["flow"].endswith(".1"))
    assert (verdict["verdict"]["verdict"], verdict["verdict"]["results"]) == ("results-only", ids)
    [end] = tap.wait_for(lambda line: line["type"] == "end" and line["flow"] == f"{verdict['flow'][:-2]}.2")
    assert end["record"]["broken"] == "the server closed the WebSocket with code 1011"


@pytest.mark.parametrize("mode", ["pass", "refuse"])
def test_sockets_are_passed_or_refused(proxies: Proxies, sockets: SocketServer, mode: str) -> None:
    """`toolstream_websocket=pass` forwards messages without repairs; `refuse` rejects the upgrade with 426."""
    proxy = proxies.get(toolstream_websocket=mode, toolstream_repair="safe")
    broken = messages_of(injected(TWO, "cumulative-arguments").body)
    planned = sockets.plan(SocketPlan([broken]))
    route = ProxiedSockets(proxy, sockets)
    if mode == "refuse":
        with pytest.raises(InvalidStatus) as rejection, route.connect(planned):
            pass
        assert rejection.value.response.status_code == 426
        assert not planned.received
        return
    with route.connect(planned) as socket:
        socket.send(json.dumps(CREATE))
        assert [socket.recv(timeout=PATIENCE) for _ in broken] == broken


def test_a_burst_of_messages_keeps_its_order(proxies: Proxies, sockets: SocketServer) -> None:
    """Thousands of messages keep their order when some are rewritten, some forwarded and some dropped."""
    delta = {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0}
    messages = messages_of(injected(TWO, "repeated-stop").body)
    texts = [json.dumps({**delta, "delta": str(number), "sequence_number": 0}) for number in range(3000)]
    planned = sockets.plan(SocketPlan([[*messages[:1], *texts, *messages[1:]]]))
    received: list[dict[str, Any]] = []
    with ProxiedSockets(proxies.get(toolstream_repair="safe"), sockets).connect(planned) as socket:
        socket.send(json.dumps(CREATE))
        while not received or received[-1]["type"] not in ENDS:
            received.append(json.loads(socket.recv(timeout=PATIENCE)))
    deltas = [event["delta"] for event in received if event["type"] == delta["type"]]
    assert deltas == [str(number) for number in range(3000)]
    assert sum(event["type"] == "response.output_item.done" for event in received) == 2


def test_an_incomplete_call_ends_with_an_error(
    proxies: Proxies, sockets: SocketServer, healthy: dict[str, list[Call]], tmp_path: Path
) -> None:
    """An error event replaces the end of a response with an incomplete call; the next response is forwarded.

    A capture has the error in the events that were sent to the client.
    """
    *begin, end = [json.loads(message) for message in messages_of(TWO.body)]
    added = next(at for at, event in enumerate(begin) if event["type"] == "response.output_item.added")
    begin = begin[: added + 2]
    item = {**begin[added]["item"], "arguments": begin[added + 1]["delta"], "status": "completed"}
    end["response"]["output"] = [item]
    incomplete = [json.dumps(event) for event in (*begin, {**end, "sequence_number": len(begin)})]
    planned = sockets.plan(SocketPlan([incomplete, messages_of(TWO.body)]))
    options = {"toolstream_repair": "safe", "toolstream_capture": str(tmp_path)}
    with proxies.make(options) as proxy, ProxiedSockets(proxy, sockets).openai(planned) as connection:
        assert response_of(connection) is None
        assert calls_of(response_of(connection)) == healthy[TWO.name]
    [changed] = (found for path in tmp_path.glob("*.flow") if "sent" in (found := metadata(read(path))))
    sent = [json.loads(line) for line in changed["sent"]["body"].splitlines()]
    assert [event["type"] for event in sent] == [*(event["type"] for event in begin), "error"]


def test_an_incomplete_call_before_an_error_gets_no_second_error(proxies: Proxies, sockets: SocketServer) -> None:
    """If the provider ends an incomplete call with an error, it is forwarded, and the next response follows."""
    begin = [json.loads(message) for message in messages_of(TWO.body)]
    added = next(at for at, event in enumerate(begin) if event["type"] == "response.output_item.added")
    begin = begin[: added + 2]
    error = {"type": "error", "sequence_number": len(begin), "code": "server_error", "message": "gone", "param": None}
    planned = sockets.plan(SocketPlan([[json.dumps(event) for event in (*begin, error)], messages_of(TWO.body)]))
    with ProxiedSockets(proxies.get(toolstream_repair="safe"), sockets).connect(planned) as socket:
        for _ in range(2):
            socket.send(json.dumps(CREATE))
        received = [json.loads(socket.recv(timeout=PATIENCE)) for _ in range(len(begin) + 2)]
    assert [event["type"] for event in received] == [*(event["type"] for event in begin), "error", "response.created"]
