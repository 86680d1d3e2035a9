"""Streams through a repairing proxy: delays, ids in the next request, other traffic, and disconnects."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.changes import DUPLICATES, chat_ids, chat_next, sample_stream
from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.codings import CODERS, DECODERS
from tests.e2e.harness.lockstep import follow, lockstep
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.samples import JSON, MAKERS, SSE, openai_chat
from tests.e2e.harness.script import Break, Framing, Gate, Response, Send, Wait, event_stream

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.script import Step
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

CHAT = openai_chat("call_1", "Bern")


@pytest.mark.parametrize("coding", CODERS)
@pytest.mark.parametrize("carrier", ["plain-h1", "tls-h1", "tls-h2"])
@pytest.mark.parametrize("protocol", MAKERS)
def test_a_healthy_stream_is_not_delayed(
    repairing: Mitmdump, plain: Upstream, secure: Upstream, protocol: str, carrier: str, coding: str
) -> None:
    """With repairs on, each event arrives, decoded and unchanged, before upstream sends the next one."""
    sample = MAKERS[protocol]("call_1", "Genève")
    planned, gates = lockstep(sample.chunks, coding=coding, content_type=sample.content_type)
    upstream = plain if carrier == "plain-h1" else secure
    plan = upstream.plan(planned)
    with client(carrier[-2:], route(repairing, upstream)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers | {"accept-encoding": "gzip, br"})
        assert not {"content-encoding", "content-length"} & set(reply.headers)
        follow(reply, sample.chunks, gates, "identity")
    assert plan.request.header("accept-encoding") == "identity"
    assert plan.request.body == sample.body


@pytest.mark.parametrize("version", ["h1", "h2"])
@pytest.mark.parametrize("protocol", DUPLICATES)
def test_a_repaired_duplicate_id_stays_in_the_next_request(
    repairing: Mitmdump, secure: Upstream, protocol: str, version: str
) -> None:
    """The client gets two different ids, and the provider gets both of them in the next request."""
    duplicate, ids, next_request = DUPLICATES[protocol]
    sample = MAKERS[protocol](f"toolcall-{version}", "Bern")
    plan = secure.plan(event_stream(duplicate(sample.call_id)))
    following = secure.plan(sample_stream(MAKERS[protocol]("call_3", "Oslo")))
    with client(version, route(repairing, secure)) as connection:
        received = ids(connection.request(sample.path, sample.body, plan.headers).rest())
        first, second = received
        assert first == sample.call_id != second
        body = json.dumps({**sample.request, **next_request(received)}, ensure_ascii=False).encode()
        connection.request(sample.path, body, following.headers).rest()
    assert following.request.body == body


@pytest.mark.parametrize("version", ["h1", "h2"])
def test_a_repaired_empty_id_stays_in_the_next_request(repairing: Mitmdump, secure: Upstream, version: str) -> None:
    """A generated id in place of `""` is forwarded to the provider in the next request."""
    sample = openai_chat("", f"Bern {version}")
    plan, following = secure.plan(sample_stream(sample)), secure.plan(sample_stream(sample))
    with client(version, route(repairing, secure)) as connection:
        [generated] = chat_ids(connection.request(sample.path, sample.body, plan.headers).rest())
        assert generated.startswith("call_")
        body = json.dumps({**sample.request, **chat_next([generated])}).encode()
        connection.request(sample.path, body, following.headers).rest()
    assert following.request.body == body


OTHERS: dict[str, tuple[str, bytes, str, bytes]] = {
    "page": ("/", b"", "text/html; charset=utf-8", b"<!doctype html><p>data: {}\n\n</p>"),
    "json": ("/api/items", b'{"name":"x"}', JSON, b'{"ok":true,"tool_calls":[{"id":"","index":0}]}'),
    "ticks": ("/ticks", b"{}", SSE, b'data: {"id":"","price":1.5}\n\ndata:\n\ndata: [DONE]\n\ndata: {"late":1}'),
    "page of a gateway": (CHAT.path, CHAT.body, "text/html", b"<html><h1>502 Bad Gateway</h1></html>"),
    "error": (CHAT.path, CHAT.body, JSON, b'{"error":{"message":"slow down","code":429}}'),
    "json as stream": ("/api/items", b'{"stream":true}', SSE, b'{"ok": true,\n "items": []}'),
    "nothing": (CHAT.path, CHAT.body, SSE, b""),
    "models": ("/v1/models", b"", JSON, b'{"object":"list","data":[{"id":"gpt-test","object":"model"}]}'),
    "unstreamed": (CHAT.path, CHAT.unstreamed_request_body, JSON, CHAT.unstreamed_response_body),
}
"""Path and body of a request, type and body of its response, with text that a repair of an LLM stream would change."""


@pytest.mark.parametrize("coding", ["identity", "gzip"])
@pytest.mark.parametrize("framing", Framing)
@pytest.mark.parametrize("name", OTHERS)
def test_other_responses_are_not_changed(
    repairing: Mitmdump, plain: Upstream, name: str, framing: Framing, coding: str
) -> None:
    """Pages, data and streams of other services, and a provider's unstreamed responses, pass unchanged."""
    path, request, content_type, body = OTHERS[name]
    status = 429 if name == "error" else 200
    planned = Response((Send(body),), status, content_type, framing=framing, coding=coding)
    plan = plain.plan(planned)
    with client("h1", route(repairing, plain)) as connection:
        reply = connection.request(
            path, request, plan.headers | {"accept-encoding": "br"}, "POST" if request else "GET"
        )
        passed = reply.rest()
    assert DECODERS[reply.headers.get("content-encoding", "identity")]()(passed) == body
    assert (reply.status, reply.headers["content-type"]) == (status, content_type)
    assert int(reply.headers.get("content-length", len(passed))) == len(passed)
    if path != CHAT.path:
        assert plan.request.header("accept-encoding") == "br"


@pytest.mark.parametrize("how", Break)
@pytest.mark.parametrize(
    ("carrier", "framing"),
    [
        ("plain-h1", Framing.CHUNKED),
        ("plain-h1", Framing.LENGTH),
        ("tls-h1", Framing.CHUNKED),
        ("tls-h2", Framing.CHUNKED),
    ],
)
def test_a_truncated_stream_stays_truncated(
    repairing: Mitmdump, plain: Upstream, secure: Upstream, carrier: str, framing: Framing, how: Break
) -> None:
    """After a disconnect inside a call, a repair does not end the stream normally."""
    upstream = plain if carrier == "plain-h1" else secure
    gate = Gate()
    steps: list[Step] = [*map(Send, CHAT.chunks[:3]), Wait(gate), how]
    plan = upstream.plan(Response(tuple(steps), framing=framing))
    with client(carrier[-2:], route(repairing, upstream)) as connection:
        reply = connection.request(CHAT.path, CHAT.body, plan.headers)
        received = b""
        while len(received) < len(b"".join(CHAT.chunks[:3])):
            received += reply.next_chunk()
        assert received == b"".join(CHAT.chunks[:3])
        gate.open()
        with pytest.raises(BrokenOffError):
            reply.rest()
