"""Responses with defects, the client's next request, and the response that a client receives."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.e2e.harness import samples
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.samples import NAME
from tests.e2e.harness.script import Response, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.e2e.harness.client import Reply
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.plan import ReceivedRequest
    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.upstream import Upstream

EMPTY_ID = b'"index": 0, "id": "", "function": {"arguments"'
"""The start of a chat fragment with an empty id, after the first fragment."""


def with_empty_ids(sample: Sample) -> Sample:
    """Chat: every fragment after the first has id `""`."""
    plain = b'"index": 0, "function": {"arguments"'
    return replace(sample, chunks=tuple(chunk.replace(plain, EMPTY_ID) for chunk in sample.chunks))


def cumulative(sample: Sample) -> Sample:
    """Chat: every fragment has all arguments so far."""
    chunks, so_far = list(sample.chunks), ""
    for at, chunk in enumerate(chunks[1:-2], 1):
        event = payload(chunk)
        function = event["choices"][0]["delta"]["tool_calls"][0]["function"]
        function["arguments"] = so_far = so_far + function["arguments"]
        chunks[at] = sse_event(event)
    return replace(sample, chunks=tuple(chunks))


def chat_duplicate(call_id: str) -> tuple[bytes, ...]:
    """Chat: two calls with the same id."""
    first, second = (samples.openai_chat(call_id, city).chunks for city in ("Bern", "Rome"))
    again = [chunk.replace(b'"tool_calls": [{"index": 0', b'"tool_calls": [{"index": 1') for chunk in second[:-2]]
    return (*first[:-2], *again, *first[-2:])


def anthropic_duplicate(call_id: str) -> tuple[bytes, ...]:
    """Anthropic: two blocks with the same id."""
    first, second = (samples.anthropic(call_id, city).chunks for city in ("Bern", "Rome"))
    again = [chunk.replace(b'"index": 0', b'"index": 1') for chunk in second[1:-2] if b'"ping"' not in chunk]
    return (*first[:-2], *again, *first[-2:])


def responses_duplicate(call_id: str) -> tuple[bytes, ...]:
    """Responses: two output items with the same `call_id`."""
    first, second = (list(map(payload, samples.openai_responses(call_id, city).chunks)) for city in ("Bern", "Rome"))
    text = json.dumps([second[2:-1], second[-1]["response"]["output"]])
    again, output = json.loads(text.replace('"fc_1"', '"fc_2"').replace('"output_index": 0', '"output_index": 1'))
    first[-1]["response"]["output"] += output
    events = [*first[:-1], *again, first[-1]]
    return tuple(sse_event(event | {"sequence_number": number}) for number, event in enumerate(events))


def payload(chunk: bytes) -> Any:
    """The JSON of an event."""
    return json.loads(chunk[chunk.index(b"data: ") + len(b"data: ") :])


def payloads(body: bytes) -> list[Any]:
    """The JSON of every event that has JSON data."""
    return [payload(chunk) for chunk in body.split(b"\n\n") if b"data: {" in chunk]


def sse_event(event: dict[str, Any]) -> bytes:
    """Serialize an event, with its name if it has a type."""
    data = b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"
    return f"event: {event['type']}\n".encode() + data if "type" in event else data


def chat_ids(body: bytes) -> list[str]:
    """The ids of the calls in a chat response, by index."""
    deltas = [choice["delta"] for event in payloads(body) for choice in event["choices"]]
    entries = [entry for delta in deltas for entry in delta.get("tool_calls", ())]
    return list({entry["index"]: entry["id"] for entry in entries if "id" in entry}.values())


def anthropic_ids(body: bytes) -> list[str]:
    """The ids of the blocks in an Anthropic response."""
    return [event["content_block"]["id"] for event in payloads(body) if event["type"] == "content_block_start"]


def responses_ids(body: bytes) -> list[str]:
    """The ids of the calls in a Responses stream; all events agree on them."""
    events = payloads(body)
    done = [event["item"]["call_id"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["call_id"] for item in events[-1]["response"]["output"]] == done
    return done


def chat_next(ids: Sequence[str]) -> dict[str, Any]:
    """The messages of a chat client's next request: its calls and their results."""
    function = {"name": NAME, "arguments": "{}"}
    calls = [{"id": call_id, "type": "function", "function": function} for call_id in ids]
    results = [{"role": "tool", "tool_call_id": call_id, "content": "19 °C"} for call_id in ids]
    return {"messages": [{"role": "assistant", "tool_calls": calls}, *results]}


def anthropic_next(ids: Sequence[str]) -> dict[str, Any]:
    """The messages of an Anthropic client's next request."""
    calls = [{"type": "tool_use", "id": call_id, "name": NAME, "input": {}} for call_id in ids]
    results = [{"type": "tool_result", "tool_use_id": call_id, "content": "19 °C"} for call_id in ids]
    return {"messages": [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]}


def responses_next(ids: Sequence[str]) -> dict[str, Any]:
    """The input items of a Responses client's next request."""
    calls = [{"type": "function_call", "call_id": call_id, "name": NAME, "arguments": "{}"} for call_id in ids]
    results = [{"type": "function_call_output", "call_id": call_id, "output": "19 °C"} for call_id in ids]
    return {"input": [*calls, *results]}


type Duplicate = Callable[[str], tuple[bytes, ...]]
type Ids = Callable[[bytes], list[str]]
type Next = Callable[[Sequence[str]], dict[str, Any]]

DUPLICATES: dict[str, tuple[Duplicate, Ids, Next]] = {
    "openai-chat": (chat_duplicate, chat_ids, chat_next),
    "openai-responses": (responses_duplicate, responses_ids, responses_next),
    "anthropic": (anthropic_duplicate, anthropic_ids, anthropic_next),
}
"""A response with two calls of the same id, the ids that the client reads, and its next request."""


def fetch(
    proxy: Mitmdump,
    upstream: Upstream,
    sample: Sample,
    version: str = "h1",
    planned: Response | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[Reply, bytes, ReceivedRequest]:
    """Send the sample's request. Returns the response, its complete body, and the request that upstream received."""
    plan = upstream.plan(planned or sample_stream(sample))
    with client(version, route(proxy, upstream)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers | dict(headers or {}))
        return reply, reply.rest(), plan.request


def sample_stream(sample: Sample, coding: str = "identity") -> Response:
    """The sample's stream, without gates."""
    return Response(tuple(map(Send, sample.chunks)), content_type=sample.content_type, coding=coding)


def arguments(body: bytes) -> list[str]:
    """The arguments of each call in a chat response: the concatenation of its fragments."""
    joined: dict[int, str] = {}
    for event in payloads(body):
        for choice in event["choices"]:
            for entry in choice["delta"].get("tool_calls", ()):
                joined[entry["index"]] = joined.get(entry["index"], "") + entry["function"]["arguments"]
    return list(joined.values())
