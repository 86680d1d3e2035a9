"""agno: its agent, streaming."""

from __future__ import annotations

import os

from agno.agent import Agent
from agno.models.openai import OpenAIChat
from two_tools import MODEL, PROMPT, get_weather, read_file

agent = Agent(
    model=OpenAIChat(id=MODEL, base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"]),
    tools=[get_weather, read_file],
    telemetry=False,
)
for _event in agent.run(PROMPT, stream=True):
    pass
