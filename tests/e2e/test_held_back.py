"""The proxy holds no chunk back: upstream sends each chunk only after the client has received the previous one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.codings import CODERS
from tests.e2e.harness.lockstep import follow, lockstep
from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import MAKERS

if TYPE_CHECKING:
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("coding", CODERS)
@pytest.mark.parametrize("carrier", ["plain-h1", "tls-h1", "tls-h2"])
@pytest.mark.parametrize("protocol", MAKERS)
def test_every_chunk_is_forwarded_at_once(
    proxies: Proxies, plain: Upstream, secure: Upstream, protocol: str, carrier: str, coding: str
) -> None:
    """The client gets the headers before the first chunk is sent, and each chunk before the next one is sent."""
    sample = MAKERS[protocol]("call_1", "Genève")
    planned, gates = lockstep(sample.chunks, coding=coding, content_type=sample.content_type)
    upstream = plain if carrier == "plain-h1" else secure
    plan = upstream.plan(planned)
    with client(carrier[-2:], route(proxies.get(), upstream)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        follow(reply, sample.chunks, gates, coding)


@pytest.mark.parametrize("chunks", [
    (b'data: {"choices"', b":[]}", b"\n", b"\ndata:", b" [DONE]\n\n"),
    (b": keep-alive\n\n", b": keep-alive\n\n"),
    (b"event: tick\ndata: 1\n\n", b"no stream at all"),
])  # fmt: skip
@pytest.mark.parametrize("version", ["h1", "h2"])
def test_incomplete_events_are_forwarded_at_once(
    proxies: Proxies, secure: Upstream, version: str, chunks: tuple[bytes, ...]
) -> None:
    """A chunk that ends inside an event, and text that is not an event stream, are forwarded at once."""
    planned, gates = lockstep(chunks)
    plan = secure.plan(planned)
    with client(version, route(proxies.get(), secure)) as connection:
        follow(connection.request("/v1/chat/completions", b"{}", plan.headers), chunks, gates, "identity")


@pytest.mark.parametrize("kind", ["reverse", "upstream"])
@pytest.mark.parametrize("version", ["h1", "h2"])
def test_other_modes_forward_at_once(proxies: Proxies, secure: Upstream, version: str, kind: str) -> None:
    """In reverse mode, and with another proxy as upstream, each chunk is forwarded at once."""
    proxy = proxies.get(f"reverse:{secure.url}") if kind == "reverse" else proxies.chained()
    sample = MAKERS["anthropic"]("call_1", "Bern")
    planned, gates = lockstep(sample.chunks)
    plan = secure.plan(planned)
    with client(version, route(proxy, secure)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        follow(reply, sample.chunks, gates, "identity")


NOT_LOGGED: list[dict[str, str]] = [{"toolstream_log": "off"}, {"toolstream_filter": "~d example.invalid"}]


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("options", NOT_LOGGED)
def test_responses_that_are_not_logged_are_forwarded_at_once(
    proxies: Proxies, secure: Upstream, options: dict[str, str], version: str
) -> None:
    """A response is streamed with the log off or outside the filter, although mitmproxy's default is to buffer it."""
    sample = MAKERS["openai-chat"]("call_1", "Bern")
    planned, gates = lockstep(sample.chunks)
    plan = secure.plan(planned)
    with client(version, route(proxies.get(**options), secure)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        follow(reply, sample.chunks, gates, "identity")


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("content_type", ["text/event-stream; charset=utf-8", "application/x-ndjson"])
def test_streams_of_other_services_are_forwarded_at_once(
    proxies: Proxies, secure: Upstream, content_type: str, version: str
) -> None:
    """The chunks of a stream that is not an LLM response are forwarded at once."""
    chunks = (b'{"price":1}\n', b'{"price":2}\n', b'{"price":3}\n')
    planned, gates = lockstep(chunks, content_type=content_type)
    plan = secure.plan(planned)
    with client(version, route(proxies.get(), secure)) as connection:
        follow(connection.request("/prices", b"", plan.headers, "GET"), chunks, gates, "identity")
