"""Requests that name this proxy as their server go on to the real provider. Knows mitmproxy's flow and hooks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from mitmproxy import http

from toolstream_core.protocols.registry import claiming
from toolstream_core.proxy.worker.guard import is_loopback

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUS = 404


class Forward:
    """A reverse proxy for several servers: the first part of the path says which."""

    name = "toolstream-forward"

    def __init__(self, routes: Mapping[str, str]) -> None:
        """`routes`: for each first part of a path the origin, such as `https://api.openai.com`, behind it.

        A route that has the name of a protocol is a base URL with its path: requests of that protocol which have no
        other route go there.
        """
        self._routes = dict(routes)
        self.port = 0
        """Where this proxy itself listens."""

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """Give a request that names this proxy its real server."""
        request = flow.request
        if not self._routes or request.port != self.port or not is_loopback(request.host):
            return
        slug, _, rest = request.path.removeprefix("/").partition("/")
        origin = self._routes.get(slug)
        path = f"/{rest}"
        if origin is None:
            origin, path = self._by_protocol(request.path)
        if origin is None:
            flow.response = _unknown(request)
            return
        server = urlsplit(origin)
        request.scheme = server.scheme
        request.host = server.hostname or ""
        request.port = server.port or {"http": 80, "https": 443}[server.scheme]
        request.path = path

    def _by_protocol(self, path: str) -> tuple[str | None, str]:
        protocol = claiming(path)
        base = None if protocol is None else self._routes.get(protocol.name)
        if protocol is None or base is None:
            return None, path
        return base, urlsplit(base).path.rstrip("/") + path.removeprefix(protocol.api.base_path)


def _unknown(request: http.Request) -> http.Response:
    message = f"toolstream: {request.method} {request.path.partition('?')[0]} does not name a provider to forward to"
    body = {"error": {"message": message, "type": "no_route", "param": None, "code": "no_route"}}
    return http.Response.make(STATUS, json.dumps(body), {"content-type": "application/json"})
