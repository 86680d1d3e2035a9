from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING

from mitmproxy.io import FlowWriter
from mitmproxy.test import tflow
from mitmproxy.websocket import WebSocketMessage
from wsproto.frame_protocol import Opcode

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
    """A socket as mitmproxy saves it, closed by its client."""
    flow = tflow.twebsocketflow()
    flow.request.path = path
    flow.request.host = "api.openai.com"
    flow.request.headers["authorization"] = f"Bearer {SECRET}"
    assert flow.websocket is not None
    flow.websocket.messages = [
        WebSocketMessage(Opcode.TEXT, one.from_client, one.data, timestamp=one.at) for one in messages
    ]
    flow.websocket.closed_by_client, flow.websocket.close_code = True, 1000
    return flow


def file_of(*flows: http.HTTPFlow) -> bytes:
    """A flow file."""
    file = io.BytesIO()
    writer = FlowWriter(file)
    for flow in flows:
        writer.add(flow)
    return file.getvalue()


def test_the_answers_of_a_socket_are_fixtures(tmp_path: Path) -> None:
    """Under the socket's number and their own; a flow beside it keeps its number."""
    path = tmp_path / "a.flow"
    path.write_bytes(file_of(tflow.tflow(resp=True), socket(conversation.two_answers())))
    one, other = load(path)
    assert [fixture.source for fixture in (one, other)] == [f"{path}#1.1", f"{path}#1.2"]
    assert (one.path, one.request_key.dialect) == (conversation.PATH, "openai-responses")
    assert [call.name for call in one.record.calls] == ["get_weather"]
    assert (one.record.findings, one.record.broken, one.record.ended) == ([], None, True)
    assert other.request_key.results == 1
    assert [chunk.after for chunk in one.chunks][:3] == [0, 10, 20]


def test_an_answer_tells_its_lane_its_time_and_how_it_broke() -> None:
    """What its client sent meanwhile too."""
    messages = conversation.two_lanes()
    found = socket_flows(socket(messages[:-1]))
    assert found is not None
    one, other = (response.flow for response in found)
    assert one.metadata["toolstream"]["socket"] == {"stream_id": "a"}
    [[when, text]] = other.metadata["toolstream"]["socket"]["sent"]
    assert (when, json.loads(text)["type"]) == (50, "response.steer")
    assert other.request.timestamp_start == messages[1].at
    assert other.response is not None
    assert other.response.timestamp_start == messages[3].at
    assert one.error is not None
    assert one.error.msg == "the client closed the WebSocket with code 1000"
    assert "broken" not in other.metadata["toolstream"]
    assert "sec-websocket-key" not in one.request.headers


def test_what_the_proxy_sent_in_a_message_s_place_is_what_the_client_got() -> None:
    """The provider's message is marked as dropped, ours as injected."""
    flow = socket(conversation.two_answers())
    assert flow.websocket is not None
    changed = next(one for one in flow.websocket.messages if b"output_item.added" in one.content)
    at = flow.websocket.messages.index(changed)
    changed.dropped = True
    ours = WebSocketMessage(Opcode.TEXT, from_client=False, content=b'{"type":"response.x"}', injected=True)
    flow.websocket.messages.insert(at + 1, ours)
    found = socket_flows(flow)
    assert found is not None
    one, other = (response.flow for response in found)
    assert one.response is not None
    assert b"output_item.added" in (one.response.raw_content or b"")
    sent = one.metadata["toolstream"]["sent"]
    assert b"output_item.added" not in sent["body"]
    assert b'{"type":"response.x"}\n' in sent["body"]
    assert sum(size for _, size in sent["chunks"]) == len(sent["body"])
    assert other.response is not None
    assert other.metadata["toolstream"]["sent"]["body"] == other.response.raw_content


def test_a_socket_of_no_llm_stays_a_flow() -> None:
    """So does a flow that is no socket."""
    plain, other = tflow.tflow(resp=True), tflow.twebsocketflow()
    assert list(unfolded(plain, "a#0")) == [("a#0", plain)]
    assert list(unfolded(other, "a#1")) == [("a#1", other)]


def test_a_secret_that_is_cut_into_messages_is_overwritten_in_them(tmp_path: Path) -> None:
    """Nothing else changes, and `doctor` tells which messages have one; another's socket is not kept."""
    asked = conversation.request(input=[{"role": "user", "content": SECRET}])
    events = conversation.answered(asked, f'get_weather {{"city": "{SECRET}"}}')
    flow = socket(conversation.messages(asked, *events))
    clean = redact(flow)
    assert clean.websocket is not None
    assert flow.websocket is not None
    assert SECRET.encode() not in file_of(clean)
    before, after = flow.websocket.messages, clean.websocket.messages
    assert [len(one.content) for one in before] == [len(one.content) for one in after]
    assert [one.timestamp for one in before] == [one.timestamp for one in after]
    deltas = [json.loads(one.content) for one in after if b"arguments.delta" in one.content]
    assert "*" * 20 in "".join(delta["delta"] for delta in deltas)
    path = tmp_path / "a.flow"
    path.write_bytes(file_of(flow))
    path.chmod(0o600)
    places = [problem.where for problem in examine(path, Redaction()) if problem.kind == "secret"]
    assert "message 0" in places
    path.write_bytes(file_of(clean))
    assert examine(path, Redaction()) == []
    assert redact(tflow.twebsocketflow()).websocket is None


def test_a_redacted_socket_is_read_as_before() -> None:
    """No id, cut or time is lost."""
    flow = socket(conversation.two_lanes())
    before, after = socket_flows(flow), socket_flows(redact(flow))
    assert before is not None
    assert after is not None
    for (_, one), (_, other) in zip(before, after, strict=True):
        read, clean = read_flow(one, "a"), read_flow(other, "a")
        assert read is not None
        assert clean is not None
        assert record_object(read.record) == record_object(clean.record)
        assert read.chunks == clean.chunks


def test_a_repaired_socket_has_its_new_messages_in_the_place_of_the_old() -> None:
    """What stays, stays as it is."""
    flow = socket(conversation.two_lanes())
    assert flow.websocket is not None
    unchanged = rewritten_flows(io.BytesIO(file_of(flow)), "a", lambda saved: NewBody([*saved.chunks, b""]))
    assert unchanged == file_of(flow)
    sources: list[str] = []

    def twice(saved: Exchange) -> NewBody:
        sources.append(saved.facts.source)
        first, *rest = saved.chunks
        return NewBody([first, b"", *rest[1:], b'{"type":"response.last"}\n'])

    written = io.BytesIO(rewritten_flows(io.BytesIO(file_of(flow)), "a", twice))
    one, other = responses_in(written, "b")
    assert sources == ["a#0.1", "a#0.2"]
    assert [json.loads(chunk).get("stream_id") for chunk in one.chunks] == ["a"] * len(list(one.chunks))
    assert b'"response.completed"' in list(other.chunks)[-1]
