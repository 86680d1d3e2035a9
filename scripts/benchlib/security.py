"""TLS on both sides of the proxy, or none. Knows certificates; they are the proxy's own."""

from __future__ import annotations

import ipaddress
import socket
import ssl
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from mitmproxy.certs import CertStore
from mitmproxy.options import CONF_BASENAME, KEY_SIZE

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Security:
    """`certificate` is what the upstream shows, `authority` what the client trusts; without them plain."""

    certificate: Path | None = None
    authority: Path | None = None

    @property
    def scheme(self) -> str:
        """Of the upstream, for the proxy's mode."""
        return "https" if self.certificate else "http"

    def as_server(self, connection: socket.socket) -> socket.socket:
        """The accepted `connection`, secured."""
        if not self.certificate:
            return connection
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate)
        return context.wrap_socket(connection, server_side=True)

    def connect(self, port: int) -> socket.socket:
        """A connection to the proxy."""
        connection = socket.create_connection(("127.0.0.1", port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not self.authority:
            return connection
        context = ssl.create_default_context(cafile=str(self.authority))
        return context.wrap_socket(connection, server_hostname="127.0.0.1")


def secure(confdir: Path) -> Security:
    """Make the proxies' certificate authority in `confdir`, and a certificate of it for the upstream."""
    store = CertStore.from_store(confdir, CONF_BASENAME, KEY_SIZE)
    entry = store.get_cert("127.0.0.1", [x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    key = entry.privatekey.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path = confdir / "upstream.pem"
    path.write_bytes(key + entry.cert.to_pem())
    return Security(path, confdir / f"{CONF_BASENAME}-ca-cert.pem")
