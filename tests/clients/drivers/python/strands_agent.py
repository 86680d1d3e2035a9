"""Strands: its agent, streaming, with Chat Completions or, with the argument `bedrock`, Bedrock."""

from __future__ import annotations

import os
import sys

from strands import Agent, tool
from strands.models import BedrockModel, Model
from strands.models.openai import OpenAIModel
from two_tools import MODEL, PROMPT, get_weather, read_file


def model() -> Model:
    """The model of the chosen API."""
    if "bedrock" in sys.argv[2:]:
        return BedrockModel(model_id="anthropic.claude-sonnet-4-20250514-v1:0")
    address = {"base_url": os.environ["OPENAI_BASE_URL"], "api_key": os.environ["OPENAI_API_KEY"]}
    return OpenAIModel(client_args=address, model_id=MODEL)


Agent(model=model(), tools=[tool(get_weather), tool(read_file)], callback_handler=None)(PROMPT)
