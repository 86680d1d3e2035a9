"""Converse streams for tests, and what a client has of them."""

from __future__ import annotations

import json
from typing import Any

from botocore.eventstream import EventStreamBuffer

from toolstream_core.engine.session import Session
from toolstream_core.model import Record, StreamFacts
from toolstream_core.settings import NOTHING, SAFE, Settings
from toolstream_core.wire.aws_event_stream import MESSAGES, chunk, fresh

type Said = tuple[str, dict[str, Any]]

REPAIRED = Settings(SAFE)
USAGE = {"inputTokens": 1, "outputTokens": 1, "totalTokens": 2}
BEGIN: list[Said] = [("messageStart", {"role": "assistant"})]
END: list[Said] = [("messageStop", {"stopReason": "tool_use"}), ("metadata", {"usage": USAGE})]


def start(index: int, name: str = "f", identity: str = "") -> Said:
    """A block that is a call."""
    tool = {"toolUseId": identity or f"tooluse_{index}", "name": name}
    return "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": tool}}


def more(index: int, text: object) -> Said:
    """A delta of arguments."""
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": {"input": text}}}


def text(index: int, said: str) -> Said:
    """A delta of text."""
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": {"text": said}}


def stop(index: int) -> Said:
    """A block's stop."""
    return "contentBlockStop", {"contentBlockIndex": index}


def body(said: list[Said], *, keyed: bool = False) -> bytes:
    """The messages; `keyed`: as Nova's models stream them through InvokeModel."""
    made = [
        chunk(json.dumps({kind: one}).encode()) if keyed else fresh(json.dumps(one).encode(), kind)
        for kind, one in said
    ]
    return b"".join(message.encode() for message in made)


def run(raw: bytes, settings: Settings = NOTHING, request: Any = None) -> tuple[bytes, Record]:
    """What goes on, and the record."""
    line = Session(StreamFacts(path="/model/m/converse-stream", content_type=MESSAGES, request=request), settings)
    out = b"".join([*line.feed(raw), *line.end()])
    assert line.error is None
    record = line.record()
    assert record is not None
    return out, record


def decoded(raw: bytes) -> list[Said]:
    """The messages as botocore decodes them, both checksums right."""
    buffer = EventStreamBuffer()
    buffer.add_data(raw)
    return [(message.headers[":event-type"], json.loads(message.payload)) for message in buffer]


def calls(record: Record) -> list[tuple[str, str, Any]]:
    """Ids, names and arguments."""
    return [(one.id, one.name, json.loads(one.arguments)) for one in record.calls]


def told(record: Record) -> set[str]:
    """The names of what is wrong."""
    return {finding.name for finding in record.findings}
