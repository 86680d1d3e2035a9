"""Only clients that do not trust the proxy's certificate are reported."""

from __future__ import annotations

import contextlib
import socket
import ssl
from typing import TYPE_CHECKING

import pytest

from toolstream_core.testing import ProxySession, Setup

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.e2e
SERVER = "api.nowhere.example"


@pytest.fixture(scope="module")
def session() -> Iterator[ProxySession]:
    """Yield the proxy of all tests in this file; each test resets it."""
    with ProxySession(Setup(calls=("",))) as started:
        yield started


def tunnel(session: ProxySession) -> socket.socket:
    """Return a connection through the proxy to a server that does not exist."""
    connection = socket.create_connection(("127.0.0.1", session.port))
    connection.sendall(f"CONNECT {SERVER}:443 HTTP/1.1\r\nHost: {SERVER}:443\r\n\r\n".encode())
    assert b" 200 " in connection.recv(4096)
    return connection


def unverified() -> ssl.SSLContext:
    """Return the TLS context of a client that checks no certificate during the handshake."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def test_an_alert_shows_that_the_certificate_was_rejected(session: ProxySession) -> None:
    """Python, Go, Rust and curl send an alert; a reset forgets it."""
    session.reset(session.setup)
    with tunnel(session) as connection, pytest.raises(ssl.SSLCertVerificationError):
        ssl.create_default_context().wrap_socket(connection, server_hostname=SERVER)
    assert session.distrust() == {SERVER: True}
    session.reset(session.setup)
    assert session.distrust() == {}


def test_a_disconnect_without_a_request_may_be_a_rejection(session: ProxySession) -> None:
    """Node checks the certificate after the handshake and sends no alert."""
    session.reset(session.setup)
    with unverified().wrap_socket(tunnel(session), server_hostname=SERVER) as secure:
        secure.do_handshake()
    assert session.distrust() == {SERVER: False}


def test_a_client_that_sends_a_request_trusts_the_certificate(session: ProxySession) -> None:
    """The response to the request does not matter."""
    session.reset(session.setup)
    trusting = ssl.create_default_context(cafile=session.ca_file)
    with trusting.wrap_socket(tunnel(session), server_hostname=SERVER) as secure:
        secure.sendall(f"GET / HTTP/1.1\r\nHost: {SERVER}\r\nConnection: close\r\n\r\n".encode())
        assert secure.recv(4096).startswith(b"HTTP/1.1 ")
    assert session.distrust() == {}


def test_other_failed_handshakes_are_not_reported(session: ProxySession) -> None:
    """Bytes that are no TLS do not show that a certificate was rejected."""
    session.reset(session.setup)
    with tunnel(session) as connection:
        connection.sendall(b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00")
        with contextlib.suppress(ConnectionError):
            connection.recv(4096)
    assert session.distrust() == {}
