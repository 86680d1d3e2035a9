"""Semantic Kernel: its chat completion agent, streaming."""

from __future__ import annotations

import asyncio

from openai import AsyncOpenAI
from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function
from two_tools import MODEL, PROMPT, get_weather, read_file


class Tools:
    """The two tools."""

    @kernel_function(name="get_weather", description="Get the weather of a city.")
    def get_weather(self, city: str, unit: str) -> str:
        return get_weather(city, unit)

    @kernel_function(name="read_file", description="Read a text file.")
    def read_file(self, path: str) -> str:
        return read_file(path)


async def main() -> None:
    service = OpenAIChatCompletion(ai_model_id=MODEL, async_client=AsyncOpenAI())
    agent = ChatCompletionAgent(service=service, name="assistant", plugins=[Tools()])
    async for _ in agent.invoke_stream(messages=PROMPT):
        pass


asyncio.run(main())
