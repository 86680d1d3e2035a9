"""langchain-openai, with its message chunks added up."""

from __future__ import annotations

from typing import Any

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from two_tools import MODEL, PROMPT, TURNS, chat_tools, run_tool

model = ChatOpenAI(model=MODEL).bind_tools(chat_tools())
messages: list[Any] = [HumanMessage(PROMPT)]
for _ in range(TURNS):
    response: Any = None
    for chunk in model.stream(messages):
        response = chunk if response is None else response + chunk
    if not response.tool_calls:
        break
    messages.append(response)
    messages += [ToolMessage(run_tool(one["name"], one["args"]), tool_call_id=one["id"]) for one in response.tool_calls]
