"""If the proxy is killed during a response, its next start recovers the captured part."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import stat
import time
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.captures import metadata, read
from tests.e2e.harness.samples import openai_chat
from tests.e2e.test_backpressure import EVENT, HEAD
from toolstream_core.proxy.capture.folder import Folder
from toolstream_core.proxy.capture.recovery import recover
from toolstream_core.saved.flow import chunks_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.samples import Sample

pytestmark = pytest.mark.e2e

HOST = "127.0.0.1"
MIB = 1024 * 1024
SECRET = "sk-" + "a1" * 20
LIMIT = 1 << 30
PATIENCE = 30.0
"""Seconds."""


def test_an_unfinished_response_is_recovered(proxies: Proxies, tmp_path: Path) -> None:
    """The received part becomes a broken flow, redacted and private; while the proxy runs, nothing is recovered."""
    captures, sample = tmp_path / "captures", openai_chat("call_1", "Bern")
    with proxies.make({"toolstream_capture": str(captures)}) as proxy, _begun(proxy, sample) as (upstream, client):
        _send(upstream, client)
        spool = _spool(captures, MIB)
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
    assert metadata(flow)["broken"] == flow.error.msg
    assert flow.response is not None
    assert flow.response.raw_content is not None
    assert len(flow.response.raw_content) >= MIB // 2
    assert EVENT[:200] in flow.response.raw_content
    assert SECRET.encode() not in path.read_bytes()


def test_a_slow_small_response_is_recovered_with_its_times(proxies: Proxies, tmp_path: Path) -> None:
    """The complete events become a broken flow, each with its time and without secrets."""
    captures, sample = tmp_path / "captures", openai_chat("call_1", "Bern")
    secret = b"data: " + json.dumps({"x": SECRET}).encode() + b"\n\n"
    events = [secret, *sample.chunks[:3]]
    with proxies.make({"toolstream_capture": str(captures)}) as proxy, _begun(proxy, sample) as (upstream, _):
        upstream.sendall(HEAD)
        for at, event in enumerate(events):
            incomplete = b'data: {"token": "sk-' if event is events[-1] else b""
            upstream.sendall(b"%x\r\n%s\r\n" % (len(event + incomplete), event + incomplete))
            if at:
                _spool(captures, holding=event)
        spool = _spool(captures, holding=events[-1])
        assert stat.S_IMODE(spool.stat().st_mode) == stat.S_IRUSR | stat.S_IWUSR
        assert [*recover(Folder(captures, LIMIT))] == []
        assert proxy.pid is not None
        os.kill(proxy.pid, signal.SIGKILL)
    [path] = recover(Folder(captures, LIMIT))
    assert [one.name for one in captures.iterdir()] == [path.name]
    flow = read(path)
    assert flow.error is not None
    assert metadata(flow)["broken"] == flow.error.msg
    chunks = chunks_of(flow)
    body = b"".join(chunk.data for chunk in chunks)
    assert len(body) == len(b"".join(events))
    assert body.endswith(b"".join(events[1:]))
    assert SECRET.encode() not in path.read_bytes()
    assert [size for _, size in metadata(flow)["chunks"][-2:]] == [len(event) for event in events[-2:]]
    assert all(later.after - earlier.after >= 1000 for earlier, later in pairwise(chunks[-3:]))


@contextlib.contextmanager
def _begun(proxy: Mitmdump, sample: Sample) -> Iterator[tuple[socket.socket, socket.socket]]:
    """The upstream of a request that the proxy has forwarded, and its client."""
    with socket.create_server((HOST, 0)) as listener, socket.create_connection((HOST, proxy.port)) as client:
        head = f"POST http://{HOST}:{listener.getsockname()[1]}{sample.path} HTTP/1.1\r\nhost: {HOST}\r\n"
        head += f"authorization: Bearer {SECRET}\r\ncontent-length: {len(sample.body)}\r\n\r\n"
        client.sendall(head.encode() + sample.body)
        upstream, _ = listener.accept()
        with upstream:
            upstream.recv(65536)
            yield upstream, client


def _send(upstream: socket.socket, client: socket.socket) -> None:
    """Send 6 MiB of a response; the client reads it."""
    event = b"data: " + json.dumps({"x": SECRET}).encode() + b"\n\n"
    upstream.sendall(HEAD + b"%x\r\n%s\r\n" % (len(event), event))
    for _ in range(6 * MIB // len(EVENT)):
        upstream.sendall(b"%x\r\n%s\r\n" % (len(EVENT), EVENT))
        client.recv(1 << 20)


def _spool(captures: Path, size: int = 0, holding: bytes = b"") -> Path:
    """Wait until the spool has this size and holds these bytes."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for one in captures.glob(".toolstream-*.spool"):
            with contextlib.suppress(FileNotFoundError):  # replaced by a longer one
                if one.stat().st_size >= size and holding in one.read_bytes():
                    return one
        time.sleep(0.05)
    pytest.fail("no spool has a part of the body")
