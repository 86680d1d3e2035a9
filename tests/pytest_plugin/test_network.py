"""All connections but the fixture's are refused and reported."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from tests.pytest_plugin.running import project, run
from toolstream_core.pytest_plugin.network import BlockedConnectionError, NetworkBlock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

INNER = """
import asyncio, socket, subprocess, sys, urllib.error, urllib.request
import pytest

BLOCKED = "block-network refuses the connection to "

def test_a_name():
    with pytest.raises(RuntimeError, match=BLOCKED + "example.com:80, in test_inner.py::test_a_name"):
        socket.create_connection(("example.com", 80))

def test_an_address():
    for address in ("203.0.113.1", "127.0.0.1"):
        with pytest.raises(RuntimeError, match=BLOCKED + address + ":9"):
            socket.create_connection((address, 9))
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, pytest.raises(RuntimeError, match="203.0.113.1:53"):
        udp.sendto(b"x", ("203.0.113.1", 53))

def test_a_loop():
    async def connect(host):
        await asyncio.open_connection(host, 443)
    for host in ("example.com", "203.0.113.1"):
        with pytest.raises(RuntimeError, match=BLOCKED + host):
            asyncio.run(connect(host))

@pytest.mark.toolstream("flows/openai-chat-single.flow")
def test_the_fixture(toolstream):
    body = b'{"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": "hi"}]}'
    url = toolstream.base_url("openai-chat") + "/chat/completions"
    assert urllib.request.urlopen(urllib.request.Request(url, body)).status == 200
    with pytest.raises(urllib.error.HTTPError, match="403"):
        urllib.request.urlopen("http://example.com/x")
    script = "import urllib.request as u; u.urlopen('http://127.0.0.1:9/x')"
    child = subprocess.run([sys.executable, "-c", script], stderr=subprocess.PIPE)
    assert b"HTTP Error 403" in child.stderr

def test_a_refusal_is_reported():
    try:
        urllib.request.urlopen("http://example.com")
    except Exception:
        pass
    assert False

@pytest.mark.skipif(not hasattr(socket, "AF_UNIX"), reason="no Unix sockets")
def test_other_families():
    left, right = socket.socketpair()
    left.send(b"x")
    assert right.recv(1) == b"x"
    left.close(); right.close()
"""


@pytest.mark.e2e
def test_connections_of_a_project_are_refused(tmp_path: Path) -> None:
    """Sockets, event loops and child processes are blocked."""
    folder = project(tmp_path, "openai-chat-single", test_inner=INNER)
    output = run(folder, "--toolstream-block-network", "test_inner.py")
    assert "1 failed, 5 passed" in output, output
    assert "test_a_refusal_is_reported" in output
    assert "refused connections" in output
    assert "\nexample.com:80\n" in output


@pytest.fixture
def block() -> Iterator[NetworkBlock]:
    """Yield the network block in this process and remove it afterwards."""
    network_block = NetworkBlock()
    network_block.pytest_sessionstart()
    yield network_block
    network_block.pytest_unconfigure()


def test_an_allowed_port_and_the_removal_of_the_block(block: NetworkBlock) -> None:
    """The port is allowed on this machine only, and the patched functions are restored."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with pytest.raises(BlockedConnectionError, match=f"127.0.0.1:{port}, in no test"):
            socket.create_connection(("127.0.0.1", port))
        block.allow(port)
        socket.create_connection(("localhost", port)).close()
        with pytest.raises(BlockedConnectionError):
            socket.create_connection(("203.0.113.1", port))
        block.pytest_unconfigure()
        assert "connect" not in vars(socket.socket)
        assert not hasattr(socket.getaddrinfo, "__wrapped__")
        socket.create_connection(("127.0.0.1", port)).close()
