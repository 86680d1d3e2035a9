"""A break is one for clients that also take a connection's end for a body's: chunks alone tell when it is over."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.proxies import Proxies, route
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import PATIENCE, Framing, Response, event_stream

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

CHAT = openai_chat("call_1", "Bern")
HALF = CHAT.chunks[:3]
CLOSE = (("connection", "close"),)
CASES = {
    "repair, until the end": ({"toolstream_repair": "safe"}, event_stream(HALF, framing=Framing.CLOSE)),
    "repair, in chunks": ({"toolstream_repair": "safe"}, replace(event_stream(HALF), headers=CLOSE)),
    "fault, until the end": ({"toolstream_fault": "cut:at=event:3"}, event_stream(CHAT.chunks, framing=Framing.CLOSE)),
    "fault, in chunks": ({"toolstream_fault": "cut:at=event:3"}, replace(event_stream(CHAT.chunks), headers=CLOSE)),
}
BROKEN = pytest.mark.parametrize("case", CASES)
FETCH = """
const [url, body, headers] = JSON.parse(process.argv[1]);
const told = { text: "", whole: false };
const response = await fetch(url, { method: "POST", body, headers });
try {
  const decoder = new TextDecoder();
  for await (const chunk of response.body) told.text += decoder.decode(chunk, { stream: true });
  told.whole = true;
} catch {}
console.log(JSON.stringify(told));
"""


def raw(proxy: Mitmdump, upstream: Upstream, planned: Response, version: str) -> tuple[bytes, bytes]:
    """Head and body of an answer as they cross the wire, until the connection ends."""
    plan = upstream.plan(planned)
    path = route(proxy, upstream)
    fields = {"host": path.authority, "content-length": str(len(CHAT.body)), **plan.headers}
    lines = [
        f"POST http://{path.authority}{CHAT.path} {version}",
        *(f"{name}: {value}" for name, value in fields.items()),
    ]
    came = b""
    with path.connect() as peer:
        peer.settimeout(PATIENCE)
        peer.sendall("\r\n".join([*lines, "", ""]).encode() + CHAT.body)
        while chunk := peer.recv(65536):
            came += chunk
    head, _, body = came.partition(b"\r\n\r\n")
    return head.lower(), body


@BROKEN
def test_no_last_chunk_comes(proxies: Proxies, plain: Upstream, case: str) -> None:
    """Nor does the head say that the connection ends the body."""
    options, planned = CASES[case]
    head, body = raw(proxies.get(**options), plain, planned, "HTTP/1.1")
    assert head.startswith(b"http/1.1 200")
    assert b"transfer-encoding: chunked" in head
    assert b"connection: close" not in head
    assert all(chunk.strip() in body for chunk in HALF)
    assert not body.endswith(b"0\r\n\r\n")


@BROKEN
def test_http_1_0_is_reset(proxies: Proxies, plain: Upstream, case: str) -> None:
    """There a connection's end is the body's, so that only a reset is a break."""
    options, planned = CASES[case]
    with pytest.raises(ConnectionResetError):
        raw(proxies.get(**options), plain, planned, "HTTP/1.0")


def fetched(proxy: Mitmdump, upstream: Upstream, planned: Response) -> Mapping[str, object]:
    """What Node's fetch makes of an answer."""
    plan = upstream.plan(planned)
    headers = {"content-type": "application/json", **plan.headers}
    asked = json.dumps([f"http://127.0.0.1:{proxy.port}{CHAT.path}", CHAT.body.decode(), headers])
    done = subprocess.run(
        ("node", "--input-type=module", "-e", FETCH, asked),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    told: Mapping[str, object] = json.loads(done.stdout)
    return told


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@BROKEN
def test_nodes_fetch_sees_it(proxies: Proxies, plain: Upstream, case: str) -> None:
    """It takes a whole answer for whole, and half of one for broken."""
    options, planned = CASES[case]
    mode = f"reverse:http://127.0.0.1:{plain.port}"
    told = fetched(proxies.get(mode, **options), plain, planned)
    assert str(told["text"]).encode() in b"".join(HALF)
    assert told["whole"] is False
    whole = replace(planned, steps=event_stream(CHAT.chunks).steps)
    told = fetched(proxies.get(mode, toolstream_repair="safe"), plain, whole)
    assert told == {"text": b"".join(CHAT.chunks).decode(), "whole": True}
