"""Every byte reaches the client unchanged, in each mode, HTTP version and content coding."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.codings import CODERS
from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import MAKERS, openai_chat
from tests.e2e.harness.script import Framing, Response, Send, event_stream
from tests.invariants.healthy import streams

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

SAMPLE = openai_chat("call_1", "Zürich \N{MOUNTAIN}")
CARRIERS = ["plain-h1", "tls-h1", "tls-h2"]


def fetch(proxy: Mitmdump, upstream: Upstream, version: str, planned: Response) -> bytes:
    """The body that the client receives for the planned response, after a check of status and coding."""
    plan = upstream.plan(planned)
    with client(version, route(proxy, upstream)) as connection:
        reply = connection.request(SAMPLE.path, SAMPLE.body, plan.headers)
        body = reply.rest()
    assert (plan.request.version, plan.request.body) == (version, SAMPLE.body)
    assert reply.status == planned.status
    assert reply.headers.get("content-encoding", "identity") == planned.coding
    return body


@pytest.mark.parametrize("coding", CODERS)
@pytest.mark.parametrize("carrier", CARRIERS)
@pytest.mark.parametrize("log", ["off", "calls", "chunks"])
def test_regular_mode(proxies: Proxies, upstream: Upstream, log: str, carrier: str, coding: str) -> None:
    """In regular mode the body is unchanged at each log level."""
    planned = event_stream(SAMPLE.chunks, coding=coding)
    proxy = proxies.get(toolstream_log=log)
    assert fetch(proxy, upstream, carrier[-2:], planned) == planned.body


@pytest.mark.parametrize("coding", CODERS)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_reverse_mode(proxies: Proxies, upstream: Upstream, carrier: str, coding: str) -> None:
    """In reverse mode the body is unchanged."""
    planned = event_stream(SAMPLE.chunks, coding=coding)
    proxy = proxies.get(f"reverse:{upstream.url}")
    assert fetch(proxy, upstream, carrier[-2:], planned) == planned.body


@pytest.mark.parametrize("coding", CODERS)
@pytest.mark.parametrize("carrier", CARRIERS)
def test_upstream_mode(proxies: Proxies, upstream: Upstream, carrier: str, coding: str) -> None:
    """With another proxy as upstream the body is unchanged."""
    planned = event_stream(SAMPLE.chunks, coding=coding)
    proxy = proxies.chained()
    assert fetch(proxy, upstream, carrier[-2:], planned) == planned.body


@pytest.mark.parametrize("framing", Framing)
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_every_framing(proxies: Proxies, plain: Upstream, framing: Framing, coding: str) -> None:
    """The body is unchanged if it is chunked, has a length, or ends with the connection."""
    planned = event_stream(SAMPLE.chunks, coding=coding, framing=framing)
    assert fetch(proxies.get(), plain, "h1", planned) == planned.body


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("protocol", MAKERS)
def test_every_protocol(proxies: Proxies, secure: Upstream, protocol: str, version: str) -> None:
    """The body of each protocol is unchanged."""
    sample = MAKERS[protocol]("call_1", "Bern")
    plan = secure.plan(Response(tuple(map(Send, sample.chunks)), content_type=sample.content_type))
    with client(version, route(proxies.get(), secure)) as connection:
        body = connection.request(sample.path, sample.body, plan.headers).rest()
    assert body == b"".join(sample.chunks)


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("log", ["off", "chunks"])
@pytest.mark.parametrize("repair", ["safe", "missing-id"])
def test_healthy_streams_with_repairs_on(
    proxies: Proxies, secure: Upstream, repair: str, log: str, version: str
) -> None:
    """Repairs do not change healthy streams, also not at the end of the body."""
    proxy = proxies.get(toolstream_repair=[repair], toolstream_log=log)
    with client(version, route(proxy, secure)) as connection:
        for healthy in streams():
            plan = secure.plan(Response(tuple(map(Send, healthy.frames)), content_type=healthy.exchange.content_type))
            body = json.dumps(healthy.exchange.request).encode()
            assert connection.request(healthy.exchange.path, body, plan.headers).rest() == healthy.body


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("size", [1, 3, 1000])
def test_every_chunk_size(proxies: Proxies, secure: Upstream, size: int, version: str) -> None:
    """Chunks that end inside events, lines and characters are unchanged."""
    body = b"".join(SAMPLE.chunks)
    planned = event_stream(body[at : at + size] for at in range(0, len(body), size))
    assert fetch(proxies.get(), secure, version, planned) == body


@pytest.mark.parametrize("carrier", CARRIERS)
def test_many_megabytes(proxies: Proxies, upstream: Upstream, carrier: str) -> None:
    """A body that exceeds every buffer and window is unchanged."""
    text = "x" * 65536
    chunks = [b'data: {"choices":[{"delta":{"content":"%b"}}]}\n\n' % text.encode()] * 64
    planned = event_stream(chunks)
    assert fetch(proxies.get(), upstream, carrier[-2:], planned) == b"".join(chunks)


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_bytes_that_are_not_an_event_stream(proxies: Proxies, secure: Upstream, version: str) -> None:
    """Bytes that are neither an event stream nor in the declared content coding are unchanged."""
    noise = bytes(range(256)) * 8
    assert fetch(proxies.get(), secure, version, event_stream([noise, noise])) == noise * 2
    broken = Response((Send(noise),), headers=(("content-encoding", "gzip"),))
    plan = secure.plan(broken)
    with client(version, route(proxies.get(), secure)) as connection:
        assert connection.request(SAMPLE.path, SAMPLE.body, plan.headers).rest() == noise
