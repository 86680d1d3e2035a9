"""What gives access never shows: not in what is printed, not in the JSON lines."""

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


def ask(proxy: Mitmdump, upstream: Upstream, sample: Sample, planned: Response) -> None:
    """A request that carries a secret in all places where one may be."""
    plan = upstream.plan(planned)
    path = f"{sample.path}{'&' if '?' in sample.path else '?'}{QUERY}"
    with client("h1", route(proxy, upstream)) as connection:
        assert connection.request(path, sample.body, plan.headers | HEADERS).rest() == planned.body
    assert SECRET in plan.request.target
    assert plan.request.header("authorization") == HEADERS["authorization"]


def nothing_shows(proxy: Mitmdump, tap: Tap, upstream: Upstream, label: str) -> None:
    """Look when a later answer has been told, so that nothing is still on its way."""
    mark = len(proxy.output)
    after = openai_chat(f"after {label}", "Bern")
    ask(proxy, upstream, after, event_stream(after.chunks))
    number = tap.end_of(after.call_id)["stream"]
    proxy.wait_for(rf"#{number} +\d+ events, ", after=mark)
    assert SECRET not in "\n".join(proxy.output)
    assert SECRET not in json.dumps(tap.lines)


@pytest.mark.parametrize("dialect", MAKERS)
def test_request_with_secrets(proxies: Proxies, plain: Upstream, dialect: str) -> None:
    """In headers and query, as each provider wants them."""
    proxy, tap = proxies.with_jsonl()
    sample = MAKERS[dialect](f"secret {dialect}", "Bern")
    planned = Response(tuple(map(Send, sample.chunks)), content_type=sample.content_type)
    ask(proxy, plain, sample, planned)
    tap.end_of(sample.call_id)
    nothing_shows(proxy, tap, plain, dialect)


def test_answer_that_repeats_the_secret(proxies: Proxies, plain: Upstream) -> None:
    """A model that calls a tool with the key, and an error in the stream that names it."""
    proxy, tap = proxies.with_jsonl()
    sample = openai_chat("told the key", f"Bern {SECRET}")
    error = {"error": {"message": f"Incorrect API key provided: {SECRET}-a", "type": "invalid_request_error"}}
    spoken = (*sample.chunks[:-1], b"data: " + json.dumps(error).encode() + b"\n\n")
    ask(proxy, plain, sample, event_stream(spoken))
    tap.end_of(sample.call_id)
    nothing_shows(proxy, tap, plain, "repeats")


def test_refusal_that_repeats_the_secret(proxies: Proxies, plain: Upstream) -> None:
    """A 401 that says which key it was."""
    proxy, tap = proxies.with_jsonl()
    body = json.dumps({"error": {"message": f"Incorrect API key provided: {SECRET}", "code": "invalid_api_key"}})
    ask(proxy, plain, openai_chat("", ""), Response((Send(body.encode()),), status=401, content_type=JSON))
    nothing_shows(proxy, tap, plain, "refusal")
