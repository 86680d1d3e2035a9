"""ollama, streaming, with the calls of all chunks joined as in the example of its documentation."""

from __future__ import annotations

from typing import Any

import ollama
from two_tools import MODEL, PROMPT, TURNS, chat_tools, run_tool

client = ollama.Client()
messages: list[Any] = [{"role": "user", "content": PROMPT}]
for _ in range(TURNS):
    calls: list[Any] = []
    content = ""
    for chunk in client.chat(model=MODEL, messages=messages, tools=chat_tools(), stream=True):
        content += chunk.message.content or ""
        calls += chunk.message.tool_calls or []
    if not calls:
        break
    messages.append({"role": "assistant", "content": content, "tool_calls": calls})
    messages += [
        {
            "role": "tool",
            "tool_name": one.function.name,
            "content": run_tool(one.function.name, dict(one.function.arguments)),
        }
        for one in calls
    ]
