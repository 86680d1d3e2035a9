"""A response that is captured when the proxy is killed is kept by the next start."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import time
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.captures import noted, read
from tests.e2e.harness.samples import openai_chat
from tests.e2e.test_backpressure import EVENT, HEAD
from toolstream_core.proxy.capture.folder import Folder
from toolstream_core.proxy.capture.recovery import recover

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.harness.proxies import Proxies

pytestmark = pytest.mark.e2e

MIB = 1024 * 1024
SECRET = "sk-" + "a1" * 20
LIMIT = 1 << 30
PATIENCE = 30.0
"""Seconds."""


def test_a_killed_proxy_leaves_what_came(proxies: Proxies, tmp_path: Path) -> None:
    """Redacted, its owner's alone, in one flow that reads as broken; while the proxy runs, nobody touches it."""
    captures, sample = tmp_path / "captures", openai_chat("call_1", "Bern")
    listener = socket.create_server(("127.0.0.1", 0))
    proxy = proxies.make({"toolstream_capture": str(captures)})
    with proxy, listener:
        head = f"POST http://127.0.0.1:{listener.getsockname()[1]}{sample.path} HTTP/1.1\r\nhost: 127.0.0.1\r\n"
        head += f"authorization: Bearer {SECRET}\r\ncontent-length: {len(sample.body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", proxy.port)) as client:
            client.sendall(head.encode() + sample.body)
            upstream, _ = listener.accept()
            with upstream:
                _send(upstream, client)
                spool = _spool(captures)
                assert [*recover(Folder(captures, LIMIT))] == []
                assert stat.S_IMODE(spool.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
                assert SECRET.encode() not in spool.read_bytes()
                assert proxy.pid is not None
                os.kill(proxy.pid, signal.SIGKILL)
    [path] = recover(Folder(captures, LIMIT))
    assert [*recover(Folder(captures, LIMIT))] == []
    assert [one.name for one in captures.iterdir()] == [path.name]
    flow = read(path)
    assert flow.error is not None
    assert noted(flow)["broken"] == flow.error.msg
    assert flow.response is not None
    assert flow.response.raw_content is not None
    assert len(flow.response.raw_content) >= MIB // 2
    assert EVENT[:200] in flow.response.raw_content
    assert SECRET.encode() not in path.read_bytes()


def _send(upstream: socket.socket, client: socket.socket) -> None:
    """Send 6 MiB of a response, which the client reads as it comes."""
    upstream.recv(65536)
    told = b"data: " + json.dumps({"x": SECRET}).encode() + b"\n\n"
    upstream.sendall(HEAD + b"%x\r\n%s\r\n" % (len(told), told))
    for _ in range(6 * MIB // len(EVENT)):
        upstream.sendall(b"%x\r\n%s\r\n" % (len(EVENT), EVENT))
        client.recv(1 << 20)


def _spool(captures: Path) -> Path:
    """The spool, once it has a part of the body."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for one in captures.glob(".toolstream-*.spool"):
            if one.stat().st_size >= MIB:
                return one
        time.sleep(0.05)
    pytest.fail("no spool has a part of the body")
