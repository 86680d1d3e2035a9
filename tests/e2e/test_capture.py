"""Each LLM flow is captured when it ends, normally or not: redacted, complete, in mitmproxy's format."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from tests.e2e.harness.captures import captured, metadata, read, upstream_chunks
from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import PATIENCE, Break, Gate, Response, Send, Wait, event_stream
from toolstream_core.proxy.capture.folder import YOUNG

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mitmproxy import http

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

CHAT = openai_chat("call_1", "Bern")
KEY = "sk-proj-0123456789abcdefghijABCDEFGHIJ"
BOTH = pytest.mark.parametrize("version", ["h1", "h2"])


class Captures:
    """A proxy that captures, and access to its captures."""

    def __init__(self, proxy: Mitmdump, folder: Path) -> None:
        self.proxy = proxy
        self.folder = folder

    def last(self) -> http.HTTPFlow:
        """The only capture since the last call."""
        [flow] = captured(self.folder, 1)
        self._remove_all()
        return flow

    def all_until(self, last: list[bytes]) -> list[list[bytes]]:
        """The chunks of each capture since the last call, once one of them has the chunks `last`."""
        deadline = time.monotonic() + PATIENCE
        while last not in (kept := [upstream_chunks(read(path)) for path in self.folder.glob("*.flow")]):
            assert time.monotonic() < deadline, f"{len(kept)} captures, none of the last response"
            time.sleep(0.01)
        self._remove_all()
        return kept

    def _remove_all(self) -> None:
        """Remove the captures, after a check that they are private and do not contain the key."""
        for path in self.folder.glob("*.flow"):
            assert path.stat().st_mode & 0o777 == 0o600
            assert KEY.encode() not in path.read_bytes()
            path.unlink()


@pytest.fixture(scope="module")
def captures(proxies: Proxies, tmp_path_factory: pytest.TempPathFactory) -> Captures:
    """Captures without log and repairs."""
    folder = tmp_path_factory.mktemp("here") / "captures"
    return Captures(proxies.get(toolstream_capture=str(folder), toolstream_log="off"), folder)


@pytest.fixture(scope="module")
def changing(proxies: Proxies, tmp_path_factory: pytest.TempPathFactory) -> Captures:
    """Captures of responses with an injected and repaired defect; some are cut."""
    folder = tmp_path_factory.mktemp("changed")
    faults = ("empty-id", "cut:at=event:5,model=cut*")
    proxy = proxies.get(toolstream_capture=str(folder), toolstream_fault=faults, toolstream_repair="empty-id")
    return Captures(proxy, folder)


@pytest.fixture(scope="module")
def destreaming(proxies: Proxies, tmp_path_factory: pytest.TempPathFactory) -> Captures:
    """Captures of responses that upstream does not stream."""
    folder = tmp_path_factory.mktemp("destreamed")
    return Captures(proxies.get(toolstream_capture=str(folder), toolstream_shape="destream"), folder)


def fetch(
    captures: Captures, upstream: Upstream, planned: Response, version: str = "h1", body: bytes = CHAT.body
) -> bytes:
    """The bytes that a client receives, up to a disconnect."""
    plan = upstream.plan(planned)
    fields = {**plan.headers, "content-type": "application/json", "authorization": f"Bearer {KEY}"}
    received = b""
    with client(version, route(captures.proxy, upstream)) as peer:
        reply = peer.request(CHAT.path, body, fields)
        try:
            while chunk := reply.next_chunk():
                received += chunk
        except BrokenOffError:
            pass
    return received


@BOTH
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_stream_is_captured_with_its_chunks(captures: Captures, secure: Upstream, version: str, coding: str) -> None:
    """A capture has the decoded chunks as upstream sent them, and the record with the calls."""
    fetch(captures, secure, event_stream(CHAT.chunks, coding=coding), version)
    flow = captures.last()
    assert upstream_chunks(flow) == list(CHAT.chunks)
    assert flow.response is not None
    assert "content-encoding" not in flow.response.headers
    assert flow.request.content == CHAT.body
    assert [call["id"] for call in metadata(flow)["record"]["calls"]] == ["call_1"]
    assert metadata(flow).keys() == {"version", "chunks", "text", "record"}
    assert flow.error is None


def test_a_secret_of_the_request_is_redacted_in_the_response(captures: Captures, plain: Upstream) -> None:
    """A key of the request is redacted in a response that repeats it across chunks; the chunk sizes stay."""
    repeating = [chunk.replace(b"Bern", KEY.encode()) for chunk in openai_chat("call_1", KEY).chunks]
    fetch(captures, plain, event_stream(repeating))
    flow = captures.last()
    assert [len(chunk) for chunk in upstream_chunks(flow)] == [len(chunk) for chunk in repeating]
    [call] = metadata(flow)["record"]["calls"]
    assert json.loads(call["arguments"]) == {"city": "*" * len(KEY)}


def test_an_unstreamed_response_is_captured_as_one_chunk(captures: Captures, plain: Upstream) -> None:
    """The capture of a response without a stream has one chunk."""
    unstreamed = Response((Send(CHAT.unstreamed_response_body),), content_type="application/json")
    assert fetch(captures, plain, unstreamed, body=CHAT.unstreamed_request_body) == CHAT.unstreamed_response_body
    flow = captures.last()
    assert upstream_chunks(flow) == [CHAT.unstreamed_response_body]
    assert metadata(flow)["record"]["streamed"] is False


@BOTH
@pytest.mark.parametrize("how", list(Break))
def test_a_truncated_response_is_captured(captures: Captures, secure: Upstream, version: str, how: Break) -> None:
    """A capture has the chunks before upstream's disconnect, and the error."""
    received = tuple(Send(chunk) for chunk in CHAT.chunks[:3])
    fetch(captures, secure, Response((*received, how)), version)
    flow = captures.last()
    # A reset may overtake the data that was sent before it.
    assert upstream_chunks(flow) == list(CHAT.chunks[: len(upstream_chunks(flow))])
    assert flow.error is not None
    assert flow.error.msg == metadata(flow)["broken"] == metadata(flow)["record"]["broken"]


@BOTH
def test_a_response_that_the_client_cancels_is_captured(captures: Captures, secure: Upstream, version: str) -> None:
    """A capture has the chunks until the client disconnected."""
    gate = Gate()
    plan = secure.plan(Response((Send(CHAT.chunks[0]), Send(CHAT.chunks[1]), Wait(gate))))
    with client(version, route(captures.proxy, secure)) as peer:
        reply = peer.request(CHAT.path, CHAT.body, plan.headers)
        received = reply.next_chunk() + reply.next_chunk()
        reply.leave()
    flow = captures.last()
    gate.open()
    assert b"".join(upstream_chunks(flow)) == received
    assert "client" in metadata(flow)["broken"].lower() or "cancel" in metadata(flow)["broken"].lower()


def test_an_error_response_is_captured(captures: Captures, plain: Upstream) -> None:
    """The capture of an error response has its status, headers and body."""
    rejection = Response(
        (Send(b'{"error":{"message":"slow down"}}'),), 429, "application/json", (("retry-after", "7"),)
    )
    fetch(captures, plain, rejection)
    flow = captures.last()
    assert flow.response is not None
    assert (flow.response.status_code, flow.response.headers["retry-after"]) == (429, "7")
    assert upstream_chunks(flow) == [b'{"error":{"message":"slow down"}}']


def test_a_request_without_a_response_is_captured(captures: Captures, plain: Upstream) -> None:
    """The capture of a request to an unreachable upstream has the error and no response."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    with client("h1", replace(route(captures.proxy, plain), upstream=free)) as peer:
        assert peer.request(CHAT.path, CHAT.body, {}).status == 502
    flow = captures.last()
    assert flow.response is None
    assert flow.error is not None
    assert flow.error.msg == metadata(flow)["broken"]


def test_other_traffic_is_not_captured(captures: Captures, plain: Upstream) -> None:
    """A web page and an event stream of another service are not captured."""
    for kind in ("text/html", "text/event-stream"):
        plan = plain.plan(Response((Send(b"data: 1\n\n"),), content_type=kind))
        with client("h1", route(captures.proxy, plain)) as peer:
            peer.request("/events", b"", plan.headers, "GET").rest()
    fetch(captures, plain, event_stream(CHAT.chunks))
    assert upstream_chunks(captures.last()) == list(CHAT.chunks)


def test_a_changed_response_is_captured_as_received_and_as_sent(changing: Captures, plain: Upstream) -> None:
    """A capture has upstream's response and the changed response; the record has findings, changes and faults."""
    body = json.dumps({**CHAT.request, "model": "cut-it"}).encode()
    for request, broken in ((CHAT.body, False), (body, True)):
        received = fetch(changing, plain, event_stream(CHAT.chunks), body=request)
        flow = changing.last()
        record: dict[str, Any] = metadata(flow)["record"]
        assert (record["changes"], record["faults"][0]["spec"]) == (["empty-id"], "empty-id")
        assert "empty-id" in {finding["name"] for finding in record["findings"]}
        original = b"".join(CHAT.chunks)
        assert b"".join(upstream_chunks(flow)) == original[: len(b"".join(upstream_chunks(flow)))]
        assert (flow.error is not None) == broken
        assert metadata(flow)["sent"]["body"].startswith(received)
        assert sum(size for _, size in metadata(flow)["sent"]["chunks"]) == len(metadata(flow)["sent"]["body"])
        if broken:
            assert "cut" in metadata(flow)["broken"]
        else:
            assert metadata(flow)["sent"]["body"] == received != original


def test_a_destreamed_response_is_captured_as_received_and_as_sent(destreaming: Captures, plain: Upstream) -> None:
    """With `destream` a capture has upstream's unstreamed response, its request, and the stream for the client."""
    unstreamed = Response((Send(CHAT.unstreamed_response_body),), content_type="application/json")
    received = fetch(destreaming, plain, unstreamed)
    flow = destreaming.last()
    assert upstream_chunks(flow) == [CHAT.unstreamed_response_body]
    assert json.loads(flow.request.content or b"")["stream"] is False
    assert flow.response is not None
    assert flow.response.headers["content-type"] == "application/json"
    assert metadata(flow)["sent"]["body"] == received
    assert received.startswith(b"data: ")
    assert len(metadata(flow)["sent"]["chunks"]) == received.count(b"\n\n")


def test_a_response_is_captured_when_the_proxy_stops(proxies: Proxies, plain: Upstream, tmp_path: Path) -> None:
    """When the proxy stops, an unfinished response is captured with the chunks so far."""
    gate = Gate()
    plan = plain.plan(Response((Send(CHAT.chunks[0]), Wait(gate))))
    with proxies.make({"toolstream_capture": str(tmp_path)}) as proxy:
        peer = client("h1", route(proxy, plain))
        peer.request(CHAT.path, CHAT.body, plan.headers).next_chunk()
    gate.open()
    peer.close()
    [flow] = captured(tmp_path, 1)
    assert upstream_chunks(flow) == [CHAT.chunks[0]]
    assert flow.error is not None
    assert flow.error.msg == metadata(flow)["broken"] == "the proxy was stopped"


def test_a_killed_proxy_leaves_only_complete_captures(proxies: Proxies, plain: Upstream, tmp_path: Path) -> None:
    """Captures of a killed proxy are complete flows; the next start removes temporary files."""
    planned = event_stream(CHAT.chunks)
    for turn in range(2):
        with proxies.make({"toolstream_capture": str(tmp_path), "toolstream_log": "off"}) as proxy:
            assert not list(tmp_path.glob(".toolstream-*")), "not removed at the start"
            captures = Captures(proxy, tmp_path)
            for _ in range(20 + turn):
                fetch(captures, plain, planned)
            assert proxy.pid is not None
            _kill(proxy.pid)
        _age(tmp_path.glob(".toolstream-*"))
        written = captured(tmp_path, len(list(tmp_path.glob("*.flow"))))
        assert all(upstream_chunks(flow) == list(CHAT.chunks) for flow in written)


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _age(paths: Iterable[Path]) -> None:
    """Set the times back: an empty file is removed only if it is too old to be locked soon."""
    before = time.time() - 2 * YOUNG
    for path in paths:
        os.utime(path, (before, before))


def test_a_capture_path_that_is_a_file_is_rejected(proxies: Proxies, tmp_path: Path) -> None:
    """The proxy does not start if the capture path is a file."""
    from tests.e2e.harness.mitmdump import MitmdumpError

    path = tmp_path / "file"
    path.touch()
    with pytest.raises(MitmdumpError, match=r"Addon error: toolstream_capture: .*is not writable"):
        proxies.make({"toolstream_capture": str(path)}).start()


def test_a_missing_capture_folder_is_logged_once(captures: Captures, plain: Upstream) -> None:
    """If the capture folder disappears, the log has one error, and responses are forwarded completely."""
    away = captures.folder.with_name("away")
    captures.folder.rename(away)
    before = len(captures.proxy.output)
    second, third = (openai_chat(call_id, "Bern").chunks for call_id in ("call_2", "call_3"))
    try:
        assert fetch(captures, plain, event_stream(CHAT.chunks)) == b"".join(CHAT.chunks)
        line = captures.proxy.wait_for("toolstream_capture: flow .* is not captured: No such file", after=before)
        assert line.endswith("Traffic continues.")
        assert fetch(captures, plain, event_stream(second)) == b"".join(second)
    finally:
        shutil.copytree(away, captures.folder)
    fetch(captures, plain, event_stream(third))
    # The second capture may have been written to the restored folder, too.
    kept = captures.all_until(list(third))
    assert all(chunks in (list(second), list(third)) for chunks in kept)
    assert sum("is not captured" in line for line in captures.proxy.output[before:]) == 1
