"""The shape `destream`: the proxy requests a response without a stream, and the client receives a stream."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.samples import JSON, MAKERS, bedrock, openai_chat
from tests.e2e.harness.script import Gate, Response, Send, Wait
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

VERSIONS = pytest.mark.parametrize("version", ["h1", "h2"])


@pytest.fixture(scope="module")
def proxy(proxies: Proxies) -> Mitmdump:
    """A proxy with the shape `destream`."""
    return proxies.get(toolstream_shape="destream")


@VERSIONS
@pytest.mark.parametrize("protocol", MAKERS)
def test_the_client_gets_a_stream(proxy: Mitmdump, secure: Upstream, version: str, protocol: str) -> None:
    """The client receives a stream with the calls of the response, and upstream gets the request without a stream."""
    sample = MAKERS[protocol]("call_1", "Bern")
    plan = secure.plan(Response((Send(sample.unstreamed_response_body),), content_type=JSON))
    with client(version, route(proxy, secure)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers | {"authorization": "Bearer sk-1"})
        assert (reply.status, reply.headers["content-type"]) == (200, sample.content_type)
        body = reply.rest()
    record = read_body([body], StreamFacts(path=sample.path, content_type=sample.content_type))
    assert record is not None
    assert record.streamed
    assert record.ended
    assert [(call.name, json.loads(call.arguments)) for call in record.calls] == [("get_weather", {"city": "Bern"})]
    assert (plan.request.target, plan.request.header("authorization")) == (sample.unstreamed_path, "Bearer sk-1")
    assert json.loads(plan.request.body) == sample.unstreamed_request


@VERSIONS
def test_an_error_response_is_forwarded(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """An error response keeps its status, body and `retry-after`."""
    sample = openai_chat("call_1", "Bern")
    error = b'{"error":{"message":"slow down"}}'
    plan = secure.plan(Response((Send(error),), status=429, content_type=JSON, headers=(("retry-after", "3"),)))
    with client(version, route(proxy, secure)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        assert (reply.status, reply.headers["retry-after"], reply.rest()) == (429, "3", error)


def test_comments_keep_the_connection_alive(proxy: Mitmdump, secure: Upstream) -> None:
    """The client gets headers and comments while upstream is slow; a later error becomes an event.

    The binary protocol has no comments.
    """
    sample, binary = openai_chat("call_1", "Bern"), bedrock("tooluse_1", "Bern")
    slow = Gate()
    steps = (Wait(slow), Send(b"overloaded"))
    plan = secure.plan(replace(Response(steps, status=529, content_type="text/plain")))
    unstreamed = secure.plan(Response((Wait(slow), Send(binary.unstreamed_response_body)), content_type=JSON))
    with client("h1", route(proxy, secure)) as first, client("h1", route(proxy, secure)) as second:
        other = first.request(binary.path, binary.body, unstreamed.headers)
        start = time.monotonic()
        reply = second.request(sample.path, sample.body, plan.headers)
        assert reply.status == 200
        assert time.monotonic() - start > 4
        received = b""
        while b": keep-alive" not in received:
            received += reply.next_chunk()
        slow.open()
        assert b'"error"' in received + reply.rest()
        record = read_body([other.rest()], StreamFacts(path=binary.path, content_type=binary.content_type))
        assert record is not None
        assert record.findings == []
        assert [call.name for call in record.calls] == ["get_weather"]


def test_requests_without_a_stream_are_not_changed(proxy: Mitmdump, secure: Upstream) -> None:
    """A request without a stream and its response are forwarded unchanged."""
    sample = openai_chat("call_1", "Bern")
    plan = secure.plan(Response((Send(sample.unstreamed_response_body),), content_type=JSON))
    with client("h1", route(proxy, secure)) as connection:
        assert (
            connection.request(sample.path, sample.unstreamed_request_body, plan.headers).rest()
            == sample.unstreamed_response_body
        )
    assert plan.request.body == sample.unstreamed_request_body
