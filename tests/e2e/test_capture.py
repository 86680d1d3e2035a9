"""Each flow of an LLM is written when it ends, however it ends: redacted, whole, as mitmproxy opens it."""

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
    """A proxy that captures, and how a test gets what it wrote."""

    def __init__(self, proxy: Mitmdump, folder: Path) -> None:
        self.proxy = proxy
        self.folder = folder

    def last(self) -> http.HTTPFlow:
        """The only capture since the last time."""
        [flow] = captured(self.folder, 1)
        self._remove_all()
        return flow

    def all_until(self, last: list[bytes]) -> list[list[bytes]]:
        """What each capture since the last time holds, once one holds `last`."""
        deadline = time.monotonic() + PATIENCE
        while last not in (kept := [upstream_chunks(read(path)) for path in self.folder.glob("*.flow")]):
            assert time.monotonic() < deadline, f"{len(kept)} captures, none of the last answer"
            time.sleep(0.01)
        self._remove_all()
        return kept

    def _remove_all(self) -> None:
        """No capture is readable by others, or holds the key."""
        for path in self.folder.glob("*.flow"):
            assert path.stat().st_mode & 0o777 == 0o600
            assert KEY.encode() not in path.read_bytes()
            path.unlink()


@pytest.fixture(scope="module")
def captures(proxies: Proxies, tmp_path_factory: pytest.TempPathFactory) -> Captures:
    """Captures alone: nothing is logged, nothing repaired."""
    folder = tmp_path_factory.mktemp("here") / "captures"
    return Captures(proxies.get(toolstream_capture=str(folder), toolstream_log="off"), folder)


@pytest.fixture(scope="module")
def changing(proxies: Proxies, tmp_path_factory: pytest.TempPathFactory) -> Captures:
    """What passes is broken, repaired and cut."""
    folder = tmp_path_factory.mktemp("changed")
    faults = ("empty-id", "cut:at=event:5,model=cut*")
    proxy = proxies.get(toolstream_capture=str(folder), toolstream_fault=faults, toolstream_repair="empty-id")
    return Captures(proxy, folder)


@pytest.fixture(scope="module")
def destreaming(proxies: Proxies, tmp_path_factory: pytest.TempPathFactory) -> Captures:
    """Upstream is asked without a stream."""
    folder = tmp_path_factory.mktemp("destreamed")
    return Captures(proxies.get(toolstream_capture=str(folder), toolstream_shape="destream"), folder)


def fetch(
    captures: Captures, upstream: Upstream, planned: Response, version: str = "h1", body: bytes = CHAT.body
) -> bytes:
    """What a client gets; nothing more where the answer breaks off."""
    plan = upstream.plan(planned)
    fields = {**plan.headers, "content-type": "application/json", "authorization": f"Bearer {KEY}"}
    got = b""
    with client(version, route(captures.proxy, upstream)) as peer:
        reply = peer.request(CHAT.path, body, fields)
        try:
            while chunk := reply.next_chunk():
                got += chunk
        except BrokenOffError:
            pass
    return got


@BOTH
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_stream(captures: Captures, secure: Upstream, version: str, coding: str) -> None:
    """Chunk by chunk as upstream said it, its coding undone, with the calls that it made."""
    fetch(captures, secure, event_stream(CHAT.chunks, coding=coding), version)
    flow = captures.last()
    assert upstream_chunks(flow) == list(CHAT.chunks)
    assert flow.response is not None
    assert "content-encoding" not in flow.response.headers
    assert flow.request.content == CHAT.body
    assert [call["id"] for call in metadata(flow)["record"]["calls"]] == ["call_1"]
    assert metadata(flow).keys() == {"version", "chunks", "text", "record"}
    assert flow.error is None


def test_secrets_stay_out(captures: Captures, plain: Upstream) -> None:
    """The request's own, where the answer says it again in pieces; the cuts stay."""
    said = [chunk.replace(b"Bern", KEY.encode()) for chunk in openai_chat("call_1", KEY).chunks]
    fetch(captures, plain, event_stream(said))
    flow = captures.last()
    assert [len(chunk) for chunk in upstream_chunks(flow)] == [len(chunk) for chunk in said]
    [call] = metadata(flow)["record"]["calls"]
    assert json.loads(call["arguments"]) == {"city": "*" * len(KEY)}


def test_a_whole_answer(captures: Captures, plain: Upstream) -> None:
    """Without a stream there is one chunk."""
    whole = Response((Send(CHAT.unstreamed_response_body),), content_type="application/json")
    assert fetch(captures, plain, whole, body=CHAT.unstreamed_request_body) == CHAT.unstreamed_response_body
    flow = captures.last()
    assert upstream_chunks(flow) == [CHAT.unstreamed_response_body]
    assert metadata(flow)["record"]["streamed"] is False


@BOTH
@pytest.mark.parametrize("how", list(Break))
def test_upstream_breaks(captures: Captures, secure: Upstream, version: str, how: Break) -> None:
    """What came is kept, and how it broke."""
    half = tuple(Send(chunk) for chunk in CHAT.chunks[:3])
    fetch(captures, secure, Response((*half, how)), version)
    flow = captures.last()
    # A reset may overtake what was sent before it.
    assert upstream_chunks(flow) == list(CHAT.chunks[: len(upstream_chunks(flow))])
    assert flow.error is not None
    assert flow.error.msg == metadata(flow)["broken"] == metadata(flow)["record"]["broken"]


@BOTH
def test_the_client_leaves(captures: Captures, secure: Upstream, version: str) -> None:
    """Captured with what it did not wait for."""
    gate = Gate()
    plan = secure.plan(Response((Send(CHAT.chunks[0]), Send(CHAT.chunks[1]), Wait(gate))))
    with client(version, route(captures.proxy, secure)) as peer:
        reply = peer.request(CHAT.path, CHAT.body, plan.headers)
        got = reply.next_chunk() + reply.next_chunk()
        reply.leave()
    flow = captures.last()
    gate.open()
    assert b"".join(upstream_chunks(flow)) == got
    assert "client" in metadata(flow)["broken"].lower() or "cancel" in metadata(flow)["broken"].lower()


def test_an_error(captures: Captures, plain: Upstream) -> None:
    """Its status, its headers and its body."""
    rejection = Response(
        (Send(b'{"error":{"message":"slow down"}}'),), 429, "application/json", (("retry-after", "7"),)
    )
    fetch(captures, plain, rejection)
    flow = captures.last()
    assert flow.response is not None
    assert (flow.response.status_code, flow.response.headers["retry-after"]) == (429, "7")
    assert upstream_chunks(flow) == [b'{"error":{"message":"slow down"}}']


def test_no_answer_at_all(captures: Captures, plain: Upstream) -> None:
    """A request whose upstream nobody can reach."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    with client("h1", replace(route(captures.proxy, plain), upstream=free)) as peer:
        assert peer.request(CHAT.path, CHAT.body, {}).status == 502
    flow = captures.last()
    assert flow.response is None
    assert flow.error is not None
    assert flow.error.msg == metadata(flow)["broken"]


def test_other_traffic_is_not_captured(captures: Captures, plain: Upstream) -> None:
    """Neither a page, nor an event stream that is no LLM's."""
    for kind in ("text/html", "text/event-stream"):
        plan = plain.plan(Response((Send(b"data: 1\n\n"),), content_type=kind))
        with client("h1", route(captures.proxy, plain)) as peer:
            peer.request("/events", b"", plan.headers, "GET").rest()
    fetch(captures, plain, event_stream(CHAT.chunks))
    assert upstream_chunks(captures.last()) == list(CHAT.chunks)


def test_what_the_client_got(changing: Captures, plain: Upstream) -> None:
    """Beside what upstream said, where it is something else; findings, changes and faults are in the record."""
    body = json.dumps({**CHAT.request, "model": "cut-it"}).encode()
    for asked, broken in ((CHAT.body, False), (body, True)):
        got = fetch(changing, plain, event_stream(CHAT.chunks), body=asked)
        flow = changing.last()
        record: dict[str, Any] = metadata(flow)["record"]
        assert (record["changes"], record["faults"][0]["spec"]) == (["empty-id"], "empty-id")
        assert "empty-id" in {finding["name"] for finding in record["findings"]}
        said = b"".join(CHAT.chunks)
        assert b"".join(upstream_chunks(flow)) == said[: len(b"".join(upstream_chunks(flow)))]
        assert (flow.error is not None) == broken
        assert metadata(flow)["sent"]["body"].startswith(got)
        assert sum(size for _, size in metadata(flow)["sent"]["chunks"]) == len(metadata(flow)["sent"]["body"])
        if broken:
            assert "cut" in metadata(flow)["broken"]
        else:
            assert metadata(flow)["sent"]["body"] == got != said


def test_an_answer_without_a_stream_that_was_streamed(destreaming: Captures, plain: Upstream) -> None:
    """Upstream's is the whole one, to the request that it got; the client received events."""
    whole = Response((Send(CHAT.unstreamed_response_body),), content_type="application/json")
    got = fetch(destreaming, plain, whole)
    flow = destreaming.last()
    assert upstream_chunks(flow) == [CHAT.unstreamed_response_body]
    assert json.loads(flow.request.content or b"")["stream"] is False
    assert flow.response is not None
    assert flow.response.headers["content-type"] == "application/json"
    assert metadata(flow)["sent"]["body"] == got
    assert got.startswith(b"data: ")
    assert len(metadata(flow)["sent"]["chunks"]) == got.count(b"\n\n")


def test_the_proxy_is_stopped(proxies: Proxies, plain: Upstream, tmp_path: Path) -> None:
    """What is on its way is captured as far as it came."""
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


def test_a_killed_proxy_leaves_no_half_file(proxies: Proxies, plain: Upstream, tmp_path: Path) -> None:
    """Whatever there is reads as a whole flow; the next start clears the rest away."""
    said = event_stream(CHAT.chunks)
    for turn in range(2):
        with proxies.make({"toolstream_capture": str(tmp_path), "toolstream_log": "off"}) as proxy:
            assert not list(tmp_path.glob(".toolstream-*")), "cleared at the start"
            captures = Captures(proxy, tmp_path)
            for _ in range(20 + turn):
                fetch(captures, plain, said)
            assert proxy.pid is not None
            _kill(proxy.pid)
        _age(tmp_path.glob(".toolstream-*"))
        written = captured(tmp_path, len(list(tmp_path.glob("*.flow"))))
        assert all(upstream_chunks(flow) == list(CHAT.chunks) for flow in written)


def _kill(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


def _age(paths: Iterable[Path]) -> None:
    """An empty file is only cleared once nobody can be about to lock it."""
    before = time.time() - 2 * YOUNG
    for path in paths:
        os.utime(path, (before, before))


def test_a_folder_that_cannot_be(proxies: Proxies, tmp_path: Path) -> None:
    """The proxy does not start, and one line says what would be right."""
    from tests.e2e.harness.mitmdump import MitmdumpError

    path = tmp_path / "file"
    path.touch()
    with pytest.raises(MitmdumpError, match=r"Addon error: toolstream_capture: .*is not writable"):
        proxies.make({"toolstream_capture": str(path)}).start()


def test_a_folder_that_goes_away(captures: Captures, plain: Upstream) -> None:
    """One clear error, and the client gets every byte."""
    away = captures.folder.with_name("away")
    captures.folder.rename(away)
    before = len(captures.proxy.output)
    second, third = (openai_chat(call_id, "Bern").chunks for call_id in ("call_2", "call_3"))
    try:
        assert fetch(captures, plain, event_stream(CHAT.chunks)) == b"".join(CHAT.chunks)
        line = captures.proxy.wait_for("toolstream_capture: flow .* is not captured: No such file", after=before)
        assert line.endswith("Traffic goes on.")
        assert fetch(captures, plain, event_stream(second)) == b"".join(second)
    finally:
        shutil.copytree(away, captures.folder)
    fetch(captures, plain, event_stream(third))
    # Nothing tells when the second is written: it may be there, too.
    kept = captures.all_until(list(third))
    assert all(one in (list(second), list(third)) for one in kept)
    assert sum("is not captured" in line for line in captures.proxy.output[before:]) == 1
