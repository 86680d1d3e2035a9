"""What rewriting an answer asks of its headers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mitmproxy import http


def unlabel(response: http.Response) -> None:
    """Take out the headers that describe the bytes as they came; what goes on is decoded and of another length."""
    for name in ("content-encoding", "content-length"):
        response.headers.pop(name, None)


def relabel(flow: http.HTTPFlow) -> None:
    """As `unlabel`, of an answer on its way; chunks tell the client when it is over.

    Without them HTTP/1.1 has only the connection's end for it, and a stream that broke off looks like a whole one.
    Where `connection: close` stands beside them, Node's fetch takes the connection's end for the body's all the same:
    https://github.com/nodejs/undici/blob/v7.16.0/lib/dispatcher/client-h1.js#L865
    """
    assert flow.response is not None
    if not flow.request.is_http11:
        unlabel(flow.response)
        return
    # mitmproxy goes by the headers as they came when it decides on upstream's connection: they stay as they are.
    stream, flow.response = flow.response.stream, flow.response.copy()
    flow.response.stream = stream
    unlabel(flow.response)
    headers = flow.response.headers
    headers["transfer-encoding"] = "chunked"
    if flow.response.is_http10:
        flow.response.http_version = "HTTP/1.1"
    options = [option for text in headers.pop("connection", "").split(",") if (option := text.strip())]
    if kept := [option for option in options if option.lower() != "close"]:
        headers["connection"] = ", ".join(kept)
