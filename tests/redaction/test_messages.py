"""Secrets in the messages of an AWS event stream: found in base64 too, with checksums that are right behind them."""

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
    """An event that says text."""
    return json.dumps({"contentBlockIndex": 0, "delta": {"text": text}, "p": "abc"}).encode()


def plain(text: str) -> bytes:
    """A message that says text."""
    return fresh(delta(text), "contentBlockDelta").encode()


def wrapped(text: str) -> bytes:
    """A message that wraps an event which says text."""
    payload = {"bytes": base64.b64encode(delta(text)).decode(), "p": "abc"}
    return fresh(json.dumps(payload).encode(), "chunk").encode()


def error(text: str) -> bytes:
    """An error that says text, in a header."""
    said = {":message-type": "error", ":error-code": "X", ":error-message": text}
    return Message(tuple(Header(name, STRING, value.encode()) for name, value in said.items()), b"").encode()


BODIES = {
    "in a message": plain("a") + plain(f"the key is {KEY} !") + plain("b"),
    "in base64": wrapped("a") + wrapped(f"the key is {KEY} !") + wrapped("b"),
    "cut into messages": plain(f"the key is {KEY[:30]}") + plain(KEY[30:]) + plain(" b"),
    "cut into base64": wrapped(f"the key is {KEY[:30]}") + wrapped(KEY[30:]) + wrapped(" b"),
    "in an error": plain("a") + error(f"bad key {KEY}"),
}


def said(body: bytes) -> str:
    """All that messages say, whose checksums have to be right."""
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
    """The rest is what it was, and as long."""
    body = BODIES[name]
    redactor = BodyRedactor(Redaction())
    clean = b"".join(redactor.feed(body[at : at + size]) for at in range(0, len(body), size)) + redactor.finish()
    assert len(clean) == len(body)
    assert said(clean) == said(body).replace(KEY, "*" * len(KEY)) != said(body)


@pytest.mark.parametrize("name", BODIES)
def test_an_empty_chunk_is_not_the_end(name: str) -> None:
    """A compressed chunk may decode to nothing in the middle of a message."""
    body = BODIES[name]
    redactor = BodyRedactor(Redaction(text=TextMode.MASK))
    chunks = [piece for at in range(0, len(body), 50) for piece in (body[at : at + 50], b"")]
    clean = b"".join(map(redactor.feed, chunks)) + redactor.finish()
    assert clean == redacted_body(body, Redaction(text=TextMode.MASK))


def test_text_is_masked() -> None:
    """In base64 too."""
    for body in (plain("my own words"), wrapped("my own words")):
        clean = redacted_body(body, Redaction(text=TextMode.MASK))
        assert len(clean) == len(body)
        assert "words" not in said(clean)


@settings(max_examples=15)
@given(st.binary(max_size=60), st.integers(1, 20))
def test_what_is_no_message_is_as_long_as_it_was(rest: bytes, size: int) -> None:
    """Damaged, cut off, or something else from the start."""
    for body in (rest, b"\0" + rest, plain("a") + rest, plain("a")[:-1] + rest):
        redactor = BodyRedactor(Redaction())
        clean = b"".join(redactor.feed(body[at : at + size]) for at in range(0, len(body), size)) + redactor.finish()
        assert len(clean) == len(body)


def test_recorded_streams_stay_as_they_are(shared: Path) -> None:
    """There is no secret in them."""
    for file in (shared / "streams" / "bedrock-eventstream").iterdir():
        body = file.read_bytes()
        assert redacted_body(body) == body, file.name
