"""Conversations of several turns: the next request of a client, and the requests that a strict server rejects."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.e2e.harness.changes import payloads

if TYPE_CHECKING:
    from collections.abc import Sequence


class Called(NamedTuple):
    """A tool call as the client received it."""

    id: str
    name: str


def calls(protocol: str, body: bytes) -> list[Called]:
    """The calls of a stream, as a strict client reads them."""
    events = payloads(body)
    if protocol == "openai-chat":
        deltas = [choice["delta"] for event in events for choice in event["choices"]]
        entries = [entry for delta in deltas for entry in delta.get("tool_calls", ())]
        return [Called(entry["id"], entry["function"]["name"]) for entry in entries if "id" in entry]
    if protocol == "anthropic":
        blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
        return [Called(block["id"], block["name"]) for block in blocks if block["type"] == "tool_use"]
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return [Called(item["call_id"], item["name"]) for item in items if item["type"] == "function_call"]


def turn(protocol: str, received: Sequence[Called]) -> list[dict[str, Any]]:
    """The messages or items of the next request for these calls and their results. The results quote the ids."""
    if protocol == "openai-chat":
        tool_calls = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": "{}"}} for call in received
        ]
        results = [{"role": "tool", "tool_call_id": call.id, "content": f'done: "{call.id}"'} for call in received]
        return [{"role": "assistant", "content": None, "tool_calls": tool_calls}, *results]
    if protocol == "anthropic":
        blocks = [{"type": "tool_use", "id": call.id, "name": call.name, "input": {}} for call in received]
        results = [{"type": "tool_result", "tool_use_id": call.id, "content": f'"{call.id}"'} for call in received]
        return [{"role": "assistant", "content": blocks}, {"role": "user", "content": results}]
    items = [{"type": "function_call", "call_id": call.id, "name": call.name, "arguments": "{}"} for call in received]
    outputs = [{"type": "function_call_output", "call_id": call.id, "output": f'"{call.id}"'} for call in received]
    return [*items, *outputs]


def request_after(protocol: str, request: dict[str, Any], turns: Sequence[Sequence[Called]]) -> bytes:
    """The body of the request after these turns."""
    key = "input" if protocol == "openai-responses" else "messages"
    return json.dumps(
        {**request, key: [*request[key], *(entry for calls_ in turns for entry in turn(protocol, calls_))]}
    ).encode()


def rejection(protocol: str, body: bytes) -> str | None:
    """Why a strict server rejects a request, or `None`.

    Each call needs an id that is unique in its turn, and each result belongs to exactly one call of the last turn.
    """
    request = json.loads(body)
    for calls_, results in _turns(protocol, request):
        counted = Counter(calls_)
        if not all(calls_):
            return f"a call has no id: {calls_}"
        if max(counted.values(), default=0) > 1:
            return f"two calls have one id: {calls_}"
        if Counter(results) != counted:
            return f"results {results} of calls {calls_}"
    return None


def _turns(protocol: str, request: dict[str, Any]) -> list[tuple[list[str], list[str]]]:
    """The ids of the calls and of the results of each turn."""
    turns: list[tuple[list[str], list[str]]] = []
    after_result = True
    for call, identity in _ids(protocol, request):
        if call and after_result:
            turns.append(([], []))
        turns[-1][0 if call else 1].append(identity)
        after_result = not call
    return turns


def _ids(protocol: str, request: dict[str, Any]) -> list[tuple[bool, str]]:
    """Each id in order, and whether it is of a call (or else of a result)."""
    found: list[tuple[bool, str]] = []
    for entry in request["input" if protocol == "openai-responses" else "messages"]:
        if protocol == "openai-responses":
            kind = entry.get("type")
            found += [(kind == "function_call", entry["call_id"])] if kind in KINDS else []
        elif protocol == "anthropic":
            blocks = entry["content"] if isinstance(entry["content"], list) else []
            found += [(True, block["id"]) for block in blocks if block["type"] == "tool_use"]
            found += [(False, block["tool_use_id"]) for block in blocks if block["type"] == "tool_result"]
        else:
            found += [(True, call["id"]) for call in entry.get("tool_calls", ())]
            found += [(False, entry["tool_call_id"])] if entry["role"] == "tool" else []
    return found


KINDS = frozenset({"function_call", "function_call_output"})
