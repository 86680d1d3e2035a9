#!/usr/bin/env python3
"""Writes tests/rows/: for each defect of the table a saved flow that shows it, beside what is to be read from it.

    scripts/make_rows.py           write what has changed
    scripts/make_rows.py --check   write nothing; tell the difference and exit 1 where there is one

The bytes are those of the sample in tests/streams/, else a healthy stream of flows/ with the defect caused in it.
"""

from __future__ import annotations

import gzip
import io
import json
import sys
import tempfile
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from mitmproxy import connection, flow, http
from mitmproxy.io import FlowWriter

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "addon"), str(ROOT / "scripts")]

from generated import write_or_check  # noqa: E402
from tests.calls.patterns import patterns  # noqa: E402
from toolstream_core.defects.table import ROWS  # noqa: E402
from toolstream_core.engine.session import Session  # noqa: E402
from toolstream_core.model import StreamFacts  # noqa: E402
from toolstream_core.saved.expectation import dumps, expectation_of  # noqa: E402
from toolstream_core.saved.read import load  # noqa: E402
from toolstream_core.settings import Words, injectable_names, settings  # noqa: E402

if TYPE_CHECKING:
    from toolstream_core.model import Json

TARGET: Final = ROOT / "tests" / "rows"
WITHOUT: Final = {"unreadable-body": "a body that cannot be decoded cannot be looked through, and is never kept"}
"""Rows that have no fixture, and why."""
STARTED: Final = 1781158500.0
_MODELS: Final = {
    "openai-chat": "example-chat",
    "openai-responses": "example-responses",
    "anthropic": "example-claude",
    "gemini": "example-gemini",
    "ollama": "example-ollama",
}
_OVERSIZE: Final = 8 << 20


class Sample(NamedTuple):
    """A stream that shows a defect."""

    path: str
    content_type: str
    body: bytes
    tools: list[Json]
    broken: str | None = None
    coding: str = ""
    messages: Json = None
    """What was said before, where that matters."""


def samples() -> dict[str, Sample]:
    """One for each row, by the row's name."""
    found = _special()
    for pattern in patterns():
        if "tools" not in pattern.exchange.request:
            continue  # Bedrock's: every row that its samples show is shown by another's
        for name, _, _ in pattern.findings:
            exchange = pattern.exchange
            sample = Sample(exchange.path, pattern.content_type, pattern.body, exchange.request["tools"])
            found.setdefault(name, sample)
    for row in ROWS:
        if row.name not in found and row.name in injectable_names():
            found[row.name] = _injected(row.name)
    return found


def _special() -> dict[str, Sample]:
    """Those of the connection and of sizes, which no sample of a body's text shows."""
    healthy, later = load(ROOT / "flows" / "openai-chat-single.flow")
    tools = healthy.request["tools"]
    whole = Sample(healthy.path, "text/event-stream", healthy.body, tools)
    answer = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"%s"},"finish_reason":"stop"}]}'
    chunk = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'
    oversize = gzip.compress(chunk % (b"x" * _OVERSIZE) + healthy.body, mtime=0)
    return {
        "unterminated-body": whole._replace(broken="peer closed connection without sending complete message body"),
        "body-not-stream": whole._replace(body=answer % b"Hello", content_type="application/json"),
        "wrong-content-type": whole._replace(content_type="application/json"),
        "reused-id": whole._replace(messages=later.request["messages"]),
        "oversize-frame": whole._replace(body=oversize, coding="gzip"),
    }


def _injected(name: str) -> Sample:
    """The first healthy answer of flows/ in which the defect can be caused."""
    row = next(row for row in ROWS if row.name == name)
    for fixture in load(ROOT / "flows"):
        if fixture.record.findings or fixture.asked.dialect not in row.dialects:
            continue
        kind = dict(fixture.headers).get(b"content-type", b"text/event-stream").decode()
        exchange = StreamFacts(path=fixture.path, content_type=kind, request=fixture.request)
        line = Session(exchange, settings(Words(fault=[name])))
        body = b"".join([*line.feed(fixture.body), *line.end()])
        if body != fixture.body:
            return Sample(fixture.path, kind, body, fixture.request.get("tools", []))
    raise LookupError(f"{name} cannot be caused in any flow of flows/: write a sample of it in tests/streams/")


def flow_file(name: str, sample: Sample, dialect: str) -> bytes:
    """The flow of one sample; everything in it is fixed, ids too."""
    ids = [str(uuid.uuid5(uuid.NAMESPACE_URL, f"rows/{name}/{part}")) for part in "fcs"]
    client = connection.Client(
        peername=("127.0.0.1", 50000), sockname=("127.0.0.1", 8080), id=ids[1], tls=True, timestamp_start=STARTED
    )
    server = connection.Server(address=("api.example.com", 443), id=ids[2], tls=True, timestamp_start=STARTED)
    one = http.HTTPFlow(client, server)
    one.id = ids[0]
    one.timestamp_created = STARTED
    request = {"model": _MODELS[dialect], "stream": True, **_asked(dialect, name), "tools": sample.tools}
    if sample.messages:
        request["messages"] = sample.messages
    one.request = http.Request.make(
        "POST",
        f"https://api.example.com{sample.path}",
        json.dumps(request),
        http.Headers(content_type="application/json"),
    )
    headers = {"content-type": sample.content_type} | ({"content-encoding": sample.coding} if sample.coding else {})
    one.response = http.Response.make(200, b"", headers)
    one.response.raw_content = sample.body
    for message in (one.request, one.response):
        message.timestamp_start = message.timestamp_end = STARTED
    if sample.broken:
        one.error = flow.Error(sample.broken, STARTED)
    written = io.BytesIO()
    FlowWriter(written).add(one)
    return written.getvalue()


def _asked(dialect: str, name: str) -> dict[str, Json]:
    words = f"A stream that shows {name}."
    if dialect == "gemini":
        return {"contents": [{"role": "user", "parts": [{"text": words}]}]}
    if dialect == "openai-responses":
        return {"input": words}
    return {"messages": [{"role": "user", "content": words}]}


def files() -> dict[Path, bytes]:
    """Everything that is written, by path."""
    found = samples()
    made: dict[Path, bytes] = {}
    with tempfile.TemporaryDirectory() as folder:
        for row in ROWS:
            if row.name in WITHOUT:
                continue
            sample = found[row.name]
            content = flow_file(row.name, sample, _dialect(sample.path))
            path = Path(folder) / f"{row.name}.flow"
            path.write_bytes(content)
            made[TARGET / path.name] = content
            made[TARGET / f"{row.name}.expect.json"] = dumps(expectation_of(load(path))).encode()
    return made


def _dialect(path: str) -> str:
    ends = {"/responses": "openai-responses", "/messages": "anthropic", "/api/chat": "ollama", "Content": "gemini"}
    return next((name for end, name in ends.items() if path.partition("?")[0].endswith(end)), "openai-chat")


if __name__ == "__main__":
    sys.exit(write_or_check((__doc__ or "").partition(". ")[0], files()))
