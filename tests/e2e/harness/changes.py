"""Answers that something is wrong with, requests that follow them, and what a client gets of them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.e2e.harness import samples
from tests.e2e.harness.proxies import client, way
from tests.e2e.harness.samples import NAME
from tests.e2e.harness.script import Answer, Send

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tests.e2e.harness.client import Reply
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.plan import RequestKey
    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.upstream import Upstream

EMPTY_ID = b'"index": 0, "id": "", "function": {"arguments"'
"""How a chat continuation begins whose id is empty."""


def with_empty_ids(sample: Sample) -> Sample:
    """Chat: every continuation carries id `""`."""
    plain = b'"index": 0, "function": {"arguments"'
    return replace(sample, pieces=tuple(piece.replace(plain, EMPTY_ID) for piece in sample.pieces))


def cumulative(sample: Sample) -> Sample:
    """Chat: every fragment carries all arguments so far."""
    pieces, so_far = list(sample.pieces), ""
    for at, piece in enumerate(pieces[1:-2], 1):
        event = payload(piece)
        function = event["choices"][0]["delta"]["tool_calls"][0]["function"]
        function["arguments"] = so_far = so_far + function["arguments"]
        pieces[at] = written(event)
    return replace(sample, pieces=tuple(pieces))


def chat_twice(call_id: str) -> tuple[bytes, ...]:
    """Chat: two calls under one id."""
    first, second = (samples.openai_chat(call_id, city).pieces for city in ("Bern", "Rome"))
    again = [piece.replace(b'"tool_calls": [{"index": 0', b'"tool_calls": [{"index": 1') for piece in second[:-2]]
    return (*first[:-2], *again, *first[-2:])


def anthropic_twice(call_id: str) -> tuple[bytes, ...]:
    """Anthropic: two blocks under one id."""
    first, second = (samples.anthropic(call_id, city).pieces for city in ("Bern", "Rome"))
    again = [piece.replace(b'"index": 0', b'"index": 1') for piece in second[1:-2] if b'"ping"' not in piece]
    return (*first[:-2], *again, *first[-2:])


def responses_twice(call_id: str) -> tuple[bytes, ...]:
    """Responses: two output items under one `call_id`."""
    first, second = (list(map(payload, samples.openai_responses(call_id, city).pieces)) for city in ("Bern", "Rome"))
    text = json.dumps([second[2:-1], second[-1]["response"]["output"]])
    again, output = json.loads(text.replace('"fc_1"', '"fc_2"').replace('"output_index": 0', '"output_index": 1'))
    first[-1]["response"]["output"] += output
    events = [*first[:-1], *again, first[-1]]
    return tuple(written(event | {"sequence_number": number}) for number, event in enumerate(events))


def payload(piece: bytes) -> Any:
    """The JSON of an event."""
    return json.loads(piece[piece.index(b"data: ") + len(b"data: ") :])


def payloads(body: bytes) -> list[Any]:
    """The JSON of every event that carries some."""
    return [payload(piece) for piece in body.split(b"\n\n") if b"data: {" in piece]


def written(event: dict[str, Any]) -> bytes:
    """An event, with its name where it has a type."""
    data = b"data: " + json.dumps(event, ensure_ascii=False).encode() + b"\n\n"
    return f"event: {event['type']}\n".encode() + data if "type" in event else data


def chat_ids(body: bytes) -> list[str]:
    """The ids of the calls in a chat answer, by their indexes."""
    deltas = [choice["delta"] for event in payloads(body) for choice in event["choices"]]
    entries = [entry for delta in deltas for entry in delta.get("tool_calls", ())]
    return list({entry["index"]: entry["id"] for entry in entries if "id" in entry}.values())


def anthropic_ids(body: bytes) -> list[str]:
    """The ids of the blocks."""
    return [event["content_block"]["id"] for event in payloads(body) if event["type"] == "content_block_start"]


def responses_ids(body: bytes) -> list[str]:
    """The ids of the calls, the same in every event that says them."""
    events = payloads(body)
    done = [event["item"]["call_id"] for event in events if event["type"] == "response.output_item.done"]
    assert [item["call_id"] for item in events[-1]["response"]["output"]] == done
    return done


def chat_answer(ids: Sequence[str]) -> dict[str, Any]:
    """What a chat client asks next: its calls as it understood them, and their results."""
    function = {"name": NAME, "arguments": "{}"}
    calls = [{"id": one, "type": "function", "function": function} for one in ids]
    results = [{"role": "tool", "tool_call_id": one, "content": "19 °C"} for one in ids]
    return {"messages": [{"role": "assistant", "tool_calls": calls}, *results]}


def anthropic_answer(ids: Sequence[str]) -> dict[str, Any]:
    """The same in Anthropic's words."""
    calls = [{"type": "tool_use", "id": one, "name": NAME, "input": {}} for one in ids]
    results = [{"type": "tool_result", "tool_use_id": one, "content": "19 °C"} for one in ids]
    return {"messages": [{"role": "assistant", "content": calls}, {"role": "user", "content": results}]}


def responses_answer(ids: Sequence[str]) -> dict[str, Any]:
    """The same in those of Responses."""
    calls = [{"type": "function_call", "call_id": one, "name": NAME, "arguments": "{}"} for one in ids]
    return {"input": [*calls, *({"type": "function_call_output", "call_id": one, "output": "19 °C"} for one in ids)]}


type Twice = Callable[[str], tuple[bytes, ...]]
type Ids = Callable[[bytes], list[str]]
type Next = Callable[[Sequence[str]], dict[str, Any]]

DUPLICATES: dict[str, tuple[Twice, Ids, Next]] = {
    "openai-chat": (chat_twice, chat_ids, chat_answer),
    "openai-responses": (responses_twice, responses_ids, responses_answer),
    "anthropic": (anthropic_twice, anthropic_ids, anthropic_answer),
}
"""An answer with two calls of one id, what ids the client gets, and what it asks next."""


def fetched(
    proxy: Mitmdump,
    upstream: Upstream,
    sample: Sample,
    version: str = "h1",
    planned: Answer | None = None,
    headers: Mapping[str, str] | None = None,
) -> tuple[Reply, bytes, RequestKey]:
    """An answer read to its end, and the request as the upstream saw it."""
    plan = upstream.plan(planned or streamed(sample))
    with client(version, way(proxy, upstream)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers | dict(headers or {}))
        return reply, reply.rest(), plan.asked


def streamed(sample: Sample, coding: str = "identity") -> Answer:
    """The sample's stream, without waiting."""
    return Answer(tuple(map(Send, sample.pieces)), content_type=sample.content_type, coding=coding)


def arguments(body: bytes) -> list[str]:
    """The argument text of each call in a chat answer, joined as clients join it."""
    joined: dict[int, str] = {}
    for event in payloads(body):
        for choice in event["choices"]:
            for entry in choice["delta"].get("tool_calls", ()):
                joined[entry["index"]] = joined.get(entry["index"], "") + entry["function"]["arguments"]
    return list(joined.values())
