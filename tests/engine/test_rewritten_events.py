"""The cost of a rewritten event, as the number of calls of Python functions."""

from __future__ import annotations

import json
import statistics
import sys
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import injected
from tests.invariants.healthy import Healthy
from toolstream_core.engine.session import Session
from toolstream_core.settings import SAFE, Settings
from toolstream_core.wire.aws_event_stream import fresh
from toolstream_core.wire.numbers import Written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import FrameType

type Payload = dict[str, Any]

CALLS = 12
FRAGMENTS = ('{"ci', 'ty":"Os', "lo ", "wi[th", '} a \\"', 'south"}')
ARGUMENTS = "".join(FRAGMENTS)
NAME = "get_weather"


def data(payload: Payload, name: str = "") -> bytes:
    """Return a server-sent event."""
    event = f"event: {name}\n" if name else ""
    return f"{event}data: {json.dumps(payload, separators=(',', ':'))}\n\n".encode()


def named(payloads: Iterable[Payload]) -> bytes:
    """Return server-sent events named by their type."""
    return b"".join(data(payload, payload["type"]) for payload in payloads)


def chat() -> bytes:
    """Return many calls of Chat Completions, each in many fragments."""

    def chunk(delta: Payload, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return data({"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]})

    out = [chunk({"role": "assistant", "content": ""})]
    for at in range(CALLS):
        head = {"index": at, "id": f"call_{at}x", "type": "function", "function": {"name": NAME, "arguments": ""}}
        out += [chunk({"tool_calls": [head]})]
        out += [chunk({"tool_calls": [{"index": at, "function": {"arguments": fragment}}]}) for fragment in FRAGMENTS]
    return b"".join([*out, chunk({}, "tool_calls"), b"data: [DONE]\n\n"])


def responses() -> bytes:
    """Return many items of Responses, each in many fragments."""
    response = {"id": "resp_1", "object": "response", "created_at": 1, "model": "m", "tools": []}
    events: list[Payload] = [
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}}
    ]
    items = []
    for at in range(CALLS):
        item = {"id": f"fc_{at}x", "type": "function_call", "call_id": f"call_{at}x", "name": NAME}
        place = {"item_id": item["id"], "output_index": at}
        opened = {**item, "status": "in_progress", "arguments": ""}
        items.append({**item, "status": "completed", "arguments": ARGUMENTS})
        delta = {"type": "response.function_call_arguments.delta", **place}
        events.append({"type": "response.output_item.added", "output_index": at, "item": opened})
        events += [{**delta, "delta": fragment} for fragment in FRAGMENTS]
        events.append({"type": "response.function_call_arguments.done", **place, "arguments": ARGUMENTS, "name": NAME})
        events.append({"type": "response.output_item.done", "output_index": at, "item": items[-1]})
    events.append({"type": "response.completed", "response": {**response, "status": "completed", "output": items}})
    return named({**event, "sequence_number": number} for number, event in enumerate(events))


def anthropic() -> bytes:
    """Return many blocks, each in many fragments."""
    usage = {"input_tokens": 1, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": [], "usage": usage}
    events: list[Payload] = [{"type": "message_start", "message": message}]
    for at in range(CALLS):
        block = {"type": "tool_use", "id": f"toolu_{at}x", "name": NAME, "input": {}}
        events.append({"type": "content_block_start", "index": at, "content_block": block})
        for fragment in FRAGMENTS:
            delta = {"type": "input_json_delta", "partial_json": fragment}
            events.append({"type": "content_block_delta", "index": at, "delta": delta})
        events.append({"type": "content_block_stop", "index": at})
    events.append({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage})
    return named([*events, {"type": "message_stop"}])


def gemini() -> bytes:
    """Return many calls, each complete in an event."""
    out = []
    for at in range(4 * CALLS):
        call = {"id": f"c{at}x", "name": NAME, "args": {"city": f"Oslo {at}"}}
        content = {"parts": [{"functionCall": call}], "role": "model"}
        out.append(data({"candidates": [{"content": content, "index": 0}], "modelVersion": "m"}))
    return b"".join([*out, data({"candidates": [{"finishReason": "STOP", "index": 0}], "modelVersion": "m"})])


def ollama() -> bytes:
    """Return many calls, each complete in a line."""
    head = {"model": "m", "created_at": "2025-01-01T00:00:00Z"}
    lines: list[Payload] = []
    for at in range(4 * CALLS):
        call = {"function": {"index": at, "name": NAME, "arguments": {"city": f"Oslo {at}"}}}
        message = {"role": "assistant", "content": "", "tool_calls": [{"id": f"call_{at}x", **call}]}
        lines.append({**head, "message": message, "done": False})
    lines.append({**head, "message": {"role": "assistant", "content": ""}, "done_reason": "stop", "done": True})
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def cohere() -> bytes:
    """Return many calls, each in many fragments."""

    def entry(tool_calls: Payload) -> Payload:
        return {"delta": {"message": {"tool_calls": tool_calls}}}

    events: list[Payload] = [{"type": "message-start", "id": "m1", "delta": {"message": {"role": "assistant"}}}]
    for at in range(CALLS):
        head = {"id": f"{NAME}_{at}x", "type": "function", "function": {"name": NAME, "arguments": ""}}
        events.append({"type": "tool-call-start", "index": at, **entry(head)})
        delta = {"type": "tool-call-delta", "index": at}
        events += [{**delta, **entry({"function": {"arguments": fragment}})} for fragment in FRAGMENTS]
        events.append({"type": "tool-call-end", "index": at})
    return named([*events, {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}}])


def interactions() -> bytes:
    """Return many steps, each in many fragments."""
    head = {"id": "v1_1", "object": "interaction", "model": "m"}
    events: list[Payload] = [{"interaction": {**head, "status": "in_progress"}, "event_type": "interaction.created"}]
    for at in range(CALLS):
        step = {"id": f"call_{at}x", "type": "function_call", "name": NAME, "arguments": {}}
        events.append({"index": at, "step": step, "event_type": "step.start"})
        deltas = [{"arguments": fragment, "type": "arguments_delta"} for fragment in FRAGMENTS]
        events += [{"index": at, "delta": delta, "event_type": "step.delta"} for delta in deltas]
        events.append({"index": at, "event_type": "step.stop"})
    end = {"interaction": {**head, "status": "requires_action"}, "event_type": "interaction.completed"}
    return b"".join(b"event: %s\n%s" % (one["event_type"].encode(), data(one)) for one in [*events, end])


def bedrock() -> bytes:
    """Return many blocks, each in many fragments."""
    events: list[tuple[str, Payload]] = [("messageStart", {"role": "assistant"})]
    for at in range(CALLS):
        index = {"contentBlockIndex": at}
        start = {"toolUse": {"toolUseId": f"tooluse_{at}x", "name": NAME}}
        events.append(("contentBlockStart", {**index, "start": start}))
        events += [
            ("contentBlockDelta", {**index, "delta": {"toolUse": {"input": fragment}}}) for fragment in FRAGMENTS
        ]
        events.append(("contentBlockStop", index))
    events.append(("messageStop", {"stopReason": "tool_use"}))
    return b"".join(fresh(json.dumps(payload).encode(), name).encode() for name, payload in events)


STREAMS: dict[str, Callable[[], bytes]] = {
    "openai-chat": chat,
    "openai-responses": responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "ollama": ollama,
    "cohere-v2": cohere,
    "gemini-interactions": interactions,
    "bedrock": bedrock,
}
"""A stream of each protocol."""
CEILINGS = [
    ("openai-chat", "changing-id", 178),
    ("openai-chat", "empty-id", 135),
    ("openai-chat", "reused-index", 130),
    ("openai-chat", "missing-index", 130),
    ("openai-chat", "cumulative-arguments", 169),
    ("openai-chat", "missing-id", 213),
    ("openai-responses", "rotating-item-id", 148),
    ("openai-responses", "missing-index", 149),
    ("openai-responses", "sequence-numbers", 149),
    ("openai-responses", "cumulative-arguments", 161),
    ("anthropic", "offset-index", 116),
    ("anthropic", "reused-index", 106),
    ("anthropic", "missing-id", 159),
    ("anthropic", "cumulative-arguments", 157),
    ("gemini", "decorated-name", 117),
    ("gemini", "double-encoded-arguments", 123),
    ("ollama", "decorated-name", 105),
    ("ollama", "double-encoded-arguments", 112),
    ("cohere-v2", "changing-id", 138),
    ("cohere-v2", "reused-index", 122),
    ("bedrock", "reused-index", 147),
    ("bedrock", "cumulative-arguments", 177),
]
"""Protocol, defect, and the maximum average number of calls for a rewritten event.

If the last event is rewritten, the sent events are read once more for it.
"""


def costs(protocol: str, defect: str) -> list[int]:
    """Return the number of calls of Python functions for each event that the safe repairs rewrite."""
    healthy = Healthy(protocol, "many calls", STREAMS[protocol]())
    broken = healthy._replace(body=injected(healthy.body, healthy.exchange, defect).out)
    session = Session(healthy.exchange, Settings(SAFE))
    calls = 0

    def count(frame: FrameType, kind: str, argument: object) -> None:
        nonlocal calls
        del frame, argument
        calls += kind == "call"

    rewritten = []
    for frame in broken.frames:
        calls = 0
        sys.setprofile(count)
        out = session.feed(frame)
        sys.setprofile(None)
        if b"".join(out) != frame:
            rewritten.append(calls)
    session.end()
    assert session.error is None
    return rewritten[len(rewritten) // 4 :]


@pytest.fixture(autouse=True)
def _usual_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the slow path for numbers: after one uncommon number, writing JSON costs more in the whole process."""
    monkeypatch.setattr(Written, "match", False)


@pytest.mark.parametrize(("protocol", "defect", "ceiling"), CEILINGS)
def test_a_rewritten_event_needs_few_calls(protocol: str, defect: str, ceiling: int) -> None:
    """A rewritten event needs few function calls, once the fast path has learned from a quarter of the stream."""
    counts = costs(protocol, defect)
    assert len(counts) >= CALLS // 2
    assert statistics.mean(counts) <= ceiling
