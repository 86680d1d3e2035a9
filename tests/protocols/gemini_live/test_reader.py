"""The reader of Gemini Live."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.protocols.frames import frame
from toolstream_core.engine.session import Session, read_body
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.gemini_live.reader import quiet, read
from toolstream_core.settings import SAFE, Settings

LINES = "application/x-ndjson"


def lines(*messages: Any) -> bytes:
    """Return JSON lines."""
    return "".join(f"{json.dumps(one)}\n" for one in messages).encode()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ({"turnComplete": True}, "turnComplete"),
        ({"turnComplete": True, "turnCompleteReason": "RESPONSE_REJECTED"}, "RESPONSE_REJECTED"),
        ({"interrupted": True, "turnComplete": True}, "interrupted"),
        ({"turnComplete": False, "generationComplete": True}, None),
    ],
)
def test_the_finish_reason_is_read(content: dict[str, Any], reason: str | None) -> None:
    """The finish reason is the given reason, or the key that ends the turn."""
    found = read(frame({"serverContent": content}))
    assert [one.reason for one in found.finishes] == ([] if reason is None else [reason])
    assert found.end is (reason is not None)


def test_text_and_transcription_are_read() -> None:
    """Text and transcription are read, without thoughts."""
    parts = [{"text": "Wait.", "thought": True}, {"text": "Mild"}, {"inlineData": {"data": "UklG"}}, {"text": 1}]
    message = {"serverContent": {"modelTurn": {"parts": parts}, "outputTranscription": {"text": ", I think."}}}
    assert read(frame(message)).text == "Mild, I think."


@pytest.mark.parametrize(
    ("raw", "is_quiet"),
    [
        (b'{"serverContent":{"modelTurn":{"parts":[{"inlineData":{"data":"UklG"}}]}}}', True),
        (b'{"serverContent":{"modelTurn":{"parts":[{"text":"toolCall"}]}}}', False),
        (rb'{"serverContent":{"turn\u0043omplete":true}}', False),
        (b'{"serverContent":{"interrupted":true}}', False),
        (b'{"setupComplete":{}}', False),
    ],
)
def test_audio_is_quiet(raw: bytes, is_quiet: bool) -> None:
    """A message is quiet if its bytes cannot contain text, a call or an end."""
    assert quiet(raw) is is_quiet


def test_arguments_as_text_are_not_well_formed() -> None:
    """Arguments as text are not well-formed; an object and missing arguments are."""
    calls = [{"id": "1", "name": "f", "args": {"a": 1}}, {"id": "2", "name": "f", "args": "{}"}, {"id": "3"}]
    fragments = read(frame({"toolCall": {"functionCalls": calls}})).fragments
    assert [(one.id, one.well_formed) for one in fragments] == [("1", True), ("2", False), ("3", True)]


def test_nothing_is_changed_with_any_options() -> None:
    """With all repairs and a shape, defects of the stream are reported, and the stream is unchanged."""
    leaked = {
        "serverContent": {"modelTurn": {"parts": [{"text": '<tool_call>{"name":"f","arguments":{}}</tool_call>'}]}}
    }
    incomplete = {"toolCall": {"functionCalls": [{"id": "1", "name": "f", "args": '{"a":'}]}}
    body = lines(leaked, incomplete)
    exchange = StreamFacts(content_type=LINES, request={"tools": [{"functionDeclarations": [{"name": "f"}]}]})
    plain = read_body([body], exchange)
    assert plain is not None
    assert plain.protocol == "gemini-live"
    found = {one.name for one in plain.findings}
    assert {"cut-off-call", "leaked-hermes"} <= found
    session = Session(exchange, Settings(SAFE | {one.code for one in plain.findings}, ("whole-calls",)))
    assert b"".join([*session.feed(body), *session.end()]) == body
    record = session.record()
    assert record is not None
    assert session.cut_off(record) is None
    assert {one.name for one in record.findings} == found
    assert not record.changes


def test_a_disconnect_is_reported() -> None:
    """A response that ends with a disconnect is reported as truncated."""
    body = lines({"serverContent": {"modelTurn": {"parts": [{"text": "Let me"}]}}})
    record = read_body([body], StreamFacts(content_type=LINES), broken="the server closed the WebSocket with code 1011")
    assert record is not None
    assert [one.name for one in record.findings] == ["truncated-stream"]
