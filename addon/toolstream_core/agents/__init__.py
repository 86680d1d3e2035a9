"""What is known of agents: by which commands they are started, and what leads each of them through the proxy."""

from toolstream_core.agents.agent import Agent, Upstream
from toolstream_core.agents.launch import Launch, launch
from toolstream_core.agents.recognise import Recognised, recognise
from toolstream_core.agents.table import AGENTS

__all__ = ["AGENTS", "Agent", "Launch", "Recognised", "Upstream", "launch", "recognise"]
