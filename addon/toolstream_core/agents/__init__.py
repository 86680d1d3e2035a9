"""Known agents: their commands, and the settings with which each uses the proxy."""

from toolstream_core.agents.launch import Launch, Recognised, launch, program, recognise, takes_terminal
from toolstream_core.agents.table import AGENTS, Agent, Upstream

__all__ = ["AGENTS", "Agent", "Launch", "Recognised", "Upstream", "launch", "program", "recognise", "takes_terminal"]
