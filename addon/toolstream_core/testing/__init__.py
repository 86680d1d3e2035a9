"""A proxy for tests and commands: its process, the clients' environment, and what they sent."""

from toolstream_core.testing.environment import Setup
from toolstream_core.testing.session import ProxySession, ProxySessionError

__all__ = ["ProxySession", "ProxySessionError", "Setup"]
