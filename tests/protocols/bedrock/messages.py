"""Builds Converse streams, and decodes them as a client does."""

from __future__ import annotations

import json
from typing import Any

from botocore.eventstream import EventStreamBuffer

from toolstream_core.engine.session import Session
from toolstream_core.model import Record, StreamFacts
from toolstream_core.settings import NOTHING, SAFE, Settings
from toolstream_core.wire.aws_event_stream import MESSAGES, chunk, fresh

type NamedEvent = tuple[str, dict[str, Any]]

REPAIRED = Settings(SAFE)
USAGE = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
BEGIN: list[NamedEvent] = [("messageStart", {"role": "assistant"})]
END: list[NamedEvent] = [("messageStop", {"stopReason": "tool_use"}), ("metadata", {"usage": USAGE})]


def start(index: int, name: str = "f", identity: str = "") -> NamedEvent:
    """Return the start of a block with a call."""
    tool = {"toolUseId": identity or f"tooluse_{index}", "name": name}
    return "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": tool}}


def more(index: int, text: object) -> NamedEvent:
    """Return a delta of arguments."""
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": {"input": text}}}


def text(index: int, content: str) -> NamedEvent:
    """Return a text delta."""
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": {"text": content}}


def stop(index: int) -> NamedEvent:
    """Return the stop of a block."""
    return "contentBlockStop", {"contentBlockIndex": index}


def body(events: list[NamedEvent], *, keyed: bool = False) -> bytes:
    """Return the messages; with `keyed`, as Nova models send them through InvokeModel."""
    messages = [
        chunk(json.dumps({kind: one}).encode()) if keyed else fresh(json.dumps(one).encode(), kind)
        for kind, one in events
    ]
    return b"".join(message.encode() for message in messages)


def run(raw: bytes, settings: Settings = NOTHING, request: Any = None) -> tuple[bytes, Record]:
    """Return the forwarded bytes and the record."""
    session = Session(StreamFacts(path="/model/m/converse-stream", content_type=MESSAGES, request=request), settings)
    out = b"".join([*session.feed(raw), *session.end()])
    assert session.error is None
    record = session.record()
    assert record is not None
    return out, record


def decoded(raw: bytes) -> list[NamedEvent]:
    """Return the messages decoded by botocore, which checks both checksums."""
    buffer = EventStreamBuffer()
    buffer.add_data(raw)
    return [(message.headers[":event-type"], json.loads(message.payload)) for message in buffer]


def calls(record: Record) -> list[tuple[str, str, Any]]:
    """Return id, name and arguments of each call."""
    return [(one.id, one.name, json.loads(one.arguments)) for one in record.calls]


def finding_names(record: Record) -> set[str]:
    """Return the names of the findings."""
    return {finding.name for finding in record.findings}
