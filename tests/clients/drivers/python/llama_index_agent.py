"""LlamaIndex: the tool calls of its streamed chat."""

from __future__ import annotations

import os
from typing import Any

from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike
from two_tools import MODEL, PROMPT, TURNS, get_weather, read_file, run_tool

llm = OpenAILike(
    model=MODEL,
    api_base=os.environ["OPENAI_BASE_URL"],
    api_key=os.environ["OPENAI_API_KEY"],
    is_chat_model=True,
    is_function_calling_model=True,
)
tools = [FunctionTool.from_defaults(one) for one in (get_weather, read_file)]
messages = [ChatMessage(role="user", content=PROMPT)]
for _ in range(TURNS):
    response: Any = None
    for part in llm.stream_chat_with_tools(tools, chat_history=messages):
        response = part
    calls = llm.get_tool_calls_from_response(response, error_on_no_tool_call=False)
    if not calls:
        break
    messages.append(response.message)
    messages += [
        ChatMessage(
            role="tool",
            content=run_tool(one.tool_name, one.tool_kwargs),
            additional_kwargs={"tool_call_id": one.tool_id},
        )
        for one in calls
    ]
