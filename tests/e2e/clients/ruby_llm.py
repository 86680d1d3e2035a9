"""ruby_llm 1.9.2, and ruby_llm-responses_api before its fix: https://github.com/khasinski/ruby_llm-responses_api.

Its accumulator treats every part with an id as a call, which replaces a call with the same id, and a part without an
id as the rest of the latest call. In Responses a delta gets `call_id` or else `item_id` as its id, and the name of
its event.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.e2e.clients.conversation import (
    DONE,
    Call,
    Client,
    CrashError,
    Json,
    Tools,
    chat_following,
    chunks,
    entries,
    missing,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ADDED = "response.output_item.added"
DELTA = "response.function_call_arguments.delta"


def accumulate(parts: Iterable[Call]) -> list[Call]:
    """Accumulate parts to calls."""
    calls: dict[str, Call] = {}
    latest = ""
    for part in parts:
        if part.id is not None:
            calls[part.id] = replace(part, id=part.id or "a made-up id")
            latest = part.id
        elif latest in calls:
            calls[latest] = replace(calls[latest], arguments=calls[latest].arguments + part.arguments)
    for call in calls.values():
        _parsed(call)
    return list(calls.values())


def _parsed(call: Call) -> Json:
    try:
        parsed: Json = json.loads(call.arguments or "{}")
    except ValueError as error:
        raise CrashError(f"unexpected token at '{call.arguments}'") from error
    return parsed


def chat_calls(data: Sequence[str]) -> list[Call]:
    """Chat Completions: of the entries of an event with the same id only the last is kept."""
    parts: list[Call] = []
    for chunk in chunks(data):
        of_chunk = {entry.get("id"): entry.get("function", {}) for entry in entries(chunk)}
        for call_id, function in of_chunk.items():
            if function.get("arguments") is None:
                raise CrashError("undefined method 'empty?' for nil")
            parts.append(Call(call_id, function.get("name"), function["arguments"]))
    return accumulate(parts)


def responses_calls(data: Sequence[str]) -> list[Call]:
    """Responses: the arguments in `done` events are ignored."""
    parts: list[Call] = []
    for event in chunks(data):
        item = event.get("item", {})
        if event["type"] == ADDED and item.get("type") == "function_call":
            parts.append(Call(item["call_id"], item["name"], ""))
        elif event["type"] == DELTA:
            call_id = event.get("call_id") or event.get("item_id")
            parts.append(Call(call_id, event.get("name"), event["delta"]))
    return accumulate(part for part in parts if part.id)


def run(call: Call, tools: Tools) -> str:
    """Find the tool by its name as a symbol; its parameters are keywords."""
    if call.name is None:
        raise CrashError("undefined method 'to_sym' for nil")
    if call.name not in tools:
        raise CrashError("undefined method 'call' for nil")
    if lacking := missing(_parsed(call), tools[call.name]):
        raise CrashError(f"missing keyword: :{lacking[0]}")
    return DONE


def following(request: Json, calls: Sequence[Call], results: Sequence[str]) -> Json:
    """The next request of Responses, with an item for each call and each result."""
    call_items = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments} for call in calls
    ]
    result_items = [
        {"type": "function_call_output", "call_id": call.id, "output": result}
        for call, result in zip(calls, results, strict=True)
    ]
    return {**request, "input": [*request["input"], *call_items, *result_items]}


CHAT = Client("ruby_llm, Chat Completions", chat_calls, run, chat_following)
RESPONSES = Client("ruby_llm, Responses", responses_calls, run, following)
