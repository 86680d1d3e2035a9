"""The connections of a flow, below what mitmproxy offers. Knows the inside of its proxy server."""

from __future__ import annotations

import socket
import struct
from typing import TYPE_CHECKING, Any

from mitmproxy import ctx

if TYPE_CHECKING:
    from mitmproxy import http
    from mitmproxy.connection import Connection


def reset_soon(flow: http.HTTPFlow) -> None:
    """Let the client's TCP connection end with a reset, where it has a socket of its own."""
    writer = None if flow.request.is_http2 else client_writer(flow)
    taken = writer.get_extra_info("socket") if writer is not None else None
    if taken is not None:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def close_surely(flow: http.HTTPFlow) -> None:
    """Close the client's connection once more.

    mitmproxy closes by cancelling the task that reads from the client. Where that task is about to hand on what the
    client said just then (an HTTP/2 acknowledgement), it ends without closing the socket, and the client waits on.
    """
    writer = client_writer(flow)
    if writer is not None:
        writer.close()


def read_upstream(flow: http.HTTPFlow, *, on: bool) -> None:
    """Pause or resume reading from the flow's upstream. asyncio may resume by itself: pause again with each event."""
    writer = _writer(flow, flow.server_conn)
    if writer is not None and not writer.transport.is_closing():
        (writer.transport.resume_reading if on else writer.transport.pause_reading)()


def client_writer(flow: http.HTTPFlow) -> Any:
    """What writes to the flow's client, `None` where it is not to be found."""
    return _writer(flow, flow.client_conn)


def _writer(flow: http.HTTPFlow, connection: Connection) -> Any:
    for handler in ctx.master.addons.get("proxyserver").connections.values():
        if handler.client is flow.client_conn and connection in handler.transports:
            return handler.transports[connection].writer
    return None
