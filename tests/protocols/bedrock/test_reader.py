"""Converse messages as they are read."""

from __future__ import annotations

import json

import pytest

from tests.protocols.bedrock.messages import BEGIN, END, body, calls, more, run, start, stop, text, told
from toolstream_core.model import Kind
from toolstream_core.protocols.bedrock.reader import quiet, read, read_response, recognise
from toolstream_core.wire.aws_event_stream import EventStreamFramer, fresh

CALL = [start(24), more(24, '{"a":'), more(24, "1}"), stop(24)]


@pytest.mark.parametrize("keyed", [False, True])
def test_calls_are_read_in_both_ways_of_saying_events(keyed: bool) -> None:
    """By the messages' names, and each under its name in a chunk."""
    _, record = run(body([*BEGIN, text(0, "Hm."), stop(0), *CALL, *END], keyed=keyed))
    assert (record.dialect, record.finish, record.ended) == ("bedrock", ["tool_use"], True)
    assert calls(record) == [("tooluse_24", "f", {"a": 1})]
    assert record.findings == []


@pytest.mark.parametrize("name", ["throttlingException", "modelStreamErrorException", "InternalFailure"])
def test_exceptions_and_errors_are_told(name: str) -> None:
    """Those that are modelled, and those that have a code alone."""
    raw = body([*BEGIN, *CALL[:2], (name, {"message": "Slow down."})])
    _, record = run(raw)
    assert record.error == f"{name}: Slow down."
    assert told(record) == {"in-band-error", "cut-off-call"}


def test_text_is_quiet_and_nothing_else_is() -> None:
    """Whatever stands in the text."""
    said = json.dumps(text(0, '"toolUse'.replace("toolUse", "tool"))[1], separators=(",", ":")).encode()
    assert quiet(fresh(said, "contentBlockDelta").encode())
    for kind, payload in [*BEGIN, *CALL, *END]:
        raw = fresh(json.dumps(payload, separators=(",", ":")).encode(), kind).encode()
        assert not quiet(raw)


def test_only_its_own_events_are_recognised() -> None:
    """`metadata` is a word of others too."""
    assert recognise("messageStart", {"role": "assistant"})
    assert recognise("chunk", {"messageStop": {"stopReason": "end_turn"}})
    assert recognise("", {"output": {"message": {"content": []}}, "stopReason": "end_turn"})
    assert not recognise("metadata", {"usage": {}})
    assert not recognise("messageStart", {"type": "message_start"})
    assert not recognise("", {"contentBlockDelta": "text"})


def test_bedrock_runs_calls_of_its_own() -> None:
    """They are the provider's."""
    tool = {"toolUse": {"toolUseId": "t", "name": "code", "type": "server_tool_use"}}
    raw = fresh(json.dumps({"contentBlockIndex": 0, "start": tool}).encode(), "contentBlockStart").encode()
    [frame] = EventStreamFramer().feed(raw)
    assert read(frame).fragments[0].kind is Kind.SERVER


def test_a_whole_answer() -> None:
    """Text, calls and the stop reason; an error has a message alone."""
    tool = {"toolUse": {"toolUseId": "t", "name": "f", "input": {"a": 1}}}
    said = read_response({"output": {"message": {"content": [{"text": "Hm."}, tool]}}, "stopReason": "tool_use"})
    [fragment] = said.fragments
    assert (fragment.id, fragment.name, fragment.arguments, said.text) == ("t", "f", '{"a":1}', "Hm.")
    assert read_response({"message": "Too many requests"}).error == "Too many requests"
