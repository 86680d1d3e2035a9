"""LiteLLM, with its own chunk builder."""

from __future__ import annotations

import os
from typing import Any

import litellm
from two_tools import MODEL, PROMPT, TURNS, chat_tools, run_tool

messages: list[Any] = [{"role": "user", "content": PROMPT}]
for _ in range(TURNS):
    chunks = list(
        litellm.completion(
            model=f"openai/{MODEL}",
            messages=messages,
            tools=chat_tools(),
            stream=True,
            api_base=os.environ["OPENAI_BASE_URL"],
            api_key=os.environ["OPENAI_API_KEY"],
        )
    )
    message = litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message
    if not message.tool_calls:
        break
    messages.append(message.model_dump())
    messages += [
        {"role": "tool", "tool_call_id": one.id, "content": run_tool(one.function.name, one.function.arguments)}
        for one in message.tool_calls
    ]
