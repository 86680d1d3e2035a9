"""One answer of a socket as a flow of its own, as the same request over HTTP would be. Knows mitmproxy's flow."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from mitmproxy import http

from toolstream_core.wire.form import CONTENT_TYPES, Form
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.protocols.socket_wire import SocketRequest

SOCKET: Final = "toolstream_socket"
"""The key in a flow's metadata that says which socket its answer came over."""
_OF_THE_UPGRADE: Final = ("connection", "upgrade", "content-length", "transfer-encoding")


def answer_flow(socket: http.HTTPFlow, request: SocketRequest, number: int) -> http.HTTPFlow:
    """The flow of the answer that is `number` on a socket, from 1 on: its messages are lines of JSON."""
    flow = http.HTTPFlow(socket.client_conn, socket.server_conn, live=True)
    flow.id = f"{socket.id}.{number}"
    flow.request = socket.request.copy()
    flow.request.method = "POST"
    for name in list(flow.request.headers):
        if name.lower() in _OF_THE_UPGRADE or name.lower().startswith("sec-websocket-"):
            del flow.request.headers[name]
    flow.request.headers["content-type"] = CONTENT_TYPES[Form.WHOLE]
    flow.request.content = encoded(request.body)
    flow.request.timestamp_start = flow.request.timestamp_end = time.time()
    flow.response = http.Response.make(200, b"", {"content-type": CONTENT_TYPES[Form.LINES]})
    del flow.response.headers["content-length"]
    flow.response.stream = True
    flow.metadata[SOCKET] = {"flow": socket.id, **({"lane": request.lane} if request.lane else {})}
    return flow
