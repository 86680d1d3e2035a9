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
    """Return the record of a Chat Completions stream."""
    exchange = StreamFacts(path="/v1/chat/completions", content_encoding=coding)
    record = read_body(body, exchange, broken=broken)
    assert record is not None
    return record


def names(record: Record) -> list[str]:
    """Return the names of the findings."""
    return [finding.name for finding in record.findings]


@pytest.mark.parametrize("body", [TEXT + STOP, TEXT + STOP + DONE, b": hi\n\n" + STOP])
def test_a_valid_end_has_no_findings(body: bytes) -> None:
    """A stream with a finish reason has no findings, also without `[DONE]`."""
    assert names(read(body)) == []


@pytest.mark.parametrize("body", [ERROR, TEXT + ERROR])
def test_a_stream_that_ends_with_an_error_is_not_truncated(body: bytes) -> None:
    """A stream that ends with an error is not reported as truncated."""
    assert names(read(body)) == ["in-band-error"]


@pytest.mark.parametrize("broken", [None, "server closed connection", "Client disconnected."])
def test_a_stream_without_an_end_is_truncated(broken: str | None) -> None:
    """A stream without an end is reported as an error, or as a note if the client disconnected."""
    [finding] = read(TEXT, broken=broken).findings
    assert finding.name == "truncated-stream"
    assert finding.severity == ("note" if broken == "Client disconnected." else "error")
    assert (broken or "the body ended") in finding.message


def test_an_incomplete_call_after_a_client_disconnect_is_a_note() -> None:
    """An incomplete call after the client disconnected is a note, unless the provider sent a finish reason."""
    disconnected = read(CALL, MORE[:-9], broken="Client disconnected.").findings
    assert [one.name for one in disconnected] == ["unterminated-event", "truncated-stream", "cut-off-call"]
    assert {one.severity for one in disconnected} == {"note"}
    finished = read(CALL, FINISH, broken="Client disconnected.").findings
    assert [(one.name, one.severity) for one in finished if one.name == "cut-off-call"] == [("cut-off-call", "error")]


def test_a_disconnect_after_the_end_is_reported() -> None:
    """A disconnect by the server after the end is reported: most clients discard the response."""
    assert names(read(TEXT + STOP + DONE, broken="server closed connection")) == ["unterminated-body"]


@pytest.mark.parametrize("broken", ["Client disconnected.", "stream reset by client (CANCEL)"])
def test_a_client_may_disconnect_after_the_end(broken: str) -> None:
    """A client that disconnects after the end causes no finding."""
    assert names(read(TEXT + STOP + DONE, broken=broken)) == []


def test_a_disconnect_after_an_error_is_not_reported() -> None:
    """A stream that ends with an error is not reported as truncated."""
    assert names(read(TEXT + ERROR, broken="server closed connection")) == ["in-band-error"]


def test_a_call_with_truncated_arguments_is_cut_off() -> None:
    """A call with truncated arguments is reported as cut off, with and without a normal end."""
    record = read(CALL + FINISH)
    [finding] = record.findings
    assert (finding.name, finding.event, finding.call) == ("cut-off-call", 0, 0)
    assert names(read(CALL)) == ["truncated-stream", "cut-off-call"]


def test_invalid_arguments_are_not_reported_as_cut_off() -> None:
    """Arguments with closed brackets that are not JSON are reported as invalid, not as cut off."""
    [finding] = read(CALL, MORE, FINISH, DONE).findings
    assert (finding.name, finding.message) == ("invalid-arguments", "the arguments of f are not valid JSON")
    [finding] = read(CALL, FINISH).findings
    assert finding.message == "the arguments of f are incomplete"


@pytest.mark.parametrize("begin", ["{", '{"'])
def test_a_lost_beginning_of_arguments_is_reported(begin: str) -> None:
    """The lost beginning of arguments is named in the message (vllm-project/vllm#35716, vllm-project/vllm#34887)."""
    text = '{"x": {"y": 1}}'.removeprefix(begin)
    entry = {"index": 0, "id": "c", "type": "function", "function": {"name": "f", "arguments": text}}
    chunk = {"id": "x", "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]}
    [finding] = read(f"data: {json.dumps(chunk)}\n\n".encode(), FINISH, DONE).findings
    assert finding.name == "invalid-arguments"
    assert finding.message == f"the arguments of f are not valid JSON: {begin} is missing at their beginning"


def test_an_unreadable_body_is_the_only_finding() -> None:
    """A body that cannot be decompressed is the only finding: its rest is unknown."""
    record = read(zlib.compress(CALL, 0)[:-4], b"\x00" * 4, coding="deflate")
    assert names(record) == ["unreadable-body"]
    assert record.calls


def test_invalid_json_is_reported_once() -> None:
    """Data that is not valid JSON is reported once, at its first event."""
    record = read(TEXT + b"data: <html>\n\n" * 3 + STOP)
    assert [(finding.name, finding.event) for finding in record.findings] == [("unparsable-data", 1)]


def test_an_event_without_its_blank_line_is_a_note() -> None:
    """An unterminated last event is a note: the standard does not dispatch it, but most clients do."""
    record = read(TEXT + STOP.rstrip())
    assert [(finding.name, finding.severity) for finding in record.findings] == [("unterminated-event", "note")]


def test_an_oversize_event_is_reported() -> None:
    """An event beyond the size limit, which is forwarded unread, is reported."""
    huge = b'data: "' + b"x" * (MAX_FRAME + 1) + b'"\n\n'
    assert names(read(TEXT + huge + STOP)) == ["oversize-frame"]


@pytest.mark.parametrize("end", [STOP.replace(b'"stop"', b'"tool_calls"'), b""], ids=["promised calls", "no end"])
def test_an_oversize_event_may_contain_the_missing_parts(end: bytes) -> None:
    """After an oversize event, neither calls nor a finish reason are reported as missing."""
    huge = b'data: "' + b"x" * (MAX_FRAME + 1) + b'"\n\n'
    assert names(read(TEXT + huge + end)) == ["oversize-frame"]
