"""AutoGen: its assistant agent, streaming."""

from __future__ import annotations

import asyncio
import os

from autogen_agentchat.agents import AssistantAgent
from autogen_core.models import ModelFamily, ModelInfo
from autogen_ext.models.openai import OpenAIChatCompletionClient
from two_tools import MODEL, PROMPT, TURNS, get_weather, read_file

info = ModelInfo(
    vision=False,
    function_calling=True,
    json_output=True,
    structured_output=True,
    family=ModelFamily.UNKNOWN,
    multiple_system_messages=True,
)


async def main() -> None:
    model = OpenAIChatCompletionClient(model=MODEL, base_url=os.environ["OPENAI_BASE_URL"], model_info=info)
    agent = AssistantAgent(
        "assistant",
        model_client=model,
        tools=[get_weather, read_file],
        model_client_stream=True,
        max_tool_iterations=TURNS,
    )
    async for _ in agent.run_stream(task=PROMPT):
        pass


asyncio.run(main())
