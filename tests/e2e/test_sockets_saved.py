"""Sockets through a proxy: captured, served from the captures, and captured again."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import openai
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.e2e.harness.captures import read
from tests.e2e.harness.socket_client import exchange
from tests.e2e.harness.socket_server import SocketPlan, SocketServer
from tests.proxy.flows import flow_file
from tests.saved.test_sockets import socket
from tests.sockets import conversation
from tests.sockets.test_saved import apart
from toolstream_core.cli.main import main
from toolstream_core.saved.flowfile import unfolded
from toolstream_core.saved.read import load
from toolstream_core.sockets.lines import line_of
from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tests.e2e.harness.proxies import Proxies
    from toolstream_core.saved.flow import LlmFlow
    from toolstream_core.sockets.saved import SavedMessage

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def session() -> Iterator[ProxySession]:
    """The proxy of all tests in this file."""
    with ProxySession() as shared:
        yield shared


def requests(messages: Sequence[SavedMessage]) -> list[dict[str, Any]]:
    """The requests of a saved socket."""
    sent = [json.loads(message.data) for message in messages if message.from_client]
    return [message for message in sent if message["type"] == "response.create"]


def responses_of(messages: Sequence[SavedMessage]) -> list[list[str]]:
    """The messages of each response of a saved socket."""
    return [[one.data.decode() for one in response.messages] for response in apart(messages)]


def url(session: ProxySession) -> str:
    """The URL of the session's Responses socket."""
    return f"ws://127.0.0.1:{session.port}/v1/responses"


def comparable(fixtures: Sequence[LlmFlow]) -> list[tuple[Any, ...]]:
    """The parts of captures that are equal for equal traffic."""
    return [
        (one.request, [chunk.data for chunk in one.chunks], one.record.broken, one.request_key, one.line_ends.places)
        for one in fixtures
    ]


def captured(folder: Path) -> list[LlmFlow]:
    """The captures in a folder, in the order of their requests."""
    return sorted(load(folder), key=lambda one: json.dumps(one.request))


@pytest.mark.parametrize("repair", [(), ("safe",)], ids=["plain", "repairing"])
def test_a_served_capture_equals_the_original(session: ProxySession, tmp_path: Path, repair: tuple[str, ...]) -> None:
    """Captured responses are served unchanged, on one socket and in two lanes, with and without compression.

    Messages of several lines are unchanged, too, with and without repairs.
    """
    sockets = [conversation.pretty(conversation.two_responses()), conversation.two_lanes()]
    first, second = tmp_path / "first", tmp_path / "second"
    session.reset(Setup(network="loopback", repair=repair, options={"toolstream_capture": str(first)}))
    with SocketServer() as server:
        plans = [server.plan(SocketPlan(responses_of(one), concurrent=at)) for at, one in enumerate(sockets, 1)]
        original = [
            exchange(f"ws://127.0.0.1:{server.port}{plan.path}/v1/responses", requests(one), 2, proxy=session.proxy_url)
            for plan, one in zip(plans, sockets, strict=True)
        ]
    session.reset(Setup(flows=(first,), strict=True, repair=repair, options={"toolstream_capture": str(second)}))
    for compression in ("deflate", None):
        served = [exchange(url(session), requests(one), 2, compression=compression) for one in sockets]
        for one, other in zip(served, original, strict=True):
            assert sorted(one) == sorted(other)
        assert served[0] == original[0]
    assert {one.response for one in session.exchanges() if one.request.protocol} == {"exact"}
    session.reset(Setup())
    before, after = captured(first), captured(second)
    assert comparable(after)[::2] == comparable(after)[1::2] == comparable(before)
    assert [one.record.findings for one in after] == [[]] * 8


def test_an_sdk_reads_synthetic_calls_over_a_socket(session: ProxySession) -> None:
    """After a warm-up request, the official client reads a synthetic call, and its result gets a verdict."""
    session.reset(Setup(calls=('get_weather {"city": "Oslo"}',)))
    client = openai.OpenAI(api_key="sk-test", base_url=session.base_url("openai-responses"))
    body: Any = {"model": "gpt-5", "tools": conversation.TOOLS, "input": [{"role": "user", "content": "hi"}]}
    with client.responses.connect() as connection:
        connection.response.create(**body, generate=False)
        warm = completed(connection)
        assert warm.output == []
        connection.response.create(**body, previous_response_id=warm.id)
        [call] = completed(connection).output
        assert (call.name, json.loads(call.arguments)) == ("get_weather", {"city": "Oslo"})
        result = {"type": "function_call_output", "call_id": call.call_id, "output": "sunny"}
        connection.response.create(**{**body, "input": [result]})
        assert completed(connection).output_text
    exchanges = [one for one in session.exchanges() if one.request.protocol]
    assert [one.request["input"] for one in exchanges] == [body["input"], body["input"], [result]]
    assert [len(one.calls) for one in exchanges] == [0, 1, 0]
    assert exchanges[1].verdict is not None
    assert exchanges[1].verdict.understood


def completed(connection: Any) -> Any:
    """The next response, when it is complete."""
    for event in connection:
        assert event.type != "error", event
        if event.type == "response.completed":
            return event.response
    raise AssertionError


def test_a_response_over_http_is_served_on_a_socket(session: ProxySession, tmp_path: Path) -> None:
    """A response that was captured over HTTP is served on a socket; an unrecorded request gets an error message."""
    message = conversation.request()
    body = {key: value for key, value in message.items() if key != "type"}
    session.reset(Setup(calls=('get_weather {"city": "Oslo"}',), options={"toolstream_capture": str(tmp_path)}))
    client = openai.OpenAI(api_key="sk-test", base_url=session.base_url("openai-responses"))
    client.responses.create(**body)
    with client.responses.stream(**body, metadata={"of": "stream"}) as stream:
        stream.until_done()
    session.reset(Setup(flows=(tmp_path,), strict=True))
    plain = exchange(url(session), [message], 1)
    assert [json.loads(one)["type"] for one in (plain[0], plain[-1])] == ["response.created", "response.completed"]
    kinds = [event.type for event in client.responses.create(**body, stream=True)]
    assert kinds == [json.loads(one)["type"] for one in plain]
    [rejection] = exchange(url(session), [conversation.request(model="other", stream_id="a")], 1)
    error = json.loads(rejection)
    assert (error["type"], error["status"], error["stream_id"]) == ("error", 404, "a")
    assert "no saved response" in error["error"]["message"]


def test_a_saved_socket_is_repaired_like_a_served_one(session: ProxySession, tmp_path: Path) -> None:
    """Faults and repairs change the messages of a file and of a served socket in the same way."""
    healthy, broken, repaired = (tmp_path / name for name in ("healthy.flow", "broken.flow", "repaired.flow"))
    sockets = [conversation.pretty(conversation.two_responses()), conversation.two_lanes()]
    healthy.write_bytes(flow_file(*(socket(one) for one in sockets)))
    assert main(["fault", "missing-index", str(healthy), "-o", str(broken)]) == 0
    assert main(["repair", "--repair", "missing-index", str(broken), "-o", str(repaired)]) == 0
    served = {}
    for name, setup in {
        "healthy": Setup(flows=(healthy,)),
        "broken": Setup(flows=(broken,)),
        "breaking": Setup(flows=(healthy,), fault=("missing-index",)),
        "repaired": Setup(flows=(repaired,)),
        "repairing": Setup(flows=(broken,), repair=("missing-index",)),
    }.items():
        session.reset(setup)
        served[name] = [sorted(exchange(url(session), requests(one), 2)) for one in sockets]
    assert served["breaking"] == served["broken"] != served["healthy"]
    assert served["repairing"] == served["repaired"] != served["broken"]
    [fixed, *_] = load(repaired)
    assert fixed.record.findings == []


def test_a_truncated_socket_is_served_with_its_timing(session: ProxySession, tmp_path: Path) -> None:
    """A response that was truncated inside a call is served with its timing and its close code."""
    path = tmp_path / "cut.flow"
    cut = socket(conversation.two_responses()[:6])
    assert cut.websocket is not None
    cut.websocket.closed_by_client, cut.websocket.close_code = False, 1011
    path.write_bytes(flow_file(cut))
    session.reset(Setup(flows=(path,), speed=0.5))
    start = time.monotonic()
    with connect(url(session)) as connection:
        connection.send(json.dumps(conversation.request()))
        received = [connection.recv(10) for _ in range(5)]
        with pytest.raises(ConnectionClosed):
            connection.recv(10)
        assert connection.close_code == 1011
    assert time.monotonic() - start >= 2 * 0.04
    assert [str(message).encode() for message in received] == [one.data for one in conversation.two_responses()[1:6]]
    [served] = (one for one in session.exchanges() if one.request.protocol)
    assert served.broken == "the server closed the WebSocket with code 1011"


def test_changed_messages_are_saved_as_received_and_as_sent(proxies: Proxies, tmp_path: Path) -> None:
    """Captures and mitmdump's flow file have the provider's messages and the changed messages for the client."""
    written, folder = tmp_path / "written.flow", tmp_path / "captures"
    messages = [json.loads(one.data) for one in conversation.two_lanes() if one.from_client]
    options = {"toolstream_capture": str(folder), "toolstream_fault": "missing-index", "toolstream_repair": "all"}
    with SocketServer() as server:
        plan = server.plan(SocketPlan(responses_of(conversation.two_lanes()), concurrent=2))
        with proxies.make({**options, "save_stream_file": str(written)}) as proxy:
            address = f"ws://127.0.0.1:{server.port}{plan.path}/v1/responses"
            received = exchange(address, messages[:2], 2, also=messages[2:], proxy=proxy.url)
    captures, flows = load(folder), [flow for _, flow in unfolded(read(written), "a")]
    assert [one.source for one in load(written)] == [f"{written}#0.1", f"{written}#0.2"]
    for capture, flow in zip(sorted(captures, key=lambda one: str(one.request)), flows, strict=True):
        saved = read(Path(capture.source.partition("#")[0]))
        metadata, kept = saved.metadata["toolstream"], flow.metadata["toolstream"]
        assert saved.response is not None
        assert flow.response is not None
        assert saved.response.raw_content == flow.response.raw_content == capture.body
        lane = metadata["socket"]["stream_id"]
        sent = [line_of(one) for one in received if json.loads(one)["stream_id"] == lane]
        assert metadata["sent"]["body"] == kept["sent"]["body"] == b"".join(sent) != capture.body
        assert [size for _, size in metadata["sent"]["chunks"]] == [len(line) for line in sent]
        for socket_note in (metadata["socket"], kept["socket"]):
            kinds = [json.loads(text)["type"] for _, text in socket_note.get("sent", [])]
            assert kinds == (["response.steer"] if lane == "b" else [])
