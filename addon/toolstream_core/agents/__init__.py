"""What is known of agents: by which commands they are started, and what leads each of them through the proxy."""

from toolstream_core.agents.launch import Launch, Recognised, launch, recognise
from toolstream_core.agents.table import AGENTS, Agent, Upstream

__all__ = ["AGENTS", "Agent", "Launch", "Recognised", "Upstream", "launch", "recognise"]
