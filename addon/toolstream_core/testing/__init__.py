"""A proxy for tests and commands: saved flows answer, clients find it by their environment."""

from toolstream_core.testing.session import ProxySession
from toolstream_core.testing.setup import Setup
from toolstream_core.testing.worker import ProxySessionError

__all__ = ["ProxySession", "ProxySessionError", "Setup"]
