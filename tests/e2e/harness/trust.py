"""A certificate authority for the tests, and a server certificate for the loopback address."""

from __future__ import annotations

import datetime as dt
import ipaddress
import ssl
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from pathlib import Path

VALID = dt.timedelta(days=2)


def self_signed(folder: Path) -> Path:
    """Write a PEM file with a key and its self-signed certificate."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = dt.datetime.now(dt.UTC)
    alternative = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - VALID)
        .not_valid_after(now + VALID)
        .add_extension(alternative, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    secret = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path = folder / "upstream.pem"
    path.write_bytes(secret + certificate.public_bytes(serialization.Encoding.PEM))
    return path


def server_context(pem: Path, *versions: str) -> ssl.SSLContext:
    """A server context that offers these HTTP versions; by default HTTP/2 and HTTP/1.1."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    context.set_alpn_protocols(versions or ["h2", "http/1.1"])
    return context


def socket_trust(authority: Path) -> ssl.SSLContext:
    """A client context for websockets, which reads and writes in different threads: TLS 1.2 at most.

    After a TLS 1.3 handshake the server sends a session ticket. If the client reads it while it writes the first
    request, the request may be lost (https://github.com/python/cpython/issues/143756): on Python 3.13.0, 1 of 500
    connections hung, with and without a proxy.
    """
    context = ssl.create_default_context(cafile=authority)
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    return context
