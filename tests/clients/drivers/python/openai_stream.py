"""openai, Chat Completions, with its streaming helper."""

from __future__ import annotations

from typing import Any

from openai import OpenAI
from two_tools import MODEL, PROMPT, TURNS, chat_tools, run_tool

client = OpenAI()
messages: list[Any] = [{"role": "user", "content": PROMPT}]
for _ in range(TURNS):
    with client.chat.completions.stream(model=MODEL, messages=messages, tools=chat_tools(strict=True)) as stream:
        for _event in stream:
            pass
        message = stream.get_final_completion().choices[0].message
    if not message.tool_calls:
        break
    messages.append(message)
    messages += [
        {"role": "tool", "tool_call_id": one.id, "content": run_tool(one.function.name, one.function.arguments)}
        for one in message.tool_calls
    ]
