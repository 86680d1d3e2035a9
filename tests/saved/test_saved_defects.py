"""A saved flow for each defect, from its sample in tests/streams/ or from a valid stream with the defect injected."""

from __future__ import annotations

import gzip
import json
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest
from mitmproxy import connection, flow, http

from tests.calls.patterns import patterns
from tests.conftest import FLOWS
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

NOT_SAVED: Final = {"unreadable-body": "a body that cannot be decoded is never kept"}
"""Defects that no saved flow can show, and why."""
MESSAGES_KEYS: Final = {"/responses": "input", "Content": "contents"}
"""The key of the conversation by a part of the path; `messages` for all others."""
OVERSIZE: Final = 8 << 20


class Sample(NamedTuple):
    """A stream with a defect."""

    path: str
    content_type: str
    body: bytes
    request: Json
    broken: str | None = None
    coding: str = ""
    findings: frozenset[tuple[str, int]] = frozenset()
    """Names and events, if the sample lists them."""


@cache
def samples() -> dict[str, Sample]:
    """Return a stream with each defect by its name."""
    found = connection_samples()
    for pattern in patterns():
        if "tools" not in pattern.exchange.request or pattern.protocol in {"realtime", "gemini-live"}:
            continue  # other protocols than Bedrock and the sockets have samples of the same defects
        expected = frozenset((name, event) for name, _, event in pattern.findings)
        known = pattern.exchange
        for name, _ in expected:
            sample = Sample(known.path, pattern.content_type, pattern.body, known.request, findings=expected)
            found.setdefault(name, sample)
    for row in DEFECTS:
        if row.name not in found and row.name in injectable_names():
            found[row.name] = injected(row.name, row.protocols)
    return found


def connection_samples() -> dict[str, Sample]:
    """Return streams with defects of the connection and of sizes, which no text of a body shows."""
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


def injected(name: str, protocols: tuple[str, ...]) -> Sample:
    """Return the first valid stream of flows/ in which the defect can be injected."""
    for fixture in load(FLOWS):
        if fixture.record.findings or fixture.request_key.protocol not in protocols:
            continue
        kind = dict(fixture.headers).get(b"content-type", b"text/event-stream").decode()
        exchange = StreamFacts(path=fixture.path, content_type=kind, request=fixture.request)
        session = Session(exchange, settings(Words(fault=[name])))
        body = b"".join([*session.feed(fixture.body), *session.end()])
        if body != fixture.body:
            return Sample(fixture.path, kind, body, fixture.request)
    raise LookupError(f"{name} cannot be injected in any flow of flows/: write a sample of it in tests/streams/")


def flow_of(sample: Sample) -> http.HTTPFlow:
    """Return the sample as a flow that mitmproxy saves."""
    client = connection.Client(peername=("127.0.0.1", 50000), sockname=("127.0.0.1", 8080))
    result = http.HTTPFlow(client, connection.Server(address=("api.example.com", 443)))
    url = f"https://api.example.com{sample.path}"
    messages_key = next((key for end, key in MESSAGES_KEYS.items() if end in sample.path), "messages")
    body = json.dumps({"model": "m", "stream": True, messages_key: []} | sample.request)
    result.request = http.Request.make("POST", url, body, http.Headers(content_type="application/json"))
    headers = {"content-type": sample.content_type} | ({"content-encoding": sample.coding} if sample.coding else {})
    result.response = http.Response.make(200, b"", headers)
    result.response.raw_content = sample.body
    result.error = flow.Error(sample.broken) if sample.broken else None
    return result


@pytest.mark.parametrize("name", [row.name for row in DEFECTS if row.name not in NOT_SAVED])
def test_a_saved_flow_keeps_each_defect(name: str, tmp_path: Path) -> None:
    """The saved flow has the findings of its sample, and its written expectation holds."""
    sample, path = samples()[name], tmp_path / f"{name}.flow"
    path.write_bytes(packed([redact(flow_of(sample))]))
    (fixture,) = load(path)
    findings = {(finding.name, finding.event) for finding in fixture.record.findings}
    assert name in {found for found, _ in findings}
    assert findings == (sample.findings or findings)
    expectation = expectation_of([fixture])
    assert differences(loads(dumps(expectation)), expectation) == []
