"""Responses over WebSockets, live. Knows mitmproxy's flow."""

from toolstream_core.proxy.sockets.provider import SocketProvider
from toolstream_core.proxy.sockets.sockets import REFUSED, Sockets

__all__ = ["REFUSED", "SocketProvider", "Sockets"]
