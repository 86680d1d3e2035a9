"""The framing of a body, found by its content type and first bytes."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.wire.splits import bodies
from toolstream_core.wire.aws_event_stream import EventStreamFramer, Message
from toolstream_core.wire.body import MAX_HEAD, NOT_OURS, choose
from toolstream_core.wire.json_framings import ArrayFramer, DocumentFramer, LineFramer
from toolstream_core.wire.sse import SseFramer

if TYPE_CHECKING:
    from pathlib import Path

MESSAGES, MESSAGE = "application/vnd.amazon.eventstream", Message((), b"").encode()
SSE, LINES, JSON = "text/event-stream; charset=utf-8", "application/x-ndjson", "Application/JSON"
LABELS = (SSE, LINES, JSON, MESSAGES, "", "text/plain", "application/problem+json", "image/png")
TOKENS = (
    b"\n", b"\r\n", b" ", b"\xef\xbb\xbf", b"data: x", b"dat", b"event:", b"id", b"retry", b": c", b"{", b"}",
    b'{"a":1}', b"[", b"]", b"[{", b"[1", b"<html>", b'"a"', b"{}\n", b"{\n",
)  # fmt: skip


def kind(content_type: str, head: bytes, *, ended: bool = False) -> Any:
    """The type of the framer, `NOT_OURS`, or None if more bytes are needed."""
    framing = choose(content_type, head, ended=ended)
    return framing if framing is None or framing is NOT_OURS else type(framing)


@pytest.mark.parametrize("content_type", [SSE, LINES, JSON, "", "text/plain", "application/octet-stream"])
@pytest.mark.parametrize(
    "head",
    [
        b"data: {}\n\n",
        b"data\n",
        b"event: ping\n",
        b"id: 1\n",
        b"retry:5\n",
        b": OPENROUTER PROCESSING\n\n",
        b"\r\n\ndata: {}",
        b"\xef\xbb\xbfdata: {}",
    ],
)
def test_fields_of_an_event_stream_under_any_label(content_type: str, head: bytes) -> None:
    """Many servers send a wrong content type."""
    assert kind(content_type, head) is SseFramer


@pytest.mark.parametrize(
    ("content_type", "head", "framing"),
    [
        (SSE, b"hello", SseFramer),
        (SSE, b"dat", SseFramer),
        (SSE, b' {"error":', None),
        (SSE, b'{\n  "error": {', DocumentFramer),
        (SSE, b'{"a":1}\n{"a":2}', LineFramer),
        (SSE, b'{"a":1}\ndata: {}', SseFramer),
        (SSE, b'[{"error":1}]', ArrayFramer),
        (SSE, b"[DONE]", SseFramer),
        (LINES, b'{"a":1}', None),
        (LINES, b'{"a":1}\n', LineFramer),
        (LINES, b"{broken\n", LineFramer),
        (LINES, b"{\n", DocumentFramer),
        (LINES, b"[1]\n", LineFramer),
        (LINES, b"hello", LineFramer),
        (JSON, b'[{"a":1}', ArrayFramer),
        (JSON, b"[", ArrayFramer),
        (JSON, b'{"a":1', None),
        (JSON, b'{"a":1}\n', None),
        (JSON, b'{"a":1}\n\n{"a":', LineFramer),
        (JSON, b'{\n  "a": 1\n}', DocumentFramer),
        (JSON, b'"text"', DocumentFramer),
        (JSON, b"dat", None),
        (MESSAGES, b"\0", None),
        (MESSAGES, MESSAGE[:11], None),
        (MESSAGES, MESSAGE[:12], EventStreamFramer),
        (MESSAGES, bytes(12), EventStreamFramer),
        (MESSAGES, b'{"message":"no"}\n{', LineFramer),
        ("", MESSAGE[:11], None),
        ("", MESSAGE[:12], EventStreamFramer),
        ("application/octet-stream", MESSAGE, EventStreamFramer),
        ("", bytes(12), NOT_OURS),
        ("image/png", MESSAGE, NOT_OURS),
        (SSE, b"\0", SseFramer),
        ("", b'{"a":1}\r\n{"a":2}\r\n', LineFramer),
        ("", b"[", None),
        ("", b"[{", ArrayFramer),
        ("", b"[ ]", ArrayFramer),
        ("text/plain", b"[2024-01-01] log", NOT_OURS),
        ("text/html", b"<html>", NOT_OURS),
        ("", b"identity", NOT_OURS),
        ("", b"id", None),
        ("image/png", b"data: x", NOT_OURS),
        (MESSAGES, b"", None),
        ("", b"", None),
        (SSE, b"", None),
        (SSE, b"\n\xef", SseFramer),
        (SSE, b"\xef\xbb", None),
    ],
)
def test_label_and_first_bytes(content_type: str, head: bytes, framing: Any) -> None:
    """Each decides if the other is missing or wrong."""
    assert kind(content_type, head) is framing


@pytest.mark.parametrize(
    ("content_type", "head", "framing"),
    [
        (SSE, b"", SseFramer),
        (SSE, b'{"error":1}', DocumentFramer),
        (LINES, b'{"a":1}', LineFramer),
        (JSON, b'{"a":1}\n', DocumentFramer),
        (JSON, b"\n", DocumentFramer),
        ("", b'{"a":1}', DocumentFramer),
        ("", b"data", NOT_OURS),
        ("", b"[", NOT_OURS),
        (MESSAGES, b"\0", EventStreamFramer),
        ("", b"\0", NOT_OURS),
        ("", b"", NOT_OURS),
    ],
)
def test_the_end_of_the_body_decides(content_type: str, head: bytes, framing: Any) -> None:
    """At the end there is always a decision."""
    assert kind(content_type, head) is None
    assert kind(content_type, head, ended=True) is framing


@pytest.mark.parametrize(
    ("content_type", "framing"),
    [(SSE, DocumentFramer), (LINES, LineFramer), (JSON, DocumentFramer), ("", DocumentFramer)],
)
def test_enough_bytes_decide(content_type: str, framing: Any) -> None:
    """The rest of the body has no influence."""
    head = b'{"a":"' + b"x" * MAX_HEAD
    assert kind(content_type, head[: MAX_HEAD - 1]) is None
    assert kind(content_type, head[:MAX_HEAD]) is framing
    assert kind(content_type, head + b'"}\n{"a":1}\n') is framing


@settings(max_examples=400)
@given(st.sampled_from(LABELS), bodies(*TOKENS))
@example("", b"[ {")
@example(JSON, b'{"a":1}\n \ndata: x')
def test_a_decision_does_not_change(content_type: str, body: bytes) -> None:
    """So the framing does not depend on chunk boundaries."""
    decisions = [kind(content_type, body[:end]) for end in range(len(body) + 1)]
    decided = [framing for framing in decisions if framing is not None]
    assert len(set(decided)) <= 1
    assert decisions[-1] is not None or not decided
    assert kind(content_type, body, ended=True) is (decided[0] if decided else kind(content_type, body, ended=True))
    assert kind(content_type, body, ended=True) is not None


RECORDED = {"sse": SseFramer, "ndjson": LineFramer, "jsonl": LineFramer, "jsonarray": ArrayFramer}


@pytest.mark.parametrize("content_type", ["", SSE, LINES, JSON])
@pytest.mark.parametrize("ending", RECORDED)
def test_recorded_streams_under_any_label(shared: Path, ending: str, content_type: str) -> None:
    """Their first bytes are enough."""
    files = list((shared / "streams").rglob(f"*.{ending}"))
    assert files
    for file in files:
        body = file.read_bytes()
        if ending == "jsonarray" and content_type == LINES:
            continue
        assert kind(content_type, body[:4096], ended=len(body) <= 4096) is RECORDED[ending], file.name


def test_recorded_documents(shared: Path) -> None:
    """Errors and non-streaming responses are documents."""
    for file in (shared / "streams").rglob("*.json"):
        body = file.read_bytes()
        if isinstance(json.loads(body), dict):
            assert kind(JSON, body, ended=True) is DocumentFramer, file.name
