"""Faults in streams with missing or odd indexes."""

from __future__ import annotations

import json

from tests.grouped import Case, grouped
from tests.tables import INJECTORS
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.model import StreamFacts
from toolstream_core.settings import Settings

CALL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
DELTA = {"type": "input_json_delta", "partial_json": '{"a":1}'}


def body(**index: object) -> bytes:
    """Return a call whose events have this index, or none."""
    events: list[dict[str, object]] = [
        {"type": "content_block_start", **index, "content_block": CALL},
        {"type": "content_block_delta", **index, "delta": DELTA},
        {"type": "content_block_stop", **index},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    ]
    return b"".join(
        b"event: %s\ndata: %s\n\n" % (str(one["type"]).encode(), json.dumps(one).encode()) for one in events
    )


@grouped(
    Case(str(index), (name, body(**index)))
    for index in ({}, {"index": None}, {"index": "0"}, {"index": 1.5})
    for name in INJECTORS["anthropic"]
)
def test_faults_raise_nothing(name: str, stream: bytes) -> None:
    """A fault in a stream with missing or odd indexes raises nothing."""
    exchange = StreamFacts(path="/v1/messages", content_type="text/event-stream")
    session = Session(exchange, Settings(faults=((Fault(name=name), Budget(None)),)))
    sent = b"".join([*session.feed(stream), *session.end()])
    assert session.error is None
    assert sent
