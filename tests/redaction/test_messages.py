"""Secrets in the messages of an AWS event stream are also found in base64, and the checksums stay valid."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest
from botocore.eventstream import EventStreamBuffer
from hypothesis import given, settings
from hypothesis import strategies as st

from toolstream_core.redaction import BodyRedactor, Redaction, TextMode, redacted_body
from toolstream_core.wire.aws_event_stream import STRING, Header, Message, fresh

if TYPE_CHECKING:
    from pathlib import Path

KEY = "sk-ant-api03-" + "A1b2C3d4E5f6G7h8" * 5


def delta(text: str) -> bytes:
    """A delta event with this text."""
    return json.dumps({"contentBlockIndex": 0, "delta": {"text": text}, "p": "abc"}).encode()


def plain(text: str) -> bytes:
    """A message with a delta event."""
    return fresh(delta(text), "contentBlockDelta").encode()


def wrapped(text: str) -> bytes:
    """A message that contains the delta event in base64."""
    payload = {"bytes": base64.b64encode(delta(text)).decode(), "p": "abc"}
    return fresh(json.dumps(payload).encode(), "chunk").encode()


def error(text: str) -> bytes:
    """An error with the text in a header."""
    headers = {":message-type": "error", ":error-code": "X", ":error-message": text}
    return Message(tuple(Header(name, STRING, value.encode()) for name, value in headers.items()), b"").encode()


BODIES = {
    "in a message": plain("a") + plain(f"the key is {KEY} !") + plain("b"),
    "in base64": wrapped("a") + wrapped(f"the key is {KEY} !") + wrapped("b"),
    "cut into messages": plain(f"the key is {KEY[:30]}") + plain(KEY[30:]) + plain(" b"),
    "cut into base64": wrapped(f"the key is {KEY[:30]}") + wrapped(KEY[30:]) + wrapped(" b"),
    "in an error": plain("a") + error(f"bad key {KEY}"),
}


def text_of(body: bytes) -> str:
    """The joined text of all messages. Raises an error if a checksum is wrong."""
    buffer = EventStreamBuffer()
    buffer.add_data(body)
    out = []
    for message in buffer:
        payload = json.loads(message.payload or b"{}")
        inner = json.loads(base64.b64decode(payload["bytes"])) if "bytes" in payload else payload
        out.append(inner.get("delta", {}).get("text") or message.headers.get(":error-message", ""))
    assert not buffer._data
    return "".join(out)


@pytest.mark.parametrize("size", [1, 7, 100, 100_000])
@pytest.mark.parametrize("name", BODIES)
def test_a_secret_is_overwritten(name: str, size: int) -> None:
    """The rest of the text and the length of the body stay."""
    body = BODIES[name]
    redactor = BodyRedactor(Redaction())
    clean = b"".join(redactor.feed(body[at : at + size]) for at in range(0, len(body), size)) + redactor.finish()
    assert len(clean) == len(body)
    assert text_of(clean) == text_of(body).replace(KEY, "*" * len(KEY)) != text_of(body)


@pytest.mark.parametrize("name", BODIES)
def test_an_empty_chunk_is_not_the_end(name: str) -> None:
    """A compressed chunk may decode to nothing inside a message."""
    body = BODIES[name]
    redactor = BodyRedactor(Redaction(text=TextMode.MASK))
    chunks = [part for at in range(0, len(body), 50) for part in (body[at : at + 50], b"")]
    clean = b"".join(map(redactor.feed, chunks)) + redactor.finish()
    assert clean == redacted_body(body, Redaction(text=TextMode.MASK))


def test_text_is_masked() -> None:
    """It is also masked in base64."""
    for body in (plain("my own words"), wrapped("my own words")):
        clean = redacted_body(body, Redaction(text=TextMode.MASK))
        assert len(clean) == len(body)
        assert "words" not in text_of(clean)


@settings(max_examples=15)
@given(st.binary(max_size=60), st.integers(1, 20))
def test_other_bytes_keep_their_length(rest: bytes, size: int) -> None:
    """The body is damaged, truncated, or no event stream."""
    for body in (rest, b"\0" + rest, plain("a") + rest, plain("a")[:-1] + rest):
        redactor = BodyRedactor(Redaction())
        clean = b"".join(redactor.feed(body[at : at + size]) for at in range(0, len(body), size)) + redactor.finish()
        assert len(clean) == len(body)


def test_recorded_streams_stay(shared: Path) -> None:
    """Recorded streams have no secret."""
    for file in (shared / "streams" / "bedrock-eventstream").iterdir():
        body = file.read_bytes()
        assert redacted_body(body) == body, file.name
