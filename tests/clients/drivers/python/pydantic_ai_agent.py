"""pydantic-ai: its agent, streaming, Chat Completions."""

from __future__ import annotations

import asyncio

from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from two_tools import MODEL, PROMPT, get_weather, read_file

agent = Agent(OpenAIChatModel(MODEL), tools=[get_weather, read_file])


async def main() -> None:
    """Run the agent, and stream each node."""
    async with agent.iter(PROMPT) as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    async for _event in stream:
                        pass


asyncio.run(main())
