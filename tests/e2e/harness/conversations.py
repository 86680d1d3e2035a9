"""Conversations of several turns: what a client asks next, and what a strict server refuses. Knows no proxy."""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.e2e.harness.changes import payloads

if TYPE_CHECKING:
    from collections.abc import Sequence


class Called(NamedTuple):
    """A call as the client has it."""

    id: str
    name: str


def calls(dialect: str, body: bytes) -> list[Called]:
    """The calls of a stream, as a client without any tolerance has them."""
    events = payloads(body)
    if dialect == "openai-chat":
        deltas = [choice["delta"] for event in events for choice in event["choices"]]
        entries = [entry for delta in deltas for entry in delta.get("tool_calls", ())]
        return [Called(entry["id"], entry["function"]["name"]) for entry in entries if "id" in entry]
    if dialect == "anthropic":
        blocks = [event["content_block"] for event in events if event["type"] == "content_block_start"]
        return [Called(block["id"], block["name"]) for block in blocks if block["type"] == "tool_use"]
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return [Called(item["call_id"], item["name"]) for item in items if item["type"] == "function_call"]


def turn(dialect: str, said: Sequence[Called]) -> list[dict[str, Any]]:
    """The calls and their results, as the messages or items of the next request. The results quote the ids."""
    if dialect == "openai-chat":
        made = [{"id": one.id, "type": "function", "function": {"name": one.name, "arguments": "{}"}} for one in said]
        results = [{"role": "tool", "tool_call_id": one.id, "content": f'done: "{one.id}"'} for one in said]
        return [{"role": "assistant", "content": None, "tool_calls": made}, *results]
    if dialect == "anthropic":
        blocks = [{"type": "tool_use", "id": one.id, "name": one.name, "input": {}} for one in said]
        responses = [{"type": "tool_result", "tool_use_id": one.id, "content": f'"{one.id}"'} for one in said]
        return [{"role": "assistant", "content": blocks}, {"role": "user", "content": responses}]
    items = [{"type": "function_call", "call_id": one.id, "name": one.name, "arguments": "{}"} for one in said]
    outputs = [{"type": "function_call_output", "call_id": one.id, "output": f'"{one.id}"'} for one in said]
    return [*items, *outputs]


def asked(dialect: str, request: dict[str, Any], turns: Sequence[Sequence[Called]]) -> bytes:
    """The request after these turns."""
    key = "input" if dialect == "openai-responses" else "messages"
    return json.dumps(
        {**request, key: [*request[key], *(entry for said in turns for entry in turn(dialect, said))]}
    ).encode()


def refused(dialect: str, body: bytes) -> str | None:
    """Why a strict server answers 400, `None` where it does not.

    Each call has an id that no other of its turn has, and each result belongs to exactly one call of the last turn.
    """
    request = json.loads(body)
    for calls_, results in _turns(dialect, request):
        counted = Counter(calls_)
        if not all(calls_):
            return f"a call has no id: {calls_}"
        if max(counted.values(), default=0) > 1:
            return f"two calls have one id: {calls_}"
        if Counter(results) != counted:
            return f"results {results} of calls {calls_}"
    return None


def _turns(dialect: str, request: dict[str, Any]) -> list[tuple[list[str], list[str]]]:
    """The ids of the calls and of the results of each turn."""
    turns: list[tuple[list[str], list[str]]] = []
    after_result = True
    for call, identity in _ids(dialect, request):
        if call and after_result:
            turns.append(([], []))
        turns[-1][0 if call else 1].append(identity)
        after_result = not call
    return turns


def _ids(dialect: str, request: dict[str, Any]) -> list[tuple[bool, str]]:
    """Whether it is a call's or a result's, in order."""
    found: list[tuple[bool, str]] = []
    for entry in request["input" if dialect == "openai-responses" else "messages"]:
        if dialect == "openai-responses":
            kind = entry.get("type")
            found += [(kind == "function_call", entry["call_id"])] if kind in KINDS else []
        elif dialect == "anthropic":
            blocks = entry["content"] if isinstance(entry["content"], list) else []
            found += [(True, block["id"]) for block in blocks if block["type"] == "tool_use"]
            found += [(False, block["tool_use_id"]) for block in blocks if block["type"] == "tool_result"]
        else:
            found += [(True, call["id"]) for call in entry.get("tool_calls", ())]
            found += [(False, entry["tool_call_id"])] if entry["role"] == "tool" else []
    return found


KINDS = frozenset({"function_call", "function_call_output"})
