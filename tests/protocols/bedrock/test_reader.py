"""The reader of Converse messages."""

from __future__ import annotations

import json

import pytest

from tests.protocols.bedrock.messages import BEGIN, END, body, calls, finding_names, more, run, start, stop, text
from toolstream_core.model import Kind
from toolstream_core.protocols.bedrock.reader import quiet, read, read_response, recognise
from toolstream_core.wire.aws_event_stream import EventStreamFramer, fresh

CALL = [start(24), more(24, '{"a":'), more(24, "1}"), stop(24)]


@pytest.mark.parametrize("keyed", [False, True])
def test_calls_are_read_from_named_and_keyed_events(keyed: bool) -> None:
    """Calls are read from events named by their messages, and from events keyed by name in a chunk."""
    _, record = run(body([*BEGIN, text(0, "Hm."), stop(0), *CALL, *END], keyed=keyed))
    assert (record.protocol, record.finish, record.ended) == ("bedrock", ["tool_use"], True)
    assert calls(record) == [("tooluse_24", "f", {"a": 1})]
    assert record.findings == []


@pytest.mark.parametrize("name", ["throttlingException", "modelStreamErrorException", "InternalFailure"])
def test_exceptions_and_errors_are_reported(name: str) -> None:
    """Modelled exceptions, and errors with only a code, are reported."""
    raw = body([*BEGIN, *CALL[:2], (name, {"message": "Slow down."})])
    _, record = run(raw)
    assert record.error == f"{name}: Slow down."
    assert finding_names(record) == {"in-band-error", "cut-off-call"}


def test_only_text_is_quiet() -> None:
    """A text delta is quiet for any text; other events are not quiet."""
    data = json.dumps(text(0, '"tool')[1], separators=(",", ":")).encode()
    assert quiet(fresh(data, "contentBlockDelta").encode())
    for kind, payload in [*BEGIN, *CALL, *END]:
        raw = fresh(json.dumps(payload, separators=(",", ":")).encode(), kind).encode()
        assert not quiet(raw)


def test_only_its_own_events_are_recognised() -> None:
    """Only events of Converse are recognised; `metadata` alone is not specific."""
    assert recognise("messageStart", {"role": "assistant"})
    assert recognise("chunk", {"messageStop": {"stopReason": "end_turn"}})
    assert recognise("", {"output": {"message": {"content": []}}, "stopReason": "end_turn"})
    assert not recognise("metadata", {"usage": {}})
    assert not recognise("messageStart", {"type": "message_start"})
    assert not recognise("", {"contentBlockDelta": "text"})


def test_server_tools_are_recognised() -> None:
    """A call of a server tool is not a call for the client."""
    tool = {"toolUse": {"toolUseId": "t", "name": "code", "type": "server_tool_use"}}
    raw = fresh(json.dumps({"contentBlockIndex": 0, "start": tool}).encode(), "contentBlockStart").encode()
    [frame] = EventStreamFramer().feed(raw)
    assert read(frame).fragments[0].kind is Kind.SERVER


def test_an_unstreamed_response_is_read() -> None:
    """Text and calls of an unstreamed response are read, and the message of an error."""
    tool = {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}}
    content = read_response({"output": {"message": {"content": [{"text": "Hm."}, tool]}}, "stopReason": "tool_use"})
    [fragment] = content.fragments
    assert (fragment.id, fragment.name, fragment.arguments, content.text) == ("t", "f", '{"a":1}', "Hm.")
    assert read_response({"message": "Too many requests"}).error == "Too many requests"
