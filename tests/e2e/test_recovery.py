"""`missing-calls`: the proxy repeats the request once, and inserts the missing calls before the finish reason."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.samples import JSON, SSE, anthropic, bedrock, cohere, openai_chat
from tests.e2e.harness.script import Break, Gate, Response, Send, Wait, event_stream
from toolstream_core.engine.session import read_body
from toolstream_core.model import StreamFacts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.plan import Plan
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

CHAT = openai_chat("call_1", "Bern")
TEXT = b'data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"So:"}}]}\n\n'
EMPTY = (TEXT, *(chunk for chunk in CHAT.chunks if b'"tool_calls": [' not in chunk))
"""A stream with the finish reason `tool_calls` and without calls."""
SAMPLES = {
    "openai-chat": (CHAT, EMPTY),
    "anthropic": (
        anthropic("toolu_1", "Bern"),
        tuple(chunk for chunk in anthropic("toolu_1", "Bern").chunks if b"content_block" not in chunk),
    ),
    "cohere-v2": (
        cohere("get_weather_1", "Bern"),
        tuple(chunk for chunk in cohere("get_weather_1", "Bern").chunks if b"tool-call" not in chunk),
    ),
    "bedrock": (
        bedrock("tooluse_1", "Bern"),
        tuple(chunk for chunk in bedrock("tooluse_1", "Bern").chunks if b"contentBlock" not in chunk),
    ),
}
VERSIONS = pytest.mark.parametrize("version", ["h1", "h2"])


@pytest.fixture(scope="module")
def repairing(proxies: Proxies) -> Mitmdump:
    """A proxy with the repair `missing-calls`."""
    return proxies.get(toolstream_repair="safe,missing-calls")


def unstreamed(sample: Sample) -> Response:
    """The sample's response without a stream."""
    return Response((Send(sample.unstreamed_response_body),), content_type=JSON)


def planned(upstream: Upstream, chunks: Sequence[bytes], second: Response, content_type: str = SSE) -> Plan:
    """Plan a stream, and the response to the repeated request."""
    plan = upstream.plan(replace(event_stream(chunks), content_type=content_type))
    plan.second_response = second
    return plan


def fetch(proxy: Mitmdump, upstream: Upstream, version: str, sample: Sample, plan: Plan) -> bytes:
    """The response body that the client receives."""
    options = {"stream_options": {"include_usage": True}} if "stream" in sample.request else {}
    body = json.dumps(sample.request | options).encode()
    with client(version, route(proxy, upstream)) as connection:
        return connection.request(sample.path, body, plan.headers | {"authorization": "Bearer sk-1"}).rest()


@VERSIONS
@pytest.mark.parametrize("protocol", SAMPLES)
def test_missing_calls_are_inserted_before_the_finish_reason(
    repairing: Mitmdump, secure: Upstream, version: str, protocol: str
) -> None:
    """The proxy repeats the request without a stream, and inserts the calls of the response into the stream."""
    sample, empty = SAMPLES[protocol]
    plan = planned(secure, empty, unstreamed(sample), sample.content_type)
    received = fetch(repairing, secure, version, sample, plan)
    record = read_body([received], StreamFacts(path=sample.path, content_type=sample.content_type))
    assert record is not None
    assert [(call.name, json.loads(call.arguments)) for call in record.calls] == [("get_weather", {"city": "Bern"})]
    assert record.findings == []
    assert received.startswith(empty[0])
    again = plan.second_request.result(30)
    assert (again.target, json.loads(again.body)) == (sample.unstreamed_path, sample.unstreamed_request)
    assert again.header("authorization") == "Bearer sk-1"
    repairing.wait_for("repeated the request of flow")


@VERSIONS
def test_a_request_is_repeated_only_with_the_repair_and_without_calls(
    proxies: Proxies, secure: Upstream, version: str
) -> None:
    """`safe` does not repeat a request, and `missing-calls` does not after a stream with calls."""
    plan = planned(secure, EMPTY, unstreamed(CHAT))
    assert fetch(proxies.get(toolstream_repair="safe"), secure, version, CHAT, plan) == b"".join(EMPTY)
    assert not plan.second_request.done()
    healthy = planned(secure, CHAT.chunks, unstreamed(CHAT))
    named = proxies.get(toolstream_repair="safe,missing-calls")
    assert fetch(named, secure, version, CHAT, healthy) == b"".join(CHAT.chunks)
    assert not healthy.second_request.done()


@pytest.mark.parametrize(
    ("second", "why"),
    [
        (Response((Send(b'{"choices": []}'),), content_type=JSON), "the response has no calls"),
        (Response((Send(b"overloaded"),), status=529, content_type="text/plain"), "the response has status 529"),
        (Response((Send(b"{"), Break.CLOSE), content_type=JSON), "the response is not JSON"),
    ],
)
def test_a_failed_repetition_is_logged(repairing: Mitmdump, secure: Upstream, second: Response, why: str) -> None:
    """If the repeated request fails, the stream is forwarded unchanged, and the log has the reason."""
    plan = planned(secure, EMPTY, second)
    seen = len(repairing.output)
    assert fetch(repairing, secure, "h1", CHAT, plan) == b"".join(EMPTY)
    repairing.wait_for(lambda line: f"without success: {why}" in line, after=seen)


def test_a_client_disconnect_cancels_the_repeated_request(repairing: Mitmdump, secure: Upstream) -> None:
    """When the client disconnects, the proxy cancels the repeated request."""
    never = Gate()
    plan = planned(secure, EMPTY, Response((Send(b"{"), Wait(never)), content_type=JSON))
    with client("h1", route(repairing, secure)) as connection:
        reply = connection.request(CHAT.path, CHAT.body, plan.headers)
        assert reply.next_chunk() == EMPTY[0]
        plan.second_request.result(30)
        reply.leave()
    plan.client_left.wait()
    never.open()


def test_comments_keep_the_connection_alive(proxies: Proxies, secure: Upstream) -> None:
    """While the repeated request runs, the client gets comments; afterwards its stream is complete."""
    slow = Gate()
    plan = planned(secure, EMPTY, replace(unstreamed(CHAT), steps=(Wait(slow), *unstreamed(CHAT).steps)))
    with client("h1", route(proxies.get(toolstream_repair="safe,missing-calls"), secure)) as connection:
        reply = connection.request(CHAT.path, CHAT.body, plan.headers)
        start = time.monotonic()
        received = b""
        while b": keep-alive" not in received:
            received += reply.next_chunk()
        assert 4 < time.monotonic() - start < 15
        slow.open()
        received += reply.rest()
    record = read_body([received], StreamFacts(path=CHAT.path, content_type="text/event-stream"))
    assert record is not None
    assert [call.complete for call in record.calls] == [True]
