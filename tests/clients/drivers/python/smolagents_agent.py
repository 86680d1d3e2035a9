"""smolagents: its tool-calling agent, streaming."""

from __future__ import annotations

import os

from smolagents import OpenAIServerModel, ToolCallingAgent, tool
from two_tools import MODEL, PROMPT, TURNS, get_weather, read_file

agent = ToolCallingAgent(
    tools=[tool(get_weather), tool(read_file)],
    model=OpenAIServerModel(
        model_id=MODEL, api_base=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"]
    ),
    stream_outputs=True,
    max_steps=TURNS,
)
for _step in agent.run(PROMPT, stream=True):
    pass
