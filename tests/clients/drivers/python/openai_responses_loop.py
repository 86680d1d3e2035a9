"""openai, Responses, with a loop that uses items when they are done."""

from __future__ import annotations

from typing import Any

from openai import OpenAI
from two_tools import DESCRIPTIONS, MODEL, PROMPT, SCHEMAS, TURNS, run_tool

client = OpenAI()
tools: list[Any] = [
    {"type": "function", "name": name, "description": DESCRIPTIONS[name], "parameters": schema}
    for name, schema in SCHEMAS.items()
]
items: list[Any] = [{"role": "user", "content": PROMPT}]
for _ in range(TURNS):
    calls = [
        event.item
        for event in client.responses.create(model=MODEL, input=items, tools=tools, store=False, stream=True)
        if event.type == "response.output_item.done" and event.item.type == "function_call"
    ]
    if not calls:
        break
    items += [
        {"type": "function_call", "call_id": one.call_id, "name": one.name, "arguments": one.arguments} for one in calls
    ]
    items += [
        {"type": "function_call_output", "call_id": one.call_id, "output": run_tool(one.name, one.arguments)}
        for one in calls
    ]
