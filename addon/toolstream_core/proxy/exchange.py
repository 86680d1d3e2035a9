"""What a flow says of an exchange beside the answer's body. Knows mitmproxy's flow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.model import ABSENT, Exchange
from toolstream_core.protocols.requests.asked import may_be_llm
from toolstream_core.redact import request_secrets
from toolstream_core.wire.event_stream import MESSAGES
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from mitmproxy import http

    from toolstream_core.model import Json

_STREAMED: Final = ("text/event-stream", "application/x-ndjson", "application/ndjson", "application/jsonl", MESSAGES)


def exchange_of(flow: http.HTTPFlow, request: Json) -> Exchange:
    """What a flow says of its answer beside the body."""
    assert flow.response is not None
    headers = flow.response.headers
    return Exchange(
        source=flow.id,
        host=flow.request.pretty_host,
        path=flow.request.path,
        content_type=headers.get("content-type", ""),
        content_encoding=headers.get("content-encoding", ""),
        status=flow.response.status_code,
        request=request,
    )


def is_stream(response: http.Response) -> bool:
    """Whether the headers of a response announce a stream."""
    kind: str = response.headers.get("content-type", "")
    return kind.lower().startswith(_STREAMED)


def place_of(flow: http.HTTPFlow) -> str:
    """The server as the log names it: with its port, unless that is the usual one or the proxy's own."""
    request = flow.request
    if request.port in {80 if request.scheme == "http" else 443, flow.client_conn.sockname[1]}:
        return request.pretty_host
    return f"{request.pretty_host}:{request.port}"


def request_json(request: http.Request) -> Json:
    """The request's body as JSON, or `ABSENT`; also where it is long and none to an LLM."""
    if request.method != "POST" or "json" not in request.headers.get("content-type", "json"):
        return ABSENT
    try:
        body = request.content
    except ValueError:
        return ABSENT
    return parse(body) if body and may_be_llm(request.path, body) else ABSENT


def opens_socket(request: http.Request) -> bool:
    """Whether a request asks for a WebSocket: https://www.rfc-editor.org/rfc/rfc6455#section-4.1."""
    return bool(request.method == "GET" and request.headers.get("upgrade", "").lower() == "websocket")


def secrets_of(request: http.Request) -> tuple[str, ...]:
    """The values in a request that are secrets by the name of their header or parameter."""
    return request_secrets(request.headers.items(multi=True), request.path)
