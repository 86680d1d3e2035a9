"""openai, Chat Completions, with chunks assembled by index as in the example of its documentation."""

from __future__ import annotations

from typing import Any

from openai import OpenAI
from two_tools import MODEL, PROMPT, TURNS, chat_tools, run_tool

client = OpenAI()
messages: list[Any] = [{"role": "user", "content": PROMPT}]
for _ in range(TURNS):
    calls: dict[int, Any] = {}
    for chunk in client.chat.completions.create(model=MODEL, messages=messages, tools=chat_tools(), stream=True):
        for one in (chunk.choices[0].delta.tool_calls or []) if chunk.choices else []:
            if one.index not in calls:
                calls[one.index] = one
            else:
                calls[one.index].function.arguments += one.function.arguments
    if not calls:
        break
    told = [
        {
            "id": one.id,
            "type": "function",
            "function": {"name": one.function.name, "arguments": one.function.arguments},
        }
        for one in calls.values()
    ]
    messages.append({"role": "assistant", "content": None, "tool_calls": told})
    messages += [
        {"role": "tool", "tool_call_id": one.id, "content": run_tool(one.function.name, one.function.arguments)}
        for one in calls.values()
    ]
