"""cohere, version 2 of its API, with calls assembled by index as in the example of its documentation."""

from __future__ import annotations

from typing import Any

import cohere
from two_tools import PROMPT, TURNS, chat_tools, run_tool

client = cohere.ClientV2()
messages: list[Any] = [{"role": "user", "content": PROMPT}]
for _ in range(TURNS):
    calls: dict[int, Any] = {}
    for event in client.chat_stream(model="command-a-03-2025", messages=messages, tools=chat_tools()):
        if event.type == "tool-call-start":
            calls[event.index] = event.delta.message.tool_calls
        elif event.type == "tool-call-delta":
            calls[event.index].function.arguments += event.delta.message.tool_calls.function.arguments
    if not calls:
        break
    messages.append({"role": "assistant", "tool_calls": list(calls.values())})
    messages += [
        {"role": "tool", "tool_call_id": one.id, "content": run_tool(one.function.name, one.function.arguments)}
        for one in calls.values()
    ]
