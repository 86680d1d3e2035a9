"""A proxy for tests and commands: saved flows answer, clients find it by their environment."""

from toolstream_core.testing.session import ProxySession, ProxySessionError
from toolstream_core.testing.setup import Setup

__all__ = ["ProxySession", "ProxySessionError", "Setup"]
