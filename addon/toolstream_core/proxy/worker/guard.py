"""What may go upstream: nothing, servers of this machine, or everything. Knows mitmproxy's flow and hooks."""

from __future__ import annotations

import enum
import ipaddress
import json
from typing import TYPE_CHECKING

from mitmproxy import http

if TYPE_CHECKING:
    from mitmproxy.proxy.server_hooks import ServerConnectionHookData

STATUS = 403
"""Clients try again after a 5xx, and nothing would be different then."""


class Network(enum.StrEnum):
    """What a proxy may connect to."""

    NONE = "none"
    LOOPBACK = "loopback"
    ALL = "all"


class Guard:
    """Refuses what no saved flow answered."""

    name = "toolstream-guard"

    def __init__(self, network: Network) -> None:
        """`network` is what may be connected to."""
        self.network = network
        self.port = 0
        """Where this proxy itself listens: nobody else is there."""

    def request(self, flow: http.HTTPFlow) -> None:
        """Answer in place of a server that must not be asked."""
        if flow.response is None and not self._allows(flow.request.host, flow.request.port):
            what = f"{flow.request.method} {flow.request.pretty_host}{flow.request.path.partition('?')[0]}"
            message = f"toolstream: no saved flow matches {what}, and this proxy has no network access"
            body = {"error": {"message": message, "type": "no_network", "param": None, "code": "no_network"}}
            flow.response = http.Response.make(STATUS, json.dumps(body), {"content-type": "application/json"})
            flow.comment = "rejected: no network access"

    def server_connect(self, data: ServerConnectionHookData) -> None:
        """Refuse the connection itself, for what is not HTTP."""
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
