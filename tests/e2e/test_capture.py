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

from tests.e2e.harness.captures import captured, noted, pieces, read
from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import Proxies, client, way
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import PATIENCE, Answer, Break, Gate, Send, Wait, response
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
        while last not in (kept := [pieces(read(path)) for path in self.folder.glob("*.flow")]):
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
    captures: Captures, upstream: Upstream, planned: Answer, version: str = "h1", body: bytes = CHAT.body
) -> bytes:
    """What a client gets; nothing more where the answer breaks off."""
    plan = upstream.plan(planned)
    fields = {**plan.headers, "content-type": "application/json", "authorization": f"Bearer {KEY}"}
    got = b""
    with client(version, way(captures.proxy, upstream)) as peer:
        reply = peer.request(CHAT.path, body, fields)
        try:
            while piece := reply.piece():
                got += piece
        except BrokenOffError:
            pass
    return got


@BOTH
@pytest.mark.parametrize("coding", ["identity", "gzip"])
def test_a_stream(captures: Captures, secure: Upstream, version: str, coding: str) -> None:
    """Chunk by chunk as upstream said it, its coding undone, with the calls that it made."""
    fetch(captures, secure, response(CHAT.pieces, coding=coding), version)
    flow = captures.last()
    assert pieces(flow) == list(CHAT.pieces)
    assert flow.response is not None
    assert "content-encoding" not in flow.response.headers
    assert flow.request.content == CHAT.body
    assert [call["id"] for call in noted(flow)["record"]["calls"]] == ["call_1"]
    assert noted(flow).keys() == {"version", "chunks", "text", "record"}
    assert flow.error is None


def test_secrets_stay_out(captures: Captures, plain: Upstream) -> None:
    """The request's own, where the answer says it again in pieces; the cuts stay."""
    said = [piece.replace(b"Bern", KEY.encode()) for piece in openai_chat("call_1", KEY).pieces]
    fetch(captures, plain, response(said))
    flow = captures.last()
    assert [len(piece) for piece in pieces(flow)] == [len(piece) for piece in said]
    [call] = noted(flow)["record"]["calls"]
    assert json.loads(call["arguments"]) == {"city": "*" * len(KEY)}


def test_a_whole_answer(captures: Captures, plain: Upstream) -> None:
    """Without a stream there is one chunk."""
    whole = Answer((Send(CHAT.whole_body),), content_type="application/json")
    assert fetch(captures, plain, whole, body=CHAT.whole_request) == CHAT.whole_body
    flow = captures.last()
    assert pieces(flow) == [CHAT.whole_body]
    assert noted(flow)["record"]["streamed"] is False


@BOTH
@pytest.mark.parametrize("how", list(Break))
def test_upstream_breaks(captures: Captures, secure: Upstream, version: str, how: Break) -> None:
    """What came is kept, and how it broke."""
    half = tuple(Send(piece) for piece in CHAT.pieces[:3])
    fetch(captures, secure, Answer((*half, how)), version)
    flow = captures.last()
    # A reset may overtake what was sent before it.
    assert pieces(flow) == list(CHAT.pieces[: len(pieces(flow))])
    assert flow.error is not None
    assert flow.error.msg == noted(flow)["broken"] == noted(flow)["record"]["broken"]


@BOTH
def test_the_client_leaves(captures: Captures, secure: Upstream, version: str) -> None:
    """Captured with what it did not wait for."""
    gate = Gate()
    plan = secure.plan(Answer((Send(CHAT.pieces[0]), Send(CHAT.pieces[1]), Wait(gate))))
    with client(version, way(captures.proxy, secure)) as peer:
        reply = peer.request(CHAT.path, CHAT.body, plan.headers)
        got = reply.piece() + reply.piece()
        reply.leave()
    flow = captures.last()
    gate.open()
    assert b"".join(pieces(flow)) == got
    assert "client" in noted(flow)["broken"].lower() or "cancel" in noted(flow)["broken"].lower()


def test_an_error(captures: Captures, plain: Upstream) -> None:
    """Its status, its headers and its body."""
    refused = Answer((Send(b'{"error":{"message":"slow down"}}'),), 429, "application/json", (("retry-after", "7"),))
    fetch(captures, plain, refused)
    flow = captures.last()
    assert flow.response is not None
    assert (flow.response.status_code, flow.response.headers["retry-after"]) == (429, "7")
    assert pieces(flow) == [b'{"error":{"message":"slow down"}}']


def test_no_answer_at_all(captures: Captures, plain: Upstream) -> None:
    """A request whose upstream nobody can reach."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        free = taken.getsockname()[1]
    with client("h1", replace(way(captures.proxy, plain), upstream=free)) as peer:
        assert peer.request(CHAT.path, CHAT.body, {}).status == 502
    flow = captures.last()
    assert flow.response is None
    assert flow.error is not None
    assert flow.error.msg == noted(flow)["broken"]


def test_other_traffic_is_not_captured(captures: Captures, plain: Upstream) -> None:
    """Neither a page, nor an event stream that is no LLM's."""
    for kind in ("text/html", "text/event-stream"):
        plan = plain.plan(Answer((Send(b"data: 1\n\n"),), content_type=kind))
        with client("h1", way(captures.proxy, plain)) as peer:
            peer.request("/events", b"", plan.headers, "GET").rest()
    fetch(captures, plain, response(CHAT.pieces))
    assert pieces(captures.last()) == list(CHAT.pieces)


def test_what_the_client_got(changing: Captures, plain: Upstream) -> None:
    """Beside what upstream said, where it is something else; findings, changes and faults are in the record."""
    body = json.dumps({**CHAT.request, "model": "cut-it"}).encode()
    for asked, broken in ((CHAT.body, False), (body, True)):
        got = fetch(changing, plain, response(CHAT.pieces), body=asked)
        flow = changing.last()
        record: dict[str, Any] = noted(flow)["record"]
        assert (record["changes"], record["faults"][0]["spec"]) == (["empty-id"], "empty-id")
        assert "empty-id" in {finding["name"] for finding in record["findings"]}
        said = b"".join(CHAT.pieces)
        assert b"".join(pieces(flow)) == said[: len(b"".join(pieces(flow)))]
        assert (flow.error is not None) == broken
        assert noted(flow)["sent"]["body"].startswith(got)
        assert sum(size for _, size in noted(flow)["sent"]["chunks"]) == len(noted(flow)["sent"]["body"])
        if broken:
            assert "cut" in noted(flow)["broken"]
        else:
            assert noted(flow)["sent"]["body"] == got != said


def test_an_answer_without_a_stream_that_was_streamed(destreaming: Captures, plain: Upstream) -> None:
    """Upstream's is the whole one, to the request that it got; the client received events."""
    whole = Answer((Send(CHAT.whole_body),), content_type="application/json")
    got = fetch(destreaming, plain, whole)
    flow = destreaming.last()
    assert pieces(flow) == [CHAT.whole_body]
    assert json.loads(flow.request.content or b"")["stream"] is False
    assert flow.response is not None
    assert flow.response.headers["content-type"] == "application/json"
    assert noted(flow)["sent"]["body"] == got
    assert got.startswith(b"data: ")
    assert len(noted(flow)["sent"]["chunks"]) == got.count(b"\n\n")


def test_the_proxy_is_stopped(proxies: Proxies, plain: Upstream, tmp_path: Path) -> None:
    """What is on its way is captured as far as it came."""
    gate = Gate()
    plan = plain.plan(Answer((Send(CHAT.pieces[0]), Wait(gate))))
    with proxies.make({"toolstream_capture": str(tmp_path)}) as proxy:
        peer = client("h1", way(proxy, plain))
        peer.request(CHAT.path, CHAT.body, plan.headers).piece()
    gate.open()
    peer.close()
    [flow] = captured(tmp_path, 1)
    assert pieces(flow) == [CHAT.pieces[0]]
    assert flow.error is not None
    assert flow.error.msg == noted(flow)["broken"] == "the proxy was stopped"


def test_a_killed_proxy_leaves_no_half_file(proxies: Proxies, plain: Upstream, tmp_path: Path) -> None:
    """Whatever there is reads as a whole flow; the next start clears the rest away."""
    said = response(CHAT.pieces)
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
        assert all(pieces(flow) == list(CHAT.pieces) for flow in written)


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
    second, third = (openai_chat(call_id, "Bern").pieces for call_id in ("call_2", "call_3"))
    try:
        assert fetch(captures, plain, response(CHAT.pieces)) == b"".join(CHAT.pieces)
        line = captures.proxy.wait_for("toolstream_capture: flow .* is not captured: No such file", after=before)
        assert line.endswith("Traffic goes on.")
        assert fetch(captures, plain, response(second)) == b"".join(second)
    finally:
        shutil.copytree(away, captures.folder)
    fetch(captures, plain, response(third))
    # Nothing tells when the second is written: it may be there, too.
    kept = captures.all_until(list(third))
    assert all(one in (list(second), list(third)) for one in kept)
    assert sum("is not captured" in line for line in captures.proxy.output[before:]) == 1
