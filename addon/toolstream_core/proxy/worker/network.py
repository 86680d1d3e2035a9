"""The allowed upstream connections, and the servers of a reverse proxy. Knows mitmproxy's flow and hooks."""

from __future__ import annotations

import enum
import ipaddress
from collections.abc import Mapping
from urllib.parse import urlsplit

from mitmproxy import http
from mitmproxy.proxy.server_hooks import ServerConnectionHookData

from toolstream_core.protocols.registry import claiming
from toolstream_core.proxy.flow_facts import json_response
from toolstream_core.wire.frame import parse
from toolstream_core.wire.json_value import ABSENT

FORBIDDEN = 403
"""No 5xx, after which clients would retry in vain."""


class Network(enum.StrEnum):
    """The allowed connections of a proxy."""

    NONE = "none"
    LOOPBACK = "loopback"
    ALL = "all"


class Guard:
    """Refuses requests without a saved response."""

    name = "toolstream-guard"

    def __init__(self, network: Network) -> None:
        """`network` has the allowed connections."""
        self.network = network
        self.port = 0
        """The port of this proxy itself."""

    def request(self, flow: http.HTTPFlow) -> None:
        """Respond in place of a forbidden server."""
        if flow.response is None and not self._allows(flow.request.host, flow.request.port):
            what = f"{flow.request.method} {flow.request.pretty_host}{flow.request.path.partition('?')[0]}"
            message = f"toolstream: no saved flow matches {what}, and this proxy has no network access"
            if claiming(flow.request.path) and parse(flow.request.content or b"") is ABSENT:
                message = f"toolstream: the body of {what} is not JSON, so no saved flow matches it"
            body = {"error": {"message": message, "type": "no_network", "param": None, "code": "no_network"}}
            flow.response = json_response(FORBIDDEN, body)
            flow.comment = "rejected: no network access"

    def server_connect(self, data: ServerConnectionHookData) -> None:
        """Refuse the connection itself, for other protocols than HTTP."""
        if data.server.address is not None and not self._allows(*data.server.address[:2]):
            data.server.error = f"toolstream: no network access, {data.server.address[0]} is rejected"

    def _allows(self, host: str, port: int) -> bool:
        if self.network is Network.ALL:
            return True
        return self.network is Network.LOOPBACK and is_loopback(host) and port != self.port


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, by its name or address."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


NOT_FOUND = 404


class Forward:
    """A reverse proxy for several servers: the first part of the path selects one."""

    name = "toolstream-forward"

    def __init__(self, routes: Mapping[str, str]) -> None:
        """`routes`: the origin, such as `https://api.openai.com`, for each first part of a path.

        A route that has the name of a protocol is a base URL with its path: requests of that protocol which have no
        other route go there.
        """
        self._routes = dict(routes)
        self.port = 0
        """The port of this proxy itself."""

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
    return json_response(NOT_FOUND, body)
