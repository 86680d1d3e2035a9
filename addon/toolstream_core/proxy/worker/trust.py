"""Clients that do not trust the proxy's certificate: their requests are never seen. Knows mitmproxy's connections."""

from __future__ import annotations

from typing import Final

from mitmproxy import http
from mitmproxy.connection import Client
from mitmproxy.proxy.context import Context
from mitmproxy.tls import TlsData

_ALERTS: Final = ("unknown ca", "bad certificate", "certificate unknown")
"""The TLS alerts with which clients reject a certificate, as OpenSSL names them."""
_SUSPECTED: Final = "trust the proxy's certificate"
"""mitmproxy's words for a client that leaves during the handshake, and for other alerts."""
_MOST: Final = 8
"""The maximum number of remembered servers."""


class Trust:
    """An addon that keeps the servers whose certificate clients rejected, or may have."""

    name = "toolstream-trust"

    def __init__(self) -> None:
        self.rejected: dict[str, bool] = {}
        """By server, whether an alert shows it: Node, for example, closes the connection after the handshake."""
        self._silent: dict[str, str] = {}
        """The servers of TLS connections without a request, by the connection's id."""

    def tls_failed_client(self, data: TlsData) -> None:
        """The handshake failed."""
        error = data.conn.error or ""
        certain = any(alert in error for alert in _ALERTS)
        if certain or _SUSPECTED in error:
            self._keep(_server(data.context), certain=certain)

    def tls_established_client(self, data: TlsData) -> None:
        """A client is connected, and may check the certificate only now."""
        self._silent[data.conn.id] = _server(data.context)

    def requestheaders(self, flow: http.HTTPFlow) -> None:
        """A client that sends a request trusts the certificate."""
        self._silent.pop(flow.client_conn.id, None)

    def client_disconnected(self, client: Client) -> None:
        """A client has disconnected."""
        server = self._silent.pop(client.id, None)
        if server is not None:
            self._keep(server, certain=False)

    def _keep(self, server: str, *, certain: bool) -> None:
        if server in self.rejected or len(self.rejected) < _MOST:
            self.rejected[server] = certain or self.rejected.get(server, False)


def _server(context: Context) -> str:
    """The name for which the client wants a certificate."""
    address = context.server.address
    return context.client.sni or (address[0] if address else "an unknown server")
