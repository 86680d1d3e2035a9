"""A proxy for tests and commands: its process, the clients' environment, and their requests."""

from toolstream_core.testing.environment import Setup
from toolstream_core.testing.session import ProxySession, ProxySessionError

__all__ = ["ProxySession", "ProxySessionError", "Setup"]
