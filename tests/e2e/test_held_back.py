"""Nothing is held back: the upstream sends each piece only when the client has all of the one before."""

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
@pytest.mark.parametrize("dialect", MAKERS)
def test_every_piece_comes_at_once(
    proxies: Proxies, plain: Upstream, secure: Upstream, dialect: str, carrier: str, coding: str
) -> None:
    """Headers before the first piece, each piece before the next, in each protocol, carrier and coding."""
    sample = MAKERS[dialect]("call_1", "Genève")
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
def test_parts_of_events_and_other_bytes_too(
    proxies: Proxies, secure: Upstream, version: str, chunks: tuple[bytes, ...]
) -> None:
    """Nothing waits for the rest of its event."""
    planned, gates = lockstep(chunks)
    plan = secure.plan(planned)
    with client(version, route(proxies.get(), secure)) as connection:
        follow(connection.request("/v1/chat/completions", b"{}", plan.headers), chunks, gates, "identity")


@pytest.mark.parametrize("kind", ["reverse", "upstream"])
@pytest.mark.parametrize("version", ["h1", "h2"])
def test_in_the_other_modes_too(proxies: Proxies, secure: Upstream, version: str, kind: str) -> None:
    """Reverse, and before another proxy."""
    proxy = proxies.get(f"reverse:{secure.url}") if kind == "reverse" else proxies.chained()
    sample = MAKERS["anthropic"]("call_1", "Bern")
    planned, gates = lockstep(sample.chunks)
    plan = secure.plan(planned)
    with client(version, route(proxy, secure)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        follow(reply, sample.chunks, gates, "identity")


UNWATCHED: list[dict[str, str]] = [{"toolstream_log": "off"}, {"toolstream_filter": "~d example.invalid"}]


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("options", UNWATCHED)
def test_what_is_not_watched_too(proxies: Proxies, secure: Upstream, options: dict[str, str], version: str) -> None:
    """With the log off, or beside the filter: mitmproxy by itself would wait for the whole answer."""
    sample = MAKERS["openai-chat"]("call_1", "Bern")
    planned, gates = lockstep(sample.chunks)
    plan = secure.plan(planned)
    with client(version, route(proxies.get(**options), secure)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        follow(reply, sample.chunks, gates, "identity")


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("content_type", ["text/event-stream; charset=utf-8", "application/x-ndjson"])
def test_streams_of_others_too(proxies: Proxies, secure: Upstream, content_type: str, version: str) -> None:
    """What is no answer of an LLM."""
    chunks = (b'{"price":1}\n', b'{"price":2}\n', b'{"price":3}\n')
    planned, gates = lockstep(chunks, content_type=content_type)
    plan = secure.plan(planned)
    with client(version, route(proxies.get(), secure)) as connection:
        follow(connection.request("/prices", b"", plan.headers, "GET"), chunks, gates, "identity")
