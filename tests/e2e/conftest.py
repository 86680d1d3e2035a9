"""One upstream of each kind and one mitmdump for each configuration, shared by the end-to-end tests."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.proxies import Proxies
from tests.e2e.harness.socket_server import SocketServer
from tests.e2e.harness.trust import self_signed, server_context
from tests.e2e.harness.upstream import Upstream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.harness.mitmdump import Mitmdump


@pytest.fixture(scope="session")
def pem(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The upstream's key and certificate."""
    return self_signed(tmp_path_factory.mktemp("trust"))


@pytest.fixture(scope="session")
def plain() -> Iterator[Upstream]:
    """An upstream without TLS."""
    with Upstream() as upstream:
        yield upstream


@pytest.fixture(scope="session")
def secure(pem: Path) -> Iterator[Upstream]:
    """An upstream with TLS, HTTP/1.1 and HTTP/2."""
    with Upstream(server_context(pem)) as upstream:
        yield upstream


@pytest.fixture(scope="session")
def sockets(pem: Path) -> Iterator[SocketServer]:
    """An upstream for WebSockets over TLS."""
    with SocketServer(server_context(pem, "http/1.1")) as server:
        yield server


@pytest.fixture(scope="session")
def proxies(pem: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxies]:
    """Mitmdumps that trust the upstreams. Each starts at its first use."""
    with contextlib.closing(Proxies(pem, tmp_path_factory.mktemp("confdir"))) as started:
        yield started


@pytest.fixture
def upstream(carrier: str, plain: Upstream, secure: Upstream) -> Upstream:
    """The upstream of a carrier: `plain-h1`, `tls-h1` or `tls-h2`."""
    return plain if carrier.startswith("plain") else secure


@pytest.fixture(scope="session")
def repairing(proxies: Proxies) -> Mitmdump:
    """A proxy with safe repairs."""
    return proxies.get(toolstream_repair="safe")
