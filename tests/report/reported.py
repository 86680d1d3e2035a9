"""A small stream with several defects, read into sinks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.engine.sink import Sink
    from toolstream_core.model import Record

HEAD = b'data: {"object":"chat.completion.chunk","model":"glm","choices":[{"index":0,"delta":'
TAIL = b',"finish_reason":null}]}\n\n'
BODY = (
    HEAD + b'{"role":"assistant","content":""}' + TAIL,
    HEAD + b'{"content":"Hm"}' + TAIL,
    HEAD + b'{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ls","arguments":""}}]}' + TAIL,
    HEAD + b'{"tool_calls":[{"index":0,"id":"","function":{"name":null,"arguments":"{\\"p\\""}}]}' + TAIL,
    HEAD + b'{"tool_calls":[{"function":{"arguments":":\\"\\u001b[31m\\"}"}}]}' + TAIL,
    HEAD + b"{}" + TAIL.replace(b"null", b'"tool_calls"'),
    b"data: [DONE]\n\n",
)


def report(sinks: Sequence[Sink], body: Sequence[bytes] = BODY) -> Record:
    """Reads the stream into these sinks."""
    record = read_body(body, StreamFacts(source="s", host="h", content_type="text/event-stream"), sinks=sinks)
    assert record is not None
    return record
