"""ruby_llm 1.9.2, and ruby_llm-responses_api before its fix: https://github.com/khasinski/ruby_llm-responses_api.

Its accumulator takes whatever has an id for a call of its own, in place of one with the same id, and what has
none for the rest of the latest call. In Responses a delta gets an id, `call_id` or else `item_id`, and the name
that its event carries.
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
    """The calls of these parts."""
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
    """Chat Completions; entries of one event are kept by their ids."""
    parts: list[Call] = []
    for chunk in chunks(data):
        of_chunk = {entry.get("id"): entry.get("function", {}) for entry in entries(chunk)}
        for given, function in of_chunk.items():
            if function.get("arguments") is None:
                raise CrashError("undefined method 'empty?' for nil")
            parts.append(Call(given, function.get("name"), function["arguments"]))
    return accumulate(parts)


def responses_calls(data: Sequence[str]) -> list[Call]:
    """Responses; whatever a closing event says is passed over."""
    parts: list[Call] = []
    for event in chunks(data):
        item = event.get("item", {})
        if event["type"] == ADDED and item.get("type") == "function_call":
            parts.append(Call(item["call_id"], item["name"], ""))
        elif event["type"] == DELTA:
            given = event.get("call_id") or event.get("item_id")
            parts.append(Call(given, event.get("name"), event["delta"]))
    return accumulate(part for part in parts if part.id)


def run(call: Call, tools: Tools) -> str:
    """A tool is found by its name as a symbol, and its parameters are keywords."""
    if call.name is None:
        raise CrashError("undefined method 'to_sym' for nil")
    if call.name not in tools:
        raise CrashError("undefined method 'call' for nil")
    if lacking := missing(_parsed(call), tools[call.name]):
        raise CrashError(f"missing keyword: :{lacking[0]}")
    return DONE


def following(request: Json, calls: Sequence[Call], results: Sequence[str]) -> Json:
    """Responses: an item for each call, and one for each result."""
    said = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments} for call in calls
    ]
    gave = [
        {"type": "function_call_output", "call_id": call.id, "output": result}
        for call, result in zip(calls, results, strict=True)
    ]
    return {**request, "input": [*request["input"], *said, *gave]}


CHAT = Client("ruby_llm, Chat Completions", chat_calls, run, chat_following)
RESPONSES = Client("ruby_llm, Responses", responses_calls, run, following)
