"""openai-agents: its runner, streaming, with Chat Completions or Responses by the argument after the prompt."""

from __future__ import annotations

import asyncio
import sys

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI
from two_tools import MODEL, PROMPT, TURNS, get_weather, read_file

set_tracing_disabled(disabled=True)
kind = OpenAIResponsesModel if sys.argv[2:] == ["responses"] else OpenAIChatCompletionsModel
agent = Agent(
    name="Assistant",
    model=kind(model=MODEL, openai_client=AsyncOpenAI()),
    tools=[function_tool(get_weather), function_tool(read_file)],
)


async def main() -> None:
    """Run the agent."""
    async for _event in Runner.run_streamed(agent, PROMPT, max_turns=TURNS).stream_events():
        pass


asyncio.run(main())
