from __future__ import annotations

import json
import zlib
from typing import TYPE_CHECKING

import pytest

from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts
from toolstream_core.wire.frame import MAX_FRAME

if TYPE_CHECKING:
    from toolstream_core.model import Record

TEXT = b'data: {"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n'
CALL = (
    b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","type":"function","function":{"name":"f",'
    b'"arguments":"{\\"a\\":"}}]}}]}\n\n'
)
FINISH = b'data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}\n\n'
MORE = b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"Dave}"}}]}}]}\n\n'
STOP = FINISH.replace(b"tool_calls", b"stop")
DONE = b"data: [DONE]\n\n"
ERROR = b'data: {"error":{"message":"overloaded"}}\n\n'


def read(*body: bytes, broken: str | None = None, coding: str = "") -> Record:
    """The record of a chat stream."""
    exchange = StreamFacts(path="/v1/chat/completions", content_encoding=coding)
    record = read_body(body, exchange, broken=broken)
    assert record is not None
    return record


def names(record: Record) -> list[str]:
    """What is wrong with it."""
    return [finding.name for finding in record.findings]


@pytest.mark.parametrize("body", [TEXT + STOP, TEXT + STOP + DONE, b": hi\n\n" + STOP])
def test_a_stream_that_ends_in_its_own_way_is_clean(body: bytes) -> None:
    """Also without `[DONE]`."""
    assert names(read(body)) == []


@pytest.mark.parametrize("body", [ERROR, TEXT + ERROR])
def test_a_stream_that_says_itself_that_it_failed_is_not_called_truncated(body: bytes) -> None:
    """The error is what there is to tell."""
    assert names(read(body)) == ["in-band-error"]


@pytest.mark.parametrize("broken", [None, "server closed connection", "Client disconnected."])
def test_a_body_that_ends_before_the_answer_is_truncated(broken: str | None) -> None:
    """It is an error, unless the client itself disconnected."""
    [finding] = read(TEXT, broken=broken).findings
    assert finding.name == "truncated-stream"
    assert finding.severity == ("note" if broken == "Client disconnected." else "error")
    assert (broken or "the body ended") in finding.message


def test_a_call_that_the_client_did_not_wait_for_is_no_error() -> None:
    """Also inside an event; but a provider that declared the call complete is at fault."""
    left = read(CALL, MORE[:-9], broken="Client disconnected.").findings
    assert [one.name for one in left] == ["unterminated-event", "truncated-stream", "cut-off-call"]
    assert {one.severity for one in left} == {"note"}
    declared = read(CALL, FINISH, broken="Client disconnected.").findings
    assert [(one.name, one.severity) for one in declared if one.name == "cut-off-call"] == [("cut-off-call", "error")]


def test_a_break_after_the_answer_is_told() -> None:
    """Most clients throw the whole answer away then."""
    assert names(read(TEXT + STOP + DONE, broken="server closed connection")) == ["unterminated-body"]


@pytest.mark.parametrize("broken", ["Client disconnected.", "stream reset by client (CANCEL)"])
def test_a_client_that_has_heard_everything_may_leave(broken: str) -> None:
    """Many close the connection on `[DONE]`."""
    assert names(read(TEXT + STOP + DONE, broken=broken)) == []


def test_a_break_after_an_error_is_not_called_a_whole_answer() -> None:
    """The error is what there is to tell."""
    assert names(read(TEXT + ERROR, broken="server closed connection")) == ["in-band-error"]


def test_a_call_without_all_its_arguments_is_cut_off() -> None:
    """Also where the stream ends as if all were well."""
    record = read(CALL + FINISH)
    [finding] = record.findings
    assert (finding.name, finding.event, finding.call) == ("cut-off-call", 0, 0)
    assert names(read(CALL)) == ["truncated-stream", "cut-off-call"]


def test_arguments_that_were_not_cut_are_not_called_so() -> None:
    """Brackets all closed, and still nobody can parse them: the message says that."""
    [finding] = read(CALL, MORE, FINISH, DONE).findings
    assert (finding.name, finding.message) == ("invalid-arguments", "the arguments of f are not valid JSON")
    [finding] = read(CALL, FINISH).findings
    assert finding.message == "the arguments of f are incomplete"


@pytest.mark.parametrize("begin", ["{", '{"'])
def test_a_lost_beginning_of_arguments_is_named(begin: str) -> None:
    """Parsers lose it with the event of the name (vllm-project/vllm#35716, vllm-project/vllm#34887)."""
    text = '{"x": {"y": 1}}'.removeprefix(begin)
    entry = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
    chunk = {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]}
    [finding] = read(f"data: {json.dumps(chunk)}\n\n".encode(), FINISH, DONE).findings
    assert finding.name == "invalid-arguments"
    assert finding.message == f"the arguments of f are not valid JSON: {begin} is missing at their beginning"


def test_what_could_not_be_read_is_told_and_nothing_is_concluded_from_it() -> None:
    """The rest of the body may have said anything."""
    record = read(zlib.compress(CALL, 0)[:-4], b"\x00" * 4, coding="deflate")
    assert names(record) == ["unreadable-body"]
    assert record.calls


def test_data_that_is_no_json_is_told_once() -> None:
    """At its first event."""
    record = read(TEXT + b"data: <html>\n\n" * 3 + STOP)
    assert [(finding.name, finding.event) for finding in record.findings] == [("unparsable-data", 1)]


def test_an_event_without_its_blank_line_is_a_note() -> None:
    """The standard does not dispatch it, and most readers do."""
    record = read(TEXT + STOP.rstrip())
    assert [(finding.name, finding.severity) for finding in record.findings] == [("unterminated-event", "note")]


def test_a_frame_over_the_cap_is_told() -> None:
    """It went through unread, so the calls may lack something."""
    huge = b'data: "' + b"x" * (MAX_FRAME + 1) + b'"\n\n'
    assert names(read(TEXT + huge + STOP)) == ["oversize-frame"]
