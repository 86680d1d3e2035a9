from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from mitmproxy.test import tflow
from mitmproxy.websocket import WebSocketMessage
from wsproto.frame_protocol import Opcode

from tests.proxy.flows import flow_file
from tests.sockets import conversation
from toolstream_core.redaction import Redaction
from toolstream_core.report.jsonform import record_object
from toolstream_core.saved.examine import examine
from toolstream_core.saved.exchange import NewBody
from toolstream_core.saved.flow import read_flow
from toolstream_core.saved.flowfile import responses_in, rewritten_flows, socket_flows, unfolded
from toolstream_core.saved.read import load
from toolstream_core.saved.redact import redact

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mitmproxy import http

    from toolstream_core.saved.exchange import Exchange
    from toolstream_core.sockets.saved import SavedMessage

SECRET = "sk-verysecretvalue123456789012345678"


def socket(messages: Iterable[SavedMessage], path: str = conversation.PATH) -> http.HTTPFlow:
    """Return a socket as mitmproxy saves it, closed by its client."""
    flow = tflow.twebsocketflow()
    flow.request.path = path
    flow.request.host = "api.openai.com"
    flow.request.headers["authorization"] = f"Bearer {SECRET}"
    assert flow.websocket is not None
    flow.websocket.messages = [
        WebSocketMessage(Opcode.TEXT, message.from_client, message.data, timestamp=message.at) for message in messages
    ]
    flow.websocket.closed_by_client, flow.websocket.close_code = True, 1000
    return flow


def test_the_responses_of_a_socket_are_fixtures(tmp_path: Path) -> None:
    """A fixture has the number of the socket and its own; other flows keep their numbers."""
    path = tmp_path / "a.flow"
    path.write_bytes(flow_file(tflow.tflow(resp=True), socket(conversation.two_responses())))
    first, second = load(path)
    assert [fixture.source for fixture in (first, second)] == [f"{path}#1.1", f"{path}#1.2"]
    assert (first.path, first.request_key.protocol) == (conversation.PATH, "openai-responses")
    assert [call.name for call in first.record.calls] == ["get_weather"]
    assert (first.record.findings, first.record.broken, first.record.ended) == ([], None, True)
    assert second.request_key.results == 1
    assert [chunk.after for chunk in first.chunks][:3] == [0, 10, 20]


def test_a_socket_response_has_its_lane_time_and_error() -> None:
    """It also has the client's messages during the response."""
    messages = conversation.two_lanes()
    found = socket_flows(socket(messages[:-1]))
    assert found is not None
    first, second = (response.flow for response in found)
    assert first.metadata["toolstream"]["socket"] == {"stream_id": "a"}
    [[when, text]] = second.metadata["toolstream"]["socket"]["sent"]
    assert (when, json.loads(text)["type"]) == (50, "response.steer")
    assert second.request.timestamp_start == messages[1].at
    assert second.response is not None
    assert second.response.timestamp_start == messages[3].at
    assert first.error is not None
    assert first.error.msg == "the client closed the WebSocket with code 1000"
    assert "broken" not in second.metadata["toolstream"]
    assert "sec-websocket-key" not in first.request.headers


def test_injected_messages_are_the_sent_response() -> None:
    """The provider's message is marked as dropped, and toolstream's message as injected."""
    flow = socket(conversation.two_responses())
    assert flow.websocket is not None
    changed = next(first for first in flow.websocket.messages if b"output_item.added" in first.content)
    at = flow.websocket.messages.index(changed)
    changed.dropped = True
    injected = WebSocketMessage(Opcode.TEXT, from_client=False, content=b'{"type":"response.x"}', injected=True)
    flow.websocket.messages.insert(at + 1, injected)
    found = socket_flows(flow)
    assert found is not None
    first, second = (response.flow for response in found)
    assert first.response is not None
    assert b"output_item.added" in (first.response.raw_content or b"")
    sent = first.metadata["toolstream"]["sent"]
    assert b"output_item.added" not in sent["body"]
    assert b'{"type":"response.x"}\n' in sent["body"]
    assert sum(size for _, size in sent["chunks"]) == len(sent["body"])
    assert second.response is not None
    assert second.metadata["toolstream"]["sent"]["body"] == second.response.raw_content


def test_other_flows_have_no_socket_responses() -> None:
    """A socket that is not from an LLM and an HTTP flow stay flows."""
    plain, other = tflow.tflow(resp=True), tflow.twebsocketflow()
    assert list(unfolded(plain, "a#0")) == [("a#0", plain)]
    assert list(unfolded(other, "a#1")) == [("a#1", other)]


def test_a_secret_across_messages_is_redacted(tmp_path: Path) -> None:
    """Lengths and times do not change, `doctor` names the messages, and another socket is not saved."""
    request = conversation.request(input=[{"role": "user", "content": SECRET}])
    events = conversation.response_to(request, f'get_weather {{"city": "{SECRET}"}}')
    flow = socket(conversation.messages(request, *events))
    clean = redact(flow)
    assert clean.websocket is not None
    assert flow.websocket is not None
    assert SECRET.encode() not in flow_file(clean)
    before, after = flow.websocket.messages, clean.websocket.messages
    assert [len(message.content) for message in before] == [len(message.content) for message in after]
    assert [message.timestamp for message in before] == [message.timestamp for message in after]
    deltas = [json.loads(message.content) for message in after if b"arguments.delta" in message.content]
    assert "*" * 20 in "".join(delta["delta"] for delta in deltas)
    path = tmp_path / "a.flow"
    path.write_bytes(flow_file(flow))
    path.chmod(0o600)
    places = [problem.where for problem in examine(path, Redaction()) if problem.kind == "secret"]
    assert "message 0" in places
    path.write_bytes(flow_file(clean))
    assert examine(path, Redaction()) == []
    assert redact(tflow.twebsocketflow()).websocket is None


def test_a_redacted_socket_is_read_as_before() -> None:
    """Ids, chunks and times do not change."""
    flow = socket(conversation.two_lanes())
    before, after = socket_flows(flow), socket_flows(redact(flow))
    assert before is not None
    assert after is not None
    for (_, flow_before), (_, flow_after) in zip(before, after, strict=True):
        read, clean = read_flow(flow_before, "a"), read_flow(flow_after, "a")
        assert read is not None
        assert clean is not None
        assert record_object(read.record) == record_object(clean.record)
        assert read.chunks == clean.chunks


def test_a_rewritten_socket_keeps_its_other_messages() -> None:
    """A socket without changes is written byte for byte."""
    flow = socket(conversation.two_lanes())
    assert flow.websocket is not None
    unchanged = rewritten_flows(io.BytesIO(flow_file(flow)), "a", lambda saved: NewBody([*saved.chunks, b""]))
    assert unchanged == flow_file(flow)
    sources: list[str] = []

    def twice(saved: Exchange) -> NewBody:
        sources.append(saved.facts.source)
        first, *rest = saved.chunks
        return NewBody([first, b"", *rest[1:], b'{"type":"response.last"}\n'])

    written = io.BytesIO(rewritten_flows(io.BytesIO(flow_file(flow)), "a", twice))
    first_response, second_response = responses_in(written, "b")
    assert sources == ["a#0.1", "a#0.2"]
    assert [json.loads(chunk).get("stream_id") for chunk in first_response.chunks] == ["a"] * len(
        list(first_response.chunks)
    )
    assert b'"response.completed"' in list(second_response.chunks)[-1]
