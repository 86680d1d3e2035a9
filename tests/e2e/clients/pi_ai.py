"""Pi SDK 0.51.1, Chat Completions: it reads only deltas. A call starts at another id, and after text."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.e2e.clients.conversation import DONE, Call, Client, Tools, chat_following, chunks, entries, missing, text

if TYPE_CHECKING:
    from collections.abc import Sequence


def assemble(data: Sequence[str]) -> list[Call]:
    """The blocks of type `toolCall`."""
    calls: list[Call] = []
    within = False
    for chunk in chunks(data):
        within = within and not text([json.dumps(chunk)])
        for entry in entries(chunk):
            call_id, function = entry.get("id") or "", entry.get("function", {})
            if not within or (call_id and calls[-1].id != call_id):
                calls.append(Call(call_id, "", ""))
                within = True
            block = calls[-1]
            arguments = block.arguments + (function.get("arguments") or "")
            calls[-1] = replace(block, name=function.get("name") or block.name, arguments=arguments)
    return calls


def run(call: Call, tools: Tools) -> str:
    """Run the tool; an error is a result for the model."""
    if call.name not in tools:
        return f"Tool {call.name} not found"
    try:
        lacking = missing(json.loads(call.arguments or "{}"), tools[call.name])
    except ValueError:
        lacking = list(tools[call.name])
    return f'Validation failed for tool "{call.name}"' if lacking else DONE


REPORTED = Client("Pi SDK 0.51.1", assemble, run, chat_following)
