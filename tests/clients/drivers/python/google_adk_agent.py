"""google-adk: its runner, with SSE, Gemini."""

from __future__ import annotations

import asyncio

from google.adk.agents import Agent
from google.adk.agents.run_config import RunConfig, StreamingMode
from google.adk.runners import InMemoryRunner
from google.genai import types
from two_tools import PROMPT, TURNS, get_weather, read_file

agent = Agent(name="assistant", model="gemini-2.5-flash", tools=[get_weather, read_file])


async def main() -> None:
    """Run the agent."""
    runner = InMemoryRunner(agent=agent, app_name="driver")
    session = await runner.session_service.create_session(app_name="driver", user_id="user")
    prompt = types.Content(role="user", parts=[types.Part(text=PROMPT)])
    config = RunConfig(streaming_mode=StreamingMode.SSE, max_llm_calls=TURNS)
    async for _event in runner.run_async(user_id="user", session_id=session.id, new_message=prompt, run_config=config):
        pass


asyncio.run(main())
