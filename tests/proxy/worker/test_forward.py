"""Requests to the proxy's own address are forwarded to the provider."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from mitmproxy.test import tflow, tutils

from toolstream_core.proxy.worker.network import Forward

if TYPE_CHECKING:
    from mitmproxy import http

ROUTES = {
    "openai-base-url": "https://openrouter.ai",
    "ollama-host": "http://localhost:11434",
    "openai-chat": "https://openrouter.ai/api/v1",
    "anthropic": "https://api.anthropic.com",
}


def forwarded(path: str, host: str = "127.0.0.1", port: int = 4711) -> http.HTTPFlow:
    """Return a request after the proxy forwarded it."""
    forward = Forward(ROUTES)
    forward.port = 4711
    headers = ((b"host", f"{host}:{port}".encode()),)
    flow = tflow.tflow(req=tutils.treq(host=host, port=port, path=path.encode(), headers=headers, scheme=b"http"))
    forward.requestheaders(flow)
    return flow


@pytest.mark.parametrize(
    ("path", "url"),
    [
        ("/openai-base-url/api/v1/chat/completions?a=b", "https://openrouter.ai/api/v1/chat/completions?a=b"),
        ("/openai-base-url/api/v1/models", "https://openrouter.ai/api/v1/models"),
        ("/ollama-host/api/chat", "http://localhost:11434/api/chat"),
        ("/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
        ("/v1/messages?beta=true", "https://api.anthropic.com/v1/messages?beta=true"),
    ],
)
def test_the_route_or_the_protocol_selects_the_provider(path: str, url: str) -> None:
    """The route's name is removed; without a route, the protocol's base URL precedes the endpoint."""
    flow = forwarded(path, "localhost")
    assert (flow.request.url, flow.response) == (url, None)
    assert flow.request.headers["host"] in url


@pytest.mark.parametrize(("host", "port"), [("api.openai.com", 4711), ("127.0.0.1", 8000)])
def test_requests_to_other_servers_are_not_changed(host: str, port: int) -> None:
    """Another port of this machine is another server."""
    flow = forwarded("/openai-base-url/v1", host, port)
    assert (flow.request.host, flow.request.port, flow.request.path) == (host, port, "/openai-base-url/v1")


def test_a_request_without_a_provider_gets_an_error() -> None:
    """Without a provider, the proxy would forward the request to itself."""
    flow = forwarded("/favicon.ico?key=secret")
    assert flow.response is not None
    assert flow.response.status_code == 404
    assert json.loads(flow.response.content or b"")["error"]["message"] == (
        "toolstream: GET /favicon.ico does not name a provider to forward to"
    )


def test_without_routes_requests_are_not_changed() -> None:
    """Without routes, saved flows answer at the proxy's own address."""
    flow = tflow.tflow()
    before = flow.request.url
    Forward({}).requestheaders(flow)
    assert (flow.request.url, flow.response) == (before, None)
