"""langchain-aws, Bedrock's ConverseStream, streaming, with the chunks of a message added."""

from __future__ import annotations

from typing import Any

from langchain_aws import ChatBedrockConverse
from langchain_core.messages import HumanMessage, ToolMessage
from two_tools import PROMPT, TURNS, chat_tools, run_tool

model = ChatBedrockConverse(model="anthropic.claude-sonnet-4-20250514-v1:0").bind_tools(chat_tools())
messages: list[Any] = [HumanMessage(PROMPT)]
for _ in range(TURNS):
    message: Any = None
    for chunk in model.stream(messages):
        message = chunk if message is None else message + chunk
    if message is None or not message.tool_calls:
        break
    messages.append(message)
    messages += [
        ToolMessage(content=run_tool(call["name"], call["args"]), tool_call_id=call["id"])
        for call in message.tool_calls
    ]
