"""Haystack: its agent, streaming."""

from __future__ import annotations

import os

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import Tool
from two_tools import DESCRIPTIONS, MODEL, PROMPT, SCHEMAS, TURNS, get_weather, read_file

generator = OpenAIChatGenerator(model=MODEL, api_base_url=os.environ["OPENAI_BASE_URL"])
tools = [
    Tool(name=one.__name__, description=DESCRIPTIONS[one.__name__], parameters=SCHEMAS[one.__name__], function=one)
    for one in (get_weather, read_file)
]
agent = Agent(chat_generator=generator, tools=tools, max_agent_steps=TURNS, streaming_callback=lambda _chunk: None)
agent.run(messages=[ChatMessage.from_user(PROMPT)])
