"""Strands: its agent, streaming."""

from __future__ import annotations

import os

from strands import Agent, tool
from strands.models.openai import OpenAIModel
from two_tools import MODEL, PROMPT, get_weather, read_file

model = OpenAIModel(
    client_args={"base_url": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}, model_id=MODEL
)
Agent(model=model, tools=[tool(get_weather), tool(read_file)], callback_handler=None)(PROMPT)
