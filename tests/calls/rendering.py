"""Random intended calls, and random valid encodings of them in each protocol."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING, Any, NamedTuple

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Callable

    type Payload = dict[str, Any]
    type Draw = Callable[[st.SearchStrategy[Any]], Any]
    type Render = Callable[[Draw, list[Intended]], list[Payload]]

NAMES = st.sampled_from(["f", "get_weather", "getWeather2", "mcp__fs__read-file", "ls"])
KEYS = st.from_regex(r"[a-z][a-z_0-9]{0,6}", fullmatch=True)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=12)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


class Intended(NamedTuple):
    """An intended call."""

    choice: int
    id: str
    name: str
    arguments: dict[str, object]

    @property
    def text(self) -> str:
        """The arguments as JSON text."""
        return json.dumps(self.arguments, ensure_ascii=False)


def intended(values: st.SearchStrategy[object] = VALUES, choices: int = 1) -> st.SearchStrategy[list[Intended]]:
    """Return a strategy for calls with distinct ids."""
    ids = st.from_regex(r"call_[a-z0-9]{4,8}", fullmatch=True)
    arguments = st.dictionaries(KEYS, values, max_size=3)
    one = st.builds(Intended, st.integers(0, choices - 1), ids, NAMES, arguments)
    return st.lists(one, min_size=1, max_size=4, unique_by=lambda call: call.id)


def chat(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Draw chunks with complete calls or fragments, repeated ids, interleaved calls, and several entries in a delta."""
    places = {choice: itertools.count() for choice in (0, 1)}
    queues: list[list[Payload]] = []
    for call in calls:
        index = {"index": next(places[call.choice])}
        repeated: Payload = draw(st.sampled_from([{}, {"id": None}, {"id": ""}, {"id": call.id, "type": "function"}]))
        head, *rest = fragments(draw, call.text)
        first = {**index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": head}}
        more: list[Payload] = [{**index, **repeated, "function": {"arguments": fragment}} for fragment in rest]
        queues.append([_chunk(call.choice, first), *(_chunk(call.choice, entry) for entry in more)])
    chunks = _merge_entries(draw, interleaved(draw, queues))
    finishes = [_choice(choice, {}, "tool_calls") for choice in sorted({call.choice for call in calls})]
    return [*chunks, *finishes]


def chat_unstreamed(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Return an unstreamed response."""
    messages = [
        {"role": "assistant", "tool_calls": [_tool_call(call) for call in calls if call.choice == choice]}
        for choice in (0, 1)
    ]
    choices = [{"index": at, "message": message, "finish_reason": "tool_calls"} for at, message in enumerate(messages)]
    return [{"object": "chat.completion", "choices": choices}]


def responses(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Draw the events of items, with or without deltas, interleaved or not, and repeated at the end or not."""
    queues: list[list[Payload]] = []
    for at, call in enumerate(calls):
        place = {"output_index": at, "item_id": f"fc_{call.id}"}
        events: list[Payload] = [_item_event("added", at, call, "")]
        if draw(st.booleans()):
            kind = {"type": "response.function_call_arguments.delta"}
            events += [{**kind, **place, "delta": fragment} for fragment in fragments(draw, call.text)]
        events.append({"type": "response.function_call_arguments.done", **place, "arguments": call.text})
        events.append(_item_event("done", at, call, call.text))
        queues.append(events)
    output = [_item(call, call.text) for call in calls] if draw(st.booleans()) else []
    end = {"type": "response.completed", "response": {"object": "response", "status": "completed", "output": output}}
    return [{"type": "response.created", "response": {"output": []}}, *interleaved(draw, queues), end]


def responses_unstreamed(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Return an unstreamed response."""
    return [{"object": "response", "status": "completed", "output": [_item(call, call.text) for call in calls]}]


def anthropic(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Draw consecutive blocks with pings; without input, with no delta or an empty delta."""
    events: list[Payload] = [{"type": "message_start", "message": {"model": "m"}}]
    for at, call in enumerate(calls):
        text = "" if not call.arguments and draw(st.booleans()) else call.text
        events.append({"type": "content_block_start", "index": at, "content_block": _block(call, {})})
        for fragment in fragments(draw, text):
            delta = {"type": "input_json_delta", "partial_json": fragment}
            events.append({"type": "content_block_delta", "index": at, "delta": delta})
            events += [{"type": "ping"}] if draw(st.booleans()) else []
        events.append({"type": "content_block_stop", "index": at})
    return [*events, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]


def anthropic_unstreamed(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Return an unstreamed response."""
    content = [_block(call, call.arguments) for call in calls]
    return [{"type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use"}]


def gemini(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Draw chunks with a part for each call, one or several parts in a chunk."""
    chunks: list[Payload] = []
    for call in calls:
        part = {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
        last = chunks[-1]["candidates"] if chunks else None
        if isinstance(last, list) and last[0]["index"] == call.choice and draw(st.booleans()):
            last[0]["content"]["parts"].append(part)
        else:
            chunks.append(_candidate(call.choice, part))
    return [*chunks, {"candidates": [{"finishReason": "STOP", "index": 0}]}]


def gemini_unstreamed(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Return an unstreamed response."""
    parts = [{"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in calls]
    return [{"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}]


def gemini_partial(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Draw partial arguments: text in several parts, other values in one."""
    chunks: list[Payload] = []
    for call in calls:
        chunks.append(_candidate(0, {"functionCall": {"id": call.id, "name": call.name, "willContinue": True}}))
        for key, value in call.arguments.items():
            for patch in _patches(draw, f"$.{key}", value):
                part = {"functionCall": {"partialArgs": [patch], "willContinue": True}}
                chunks.append(_candidate(0, part))
        chunks.append(_candidate(0, {"functionCall": {}}))
    return chunks


def ollama(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Draw lines with complete calls, one or several in a line."""
    lines: list[Payload] = []
    for call in calls:
        entry = {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
        message = lines[-1]["message"] if lines else None
        if isinstance(message, dict) and draw(st.booleans()):
            message["tool_calls"].append(entry)
        else:
            lines.append({"message": {"role": "assistant", "content": "", "tool_calls": [entry]}, "done": False})
    return [*lines, {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}]


def ollama_unstreamed(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Return an unstreamed response."""
    entries = [{"id": call.id, "function": {"name": call.name, "arguments": call.arguments}} for call in calls]
    return [{"message": {"role": "assistant", "content": "", "tool_calls": entries}, "done": True}]


def fragments(draw: Draw, text: str) -> list[str]:
    """Draw fragments of `text`, some of them empty."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=5)))
    return [text[begin:end] for begin, end in itertools.pairwise([0, *cuts, len(text)])]


def interleaved(draw: Draw, queues: list[list[Payload]]) -> list[Payload]:
    """Join the queues in order, or interleave them; no queue begins before the earlier queues."""
    if draw(st.booleans()):
        return [payload for queue in queues for payload in queue]
    waiting = [list(queue) for queue in queues]
    merged = []
    started = 0
    while any(waiting):
        at = draw(st.sampled_from([at for at, queue in enumerate(waiting[: started + 1]) if queue]))
        started = max(started, at + 1)
        merged.append(waiting[at].pop(0))
    return merged


def _merge_entries(draw: Draw, chunks: list[Payload]) -> list[Payload]:
    merged: list[Payload] = []
    for chunk in chunks:
        target, entries = (_entries(merged[-1]) if merged else None), _entries(chunk)
        if target is not None and target[0] == entries[0] and draw(st.booleans()):
            target[1].extend(entries[1])
        else:
            merged.append(chunk)
    return merged


def _entries(chunk: Payload) -> tuple[int, list[Payload]]:
    (choice,) = chunk["choices"]
    return choice["index"], choice["delta"]["tool_calls"]


def _chunk(choice: int, entry: Payload) -> Payload:
    return _choice(choice, {"tool_calls": [entry]}, None)


def _choice(choice: int, delta: Payload, finish: str | None) -> Payload:
    return {"object": "chat.completion.chunk", "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}


def _tool_call(call: Intended) -> Payload:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}


def _item_event(status: str, at: int, call: Intended, arguments: str) -> Payload:
    return {"type": f"response.output_item.{status}", "output_index": at, "item": _item(call, arguments)}


def _item(call: Intended, arguments: str) -> Payload:
    named = {"id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
    return {"type": "function_call", **named, "arguments": arguments}


def _block(call: Intended, arguments: dict[str, object]) -> Payload:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments}


def _candidate(choice: int, part: Payload) -> Payload:
    return {"candidates": [{"index": choice, "content": {"role": "model", "parts": [part]}}]}


def _patches(draw: Draw, path: str, value: object) -> list[Payload]:
    if isinstance(value, str):
        parts = fragments(draw, value)
        return [{"jsonPath": path, "stringValue": fragment, "willContinue": True} for fragment in parts]
    if value is None:
        return [{"jsonPath": path, "nullValue": "NULL_VALUE"}]
    return [{"jsonPath": path, "boolValue" if isinstance(value, bool) else "numberValue": value}]
