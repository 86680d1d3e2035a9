"""Credentials are neither in the log nor in the JSON lines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import JSON, MAKERS, Sample, openai_chat
from tests.e2e.harness.script import Response, Send, event_stream

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.tap import Tap
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

SECRET = "plain-words-that-are-a-secret-4711"
HEADERS = {
    "authorization": f"Bearer {SECRET}",
    "x-api-key": f"{SECRET}-a",
    "api-key": f"{SECRET}-b",
    "x-goog-api-key": f"{SECRET}-c",
    "cookie": f"session={SECRET}-d",
}
QUERY = f"key={SECRET}-e&access_token={SECRET}-f"


def send_with_secrets(proxy: Mitmdump, upstream: Upstream, sample: Sample, planned: Response) -> None:
    """Send a request with a secret in every header and parameter for credentials."""
    plan = upstream.plan(planned)
    path = f"{sample.path}{'&' if '?' in sample.path else '?'}{QUERY}"
    with client("h1", route(proxy, upstream)) as connection:
        assert connection.request(path, sample.body, plan.headers | HEADERS).rest() == planned.body
    assert SECRET in plan.request.target
    assert plan.request.header("authorization") == HEADERS["authorization"]


def assert_hidden(proxy: Mitmdump, tap: Tap, upstream: Upstream, label: str) -> None:
    """The secret is not in the output. A later response is awaited first: then all earlier output is written."""
    mark = len(proxy.output)
    after = openai_chat(f"after {label}", "Bern")
    send_with_secrets(proxy, upstream, after, event_stream(after.chunks))
    number = tap.end_of(after.call_id)["stream"]
    proxy.wait_for(rf"#{number} +\d+ events, ", after=mark)
    assert SECRET not in "\n".join(proxy.output)
    assert SECRET not in json.dumps(tap.lines)


@pytest.mark.parametrize("protocol", MAKERS)
def test_secrets_of_a_request_are_hidden(proxies: Proxies, plain: Upstream, protocol: str) -> None:
    """Secrets in the headers and the query of each protocol are not reported."""
    proxy, tap = proxies.with_jsonl()
    sample = MAKERS[protocol](f"secret {protocol}", "Bern")
    planned = Response(tuple(map(Send, sample.chunks)), content_type=sample.content_type)
    send_with_secrets(proxy, plain, sample, planned)
    tap.end_of(sample.call_id)
    assert_hidden(proxy, tap, plain, protocol)


def test_secrets_that_a_response_repeats_are_hidden(proxies: Proxies, plain: Upstream) -> None:
    """A secret in a call's arguments and in an error event is not reported."""
    proxy, tap = proxies.with_jsonl()
    sample = openai_chat("key in arguments", f"Bern {SECRET}")
    error = {"error": {"message": f"Incorrect API key provided: {SECRET}-a", "type": "invalid_request_error"}}
    chunks = (*sample.chunks[:-1], b"data: " + json.dumps(error).encode() + b"\n\n")
    send_with_secrets(proxy, plain, sample, event_stream(chunks))
    tap.end_of(sample.call_id)
    assert_hidden(proxy, tap, plain, "repeats")


def test_a_secret_that_an_error_response_repeats_is_hidden(proxies: Proxies, plain: Upstream) -> None:
    """A secret in the body of a 401 response is not reported."""
    proxy, tap = proxies.with_jsonl()
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {SECRET}", "code": "invalid_api_key"}})
    send_with_secrets(
        proxy, plain, openai_chat("", ""), Response((Send(body.encode()),), status=401, content_type=JSON)
    )
    assert_hidden(proxy, tap, plain, "refusal")
