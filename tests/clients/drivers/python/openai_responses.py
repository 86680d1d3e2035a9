"""openai, Responses, with its streaming helper."""

from __future__ import annotations

from typing import Any

from openai import OpenAI
from two_tools import DESCRIPTIONS, MODEL, PROMPT, SCHEMAS, TURNS, run_tool

client = OpenAI()
tools: list[Any] = [
    {"type": "function", "name": name, "description": DESCRIPTIONS[name], "parameters": schema, "strict": True}
    for name, schema in SCHEMAS.items()
]
items: list[Any] = [{"role": "user", "content": PROMPT}]
for _ in range(TURNS):
    with client.responses.stream(model=MODEL, input=items, tools=tools, store=False) as stream:
        for _event in stream:
            pass
        output = stream.get_final_response().output
    calls = [item for item in output if item.type == "function_call"]
    if not calls:
        break
    items += [
        {"type": "function_call", "call_id": one.call_id, "name": one.name, "arguments": one.arguments} for one in calls
    ]
    items += [
        {"type": "function_call_output", "call_id": one.call_id, "output": run_tool(one.name, one.arguments)}
        for one in calls
    ]
