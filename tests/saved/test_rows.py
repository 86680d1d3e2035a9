"""A saved flow of each defect: of its sample in tests/streams/, else of a valid stream with the defect injected."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from mitmproxy import connection, flow, http

from tests.calls.patterns import patterns
from toolstream_core.defects.table import DEFECTS
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.saved.expectation import differences, dumps, expectation_of, loads
from toolstream_core.saved.flow import packed
from toolstream_core.saved.read import load
from toolstream_core.saved.redact import redact
from toolstream_core.settings import Words, injectable_names, settings

if TYPE_CHECKING:
    from toolstream_core.model import Json

FLOWS: Final = Path(__file__).parents[2] / "flows"
WITHOUT: Final = {"unreadable-body": "a body that cannot be decoded is never kept"}
"""Defects that no saved flow shows, and why."""
SAID: Final = {"/responses": "input", "Content": "contents"}
"""Where a request has its conversation, by a part of its path; in `messages` else."""
OVERSIZE: Final = 8 << 20


class Sample(NamedTuple):
    """A stream that shows a defect."""

    path: str
    content_type: str
    body: bytes
    request: Json
    broken: str | None = None
    coding: str = ""
    findings: frozenset[tuple[str, int]] = frozenset()
    """Name and event, where the sample says them."""


@cache
def samples() -> dict[str, Sample]:
    """A stream for each defect, by its name."""
    found = connection_samples()
    for pattern in patterns():
        if "tools" not in pattern.exchange.request or pattern.protocol in {"realtime", "gemini-live"}:
            continue  # Bedrock's, and what comes over a socket: other protocols show the same defects
        told = frozenset((name, event) for name, _, event in pattern.findings)
        known = pattern.exchange
        for name, _ in told:
            sample = Sample(known.path, pattern.content_type, pattern.body, known.request, findings=told)
            found.setdefault(name, sample)
    for row in DEFECTS:
        if row.name not in found and row.name in injectable_names():
            found[row.name] = injected(row.name, row.dialects)
    return found


def connection_samples() -> dict[str, Sample]:
    """Defects of the connection and of sizes, which no text of a body shows."""
    valid, later = load(FLOWS / "openai-chat-single.flow")
    stream = Sample(valid.path, "text/event-stream", valid.body, valid.request)
    response = b'{"choices":[{"index":0,"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}'
    chunk = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"%s"}}]}\n\n'
    oversize = gzip.compress(chunk % (b"x" * OVERSIZE) + valid.body, mtime=0)
    return {
        "unterminated-body": stream._replace(broken="peer closed connection without sending complete message body"),
        "body-not-stream": stream._replace(body=response, content_type="application/json"),
        "wrong-content-type": stream._replace(content_type="application/json"),
        "reused-id": stream._replace(request=later.request),
        "oversize-frame": stream._replace(body=oversize, coding="gzip"),
    }


def injected(name: str, dialects: tuple[str, ...]) -> Sample:
    """The first valid stream of flows/ in which the defect can be injected."""
    for fixture in load(FLOWS):
        if fixture.record.findings or fixture.request_key.dialect not in dialects:
            continue
        kind = dict(fixture.headers).get(b"content-type", b"text/event-stream").decode()
        exchange = StreamFacts(path=fixture.path, content_type=kind, request=fixture.request)
        session = Session(exchange, settings(Words(fault=[name])))
        body = b"".join([*session.feed(fixture.body), *session.end()])
        if body != fixture.body:
            return Sample(fixture.path, kind, body, fixture.request)
    raise LookupError(f"{name} cannot be injected in any flow of flows/: write a sample of it in tests/streams/")


def flow_of(sample: Sample) -> http.HTTPFlow:
    """The sample as a flow that mitmproxy saves."""
    client = connection.Client(peername=("127.0.0.1", 50000), sockname=("127.0.0.1", 8080))
    made = http.HTTPFlow(client, connection.Server(address=("api.example.com", 443)))
    url = f"https://api.example.com{sample.path}"
    said = next((key for end, key in SAID.items() if end in sample.path), "messages")
    body = json.dumps({"model": "m", "stream": True, said: []} | sample.request)
    made.request = http.Request.make("POST", url, body, http.Headers(content_type="application/json"))
    headers = {"content-type": sample.content_type} | ({"content-encoding": sample.coding} if sample.coding else {})
    made.response = http.Response.make(200, b"", headers)
    made.response.raw_content = sample.body
    made.error = flow.Error(sample.broken) if sample.broken else None
    return made


@pytest.mark.parametrize("name", [row.name for row in DEFECTS if row.name not in WITHOUT])
def test_a_saved_flow_shows_each_defect(name: str, tmp_path: Path) -> None:
    """As the sample says; what is written as its expectation holds when it is read."""
    sample, path = samples()[name], tmp_path / f"{name}.flow"
    path.write_bytes(packed([redact(flow_of(sample))]))
    (fixture,) = load(path)
    told = {(finding.name, finding.event) for finding in fixture.record.findings}
    assert name in {one for one, _ in told}
    assert told == (sample.findings or told)
    expectation = expectation_of([fixture])
    assert differences(loads(dumps(expectation)), expectation) == []
