"""openai, Chat Completions, with an incorrect loop: every id starts a call, also an empty one."""

from __future__ import annotations

from typing import Any

from openai import OpenAI
from two_tools import MODEL, PROMPT, TURNS, chat_tools, run_tool

client = OpenAI()
messages: list[Any] = [{"role": "user", "content": PROMPT}]
for _ in range(TURNS):
    calls: list[Any] = []
    for chunk in client.chat.completions.create(model=MODEL, messages=messages, tools=chat_tools(), stream=True):
        for one in (chunk.choices[0].delta.tool_calls or []) if chunk.choices else []:
            if one.id is not None:
                calls.append({"id": one.id, "name": one.function.name or "", "arguments": ""})
            calls[-1]["arguments"] += one.function.arguments or ""
    if not calls:
        break
    told = [
        {"id": one["id"], "type": "function", "function": {"name": one["name"], "arguments": one["arguments"]}}
        for one in calls
    ]
    messages.append({"role": "assistant", "content": None, "tool_calls": told})
    messages += [
        {"role": "tool", "tool_call_id": one["id"], "content": run_tool(one["name"], one["arguments"] or "{}")}
        for one in calls
    ]
