"""anthropic, Messages, with its streaming helper."""

from __future__ import annotations

from typing import Any

from anthropic import Anthropic
from two_tools import DESCRIPTIONS, PROMPT, SCHEMAS, TURNS, run_tool

client = Anthropic()
tools: list[Any] = [
    {"name": name, "description": DESCRIPTIONS[name], "input_schema": schema} for name, schema in SCHEMAS.items()
]
messages: list[Any] = [{"role": "user", "content": PROMPT}]
for _ in range(TURNS):
    with client.messages.stream(model="claude-sonnet-4-5", max_tokens=1024, messages=messages, tools=tools) as stream:
        message = stream.get_final_message()
    calls = [block for block in message.content if block.type == "tool_use"]
    if not calls:
        break
    messages.append({"role": "assistant", "content": message.content})
    results = [
        {"type": "tool_result", "tool_use_id": one.id, "content": run_tool(one.name, one.input)} for one in calls
    ]
    messages.append({"role": "user", "content": results})
