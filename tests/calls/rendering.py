"""Intended calls in the valid streams of each protocol, drawn by chance. Knows what the protocols document."""

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
    """A call, as it is meant."""

    choice: int
    id: str
    name: str
    arguments: dict[str, object]

    @property
    def text(self) -> str:
        """The arguments as JSON text."""
        return json.dumps(self.arguments, ensure_ascii=False)


def intended(values: st.SearchStrategy[object] = VALUES, choices: int = 1) -> st.SearchStrategy[list[Intended]]:
    """Some calls, each with an id of its own."""
    ids = st.from_regex(r"call_[a-z0-9]{4,8}", fullmatch=True)
    arguments = st.dictionaries(KEYS, values, max_size=3)
    one = st.builds(Intended, st.integers(0, choices - 1), ids, NAMES, arguments)
    return st.lists(one, min_size=1, max_size=4, unique_by=lambda call: call.id)


def chat(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Header and fragments or whole, ids repeated or not, calls interleaved, several entries in a delta."""
    places = {choice: itertools.count() for choice in (0, 1)}
    queues: list[list[Payload]] = []
    for call in calls:
        index = {"index": next(places[call.choice])}
        again: Payload = draw(st.sampled_from([{}, {"id": None}, {"id": ""}, {"id": call.id, "type": "function"}]))
        head, *rest = pieces(draw, call.text)
        first = {**index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": head}}
        more: list[Payload] = [{**index, **again, "function": {"arguments": piece}} for piece in rest]
        queues.append([_chunk(call.choice, first), *(_chunk(call.choice, entry) for entry in more)])
    chunks = _entries_together(draw, interleaved(draw, queues))
    finishes = [_choice(choice, {}, "tool_calls") for choice in sorted({call.choice for call in calls})]
    return [*chunks, *finishes]


def chat_answer(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Not streamed."""
    messages = [
        {"role": "assistant", "tool_calls": [_tool_call(call) for call in calls if call.choice == choice]}
        for choice in (0, 1)
    ]
    choices = [{"index": at, "message": said, "finish_reason": "tool_calls"} for at, said in enumerate(messages)]
    return [{"object": "chat.completion", "choices": choices}]


def responses(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Items with all their events, or without deltas, one after the other or at once, said again at the end or not."""
    queues: list[list[Payload]] = []
    for at, call in enumerate(calls):
        where = {"output_index": at, "item_id": f"fc_{call.id}"}
        life: list[Payload] = [_item_event("added", at, call, "")]
        if draw(st.booleans()):
            kind = {"type": "response.function_call_arguments.delta"}
            life += [{**kind, **where, "delta": piece} for piece in pieces(draw, call.text)]
        life.append({"type": "response.function_call_arguments.done", **where, "arguments": call.text})
        life.append(_item_event("done", at, call, call.text))
        queues.append(life)
    output = [_item(call, call.text) for call in calls] if draw(st.booleans()) else []
    end = {"type": "response.completed", "response": {"object": "response", "status": "completed", "output": output}}
    return [{"type": "response.created", "response": {"output": []}}, *interleaved(draw, queues), end]


def responses_answer(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Not streamed."""
    return [{"object": "response", "status": "completed", "output": [_item(call, call.text) for call in calls]}]


def anthropic(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """One block after the other, with pings; no input may be no delta or an empty one."""
    events: list[Payload] = [{"type": "message_start", "message": {"model": "m"}}]
    for at, call in enumerate(calls):
        text = "" if not call.arguments and draw(st.booleans()) else call.text
        events.append({"type": "content_block_start", "index": at, "content_block": _block(call, {})})
        for piece in pieces(draw, text):
            delta = {"type": "input_json_delta", "partial_json": piece}
            events.append({"type": "content_block_delta", "index": at, "delta": delta})
            events += [{"type": "ping"}] if draw(st.booleans()) else []
        events.append({"type": "content_block_stop", "index": at})
    return [*events, {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}, {"type": "message_stop"}]


def anthropic_answer(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Not streamed."""
    content = [_block(call, call.arguments) for call in calls]
    return [{"type": "message", "role": "assistant", "content": content, "stop_reason": "tool_use"}]


def gemini(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Each call one part, one or several parts in a chunk."""
    chunks: list[Payload] = []
    for call in calls:
        part = {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}}
        last = chunks[-1]["candidates"] if chunks else None
        if isinstance(last, list) and last[0]["index"] == call.choice and draw(st.booleans()):
            last[0]["content"]["parts"].append(part)
        else:
            chunks.append(_candidate(call.choice, part))
    return [*chunks, {"candidates": [{"finishReason": "STOP", "index": 0}]}]


def gemini_answer(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Not streamed."""
    parts = [{"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}} for call in calls]
    return [{"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]}]


def gemini_partial(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Arguments in parts: text grows, other values come at once."""
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
    """Each call whole, one or several in a line."""
    lines: list[Payload] = []
    for call in calls:
        entry = {"id": call.id, "function": {"name": call.name, "arguments": call.arguments}}
        message = lines[-1]["message"] if lines else None
        if isinstance(message, dict) and draw(st.booleans()):
            message["tool_calls"].append(entry)
        else:
            lines.append({"message": {"role": "assistant", "content": "", "tool_calls": [entry]}, "done": False})
    return [*lines, {"message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}]


def ollama_answer(draw: Draw, calls: list[Intended]) -> list[Payload]:
    """Not streamed."""
    entries = [{"id": call.id, "function": {"name": call.name, "arguments": call.arguments}} for call in calls]
    return [{"message": {"role": "assistant", "content": "", "tool_calls": entries}, "done": True}]


def pieces(draw: Draw, text: str) -> list[str]:
    """`text` cut anywhere, with empty pieces among them."""
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=5)))
    return [text[begin:end] for begin, end in itertools.pairwise([0, *cuts, len(text)])]


def interleaved(draw: Draw, queues: list[list[Payload]]) -> list[Payload]:
    """One after the other, or each queue's next whenever chance says so; none begins before those before it."""
    if draw(st.booleans()):
        return [payload for queue in queues for payload in queue]
    waiting = [list(queue) for queue in queues]
    merged = []
    begun = 0
    while any(waiting):
        at = draw(st.sampled_from([at for at, queue in enumerate(waiting[: begun + 1]) if queue]))
        begun = max(begun, at + 1)
        merged.append(waiting[at].pop(0))
    return merged


def _entries_together(draw: Draw, chunks: list[Payload]) -> list[Payload]:
    together: list[Payload] = []
    for chunk in chunks:
        into, entries = (_entries(together[-1]) if together else None), _entries(chunk)
        if into is not None and into[0] == entries[0] and draw(st.booleans()):
            into[1].extend(entries[1])
        else:
            together.append(chunk)
    return together


def _entries(chunk: Payload) -> tuple[int, list[Payload]]:
    (choice,) = chunk["choices"]
    return choice["index"], choice["delta"]["tool_calls"]


def _chunk(choice: int, entry: Payload) -> Payload:
    return _choice(choice, {"tool_calls": [entry]}, None)


def _choice(choice: int, delta: Payload, finish: str | None) -> Payload:
    return {"object": "chat.completion.chunk", "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}


def _tool_call(call: Intended) -> Payload:
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.text}}


def _item_event(what: str, at: int, call: Intended, said: str) -> Payload:
    return {"type": f"response.output_item.{what}", "output_index": at, "item": _item(call, said)}


def _item(call: Intended, said: str) -> Payload:
    named = {"id": f"fc_{call.id}", "call_id": call.id, "name": call.name}
    return {"type": "function_call", **named, "arguments": said}


def _block(call: Intended, said: dict[str, object]) -> Payload:
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": said}


def _candidate(choice: int, part: Payload) -> Payload:
    return {"candidates": [{"index": choice, "content": {"role": "model", "parts": [part]}}]}


def _patches(draw: Draw, path: str, value: object) -> list[Payload]:
    if isinstance(value, str):
        cut = pieces(draw, value)
        return [{"jsonPath": path, "stringValue": piece, "willContinue": True} for piece in cut]
    if value is None:
        return [{"jsonPath": path, "nullValue": "NULL_VALUE"}]
    return [{"jsonPath": path, "boolValue" if isinstance(value, bool) else "numberValue": value}]
