"""A truncated response is visible to clients that read until the connection closes: the last HTTP chunk is missing."""

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
INCOMPLETE = CHAT.chunks[:3]
CLOSE = (("connection", "close"),)
CASES = {
    "repair, until the end": ({"toolstream_repair": "safe"}, event_stream(INCOMPLETE, framing=Framing.CLOSE)),
    "repair, in chunks": ({"toolstream_repair": "safe"}, replace(event_stream(INCOMPLETE), headers=CLOSE)),
    "fault, until the end": ({"toolstream_fault": "cut:at=event:3"}, event_stream(CHAT.chunks, framing=Framing.CLOSE)),
    "fault, in chunks": ({"toolstream_fault": "cut:at=event:3"}, replace(event_stream(CHAT.chunks), headers=CLOSE)),
}
BROKEN = pytest.mark.parametrize("case", CASES)
FETCH = """
const [url, body, headers] = JSON.parse(process.argv[1]);
const result = { text: "", complete: false };
const response = await fetch(url, { method: "POST", body, headers });
try {
  const decoder = new TextDecoder();
  for await (const chunk of response.body) result.text += decoder.decode(chunk, { stream: true });
  result.complete = true;
} catch {}
console.log(JSON.stringify(result));
"""


def raw(proxy: Mitmdump, upstream: Upstream, planned: Response, version: str) -> tuple[bytes, bytes]:
    """The bytes of head and body of a response, read until the connection closes."""
    plan = upstream.plan(planned)
    path = route(proxy, upstream)
    fields = {"host": path.authority, "content-length": str(len(CHAT.body)), **plan.headers}
    lines = [
        f"POST http://{path.authority}{CHAT.path} {version}",
        *(f"{name}: {value}" for name, value in fields.items()),
    ]
    received = b""
    with path.connect() as peer:
        peer.settimeout(PATIENCE)
        peer.sendall("\r\n".join([*lines, "", ""]).encode() + CHAT.body)
        while chunk := peer.recv(65536):
            received += chunk
    head, _, body = received.partition(b"\r\n\r\n")
    return head.lower(), body


@BROKEN
def test_a_truncated_response_has_no_last_chunk(proxies: Proxies, plain: Upstream, case: str) -> None:
    """A truncated response is chunked, lacks the last HTTP chunk, and does not have `connection: close`."""
    options, planned = CASES[case]
    head, body = raw(proxies.get(**options), plain, planned, "HTTP/1.1")
    assert head.startswith(b"http/1.1 200")
    assert b"transfer-encoding: chunked" in head
    assert b"connection: close" not in head
    assert all(chunk.strip() in body for chunk in INCOMPLETE)
    assert not body.endswith(b"0\r\n\r\n")


@BROKEN
def test_a_truncated_http_1_0_response_is_reset(proxies: Proxies, plain: Upstream, case: str) -> None:
    """Over HTTP/1.0 the connection's end is the body's end: a truncated response ends with a reset."""
    options, planned = CASES[case]
    with pytest.raises(ConnectionResetError):
        raw(proxies.get(**options), plain, planned, "HTTP/1.0")


def fetch_with_node(proxy: Mitmdump, upstream: Upstream, planned: Response) -> Mapping[str, object]:
    """The text that Node's fetch reads, and whether the response was complete."""
    plan = upstream.plan(planned)
    headers = {"content-type": "application/json", **plan.headers}
    arguments = json.dumps([f"http://127.0.0.1:{proxy.port}{CHAT.path}", CHAT.body.decode(), headers])
    done = subprocess.run(
        ("node", "--input-type=module", "-e", FETCH, arguments),
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    result: Mapping[str, object] = json.loads(done.stdout)
    return result


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@BROKEN
def test_node_fetch_fails_at_a_truncated_response(proxies: Proxies, plain: Upstream, case: str) -> None:
    """Node's fetch raises at a truncated response, and returns a complete one."""
    options, planned = CASES[case]
    mode = f"reverse:http://127.0.0.1:{plain.port}"
    result = fetch_with_node(proxies.get(mode, **options), plain, planned)
    assert str(result["text"]).encode() in b"".join(INCOMPLETE)
    assert result["complete"] is False
    complete = replace(planned, steps=event_stream(CHAT.chunks).steps)
    result = fetch_with_node(proxies.get(mode, toolstream_repair="safe"), plain, complete)
    assert result == {"text": b"".join(CHAT.chunks).decode(), "complete": True}
