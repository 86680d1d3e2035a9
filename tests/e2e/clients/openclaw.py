"""OpenClaw's Android assistant, Chat Completions, before and after it aggregated deltas."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.e2e.clients.conversation import DONE, Call, Client, Tools, chat_following, chunks, entries, missing

if TYPE_CHECKING:
    from collections.abc import Sequence


def deltas(data: Sequence[str]) -> list[Call]:
    """Every delta becomes a call."""
    return [
        Call(entry.get("id") or "", function.get("name") or "", function.get("arguments") or "")
        for chunk in chunks(data)
        for entry in entries(chunk)
        for function in [entry.get("function", {})]
    ]


def aggregate(data: Sequence[str]) -> list[Call]:
    """A call starts at an id; other fragments belong to the last call."""
    calls: list[Call] = []
    for delta in deltas(data):
        if delta.id:
            calls.append(delta)
        elif calls:
            calls[-1] = replace(calls[-1], arguments=calls[-1].arguments + delta.arguments)
    return calls


def run(call: Call, tools: Tools) -> str:
    """Run the tool; an error is a result for the model."""
    if call.name not in tools:
        return "Unknown tool"
    try:
        lacking = missing(json.loads(call.arguments or "{}"), tools[call.name])
    except ValueError:
        return "Invalid arguments"
    return f"Missing: {', '.join(lacking)}" if lacking else DONE


REPORTED = Client("OpenClaw, before the aggregator was added", deltas, run, chat_following)
AGGREGATING = Client("OpenClaw, with its aggregator", aggregate, run, chat_following)
