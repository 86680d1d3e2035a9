"""A proxy for tests and commands: saved flows answer, clients find it by their environment."""

from toolstream_core.testing.environment import Setup
from toolstream_core.testing.session import ProxySession, ProxySessionError

__all__ = ["ProxySession", "ProxySessionError", "Setup"]
