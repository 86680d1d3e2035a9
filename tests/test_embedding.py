"""The page on embedding: its code, as it stands there, repairs what the official SDK reads."""

from __future__ import annotations

import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
from openai import OpenAI

from tests.conftest import ROOT
from tests.invariants import driven
from tests.invariants.healthy import streams

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = ROOT / "docs" / "embedding.md"
HEALTHY = next(one for one in streams() if str(one) == "openai-chat, fragments")
BROKEN = driven.injected(HEALTHY.body, HEALTHY.exchange, "empty-id").out


class Provider(BaseHTTPRequestHandler):
    """Answers each request with a stream whose ids are empty."""

    def do_POST(self) -> None:
        """Send the stream, and close."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(BROKEN)

    def log_message(self, *args: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Where the provider is."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def page_names() -> dict[str, Any]:
    """What the page's first block of code defines."""
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {}
    exec(compile(block[1], str(PAGE), "exec"), names)  # noqa: S102 - the project's own page
    return names


def ids(url: str, client: httpx2.Client) -> set[str | None]:
    """The ids that the SDK gives to its user."""
    with client:
        chunks = OpenAI(base_url=url, api_key="none", http_client=client).chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    return {call.id for delta in deltas for call in delta.tool_calls or []}


def test_the_transport_of_the_page_repairs(url: str) -> None:
    """Empty ids reach the SDK without it, and none with it."""
    assert "" in ids(url, httpx2.Client())
    repaired = ids(url, httpx2.Client(transport=page_names()["RepairingTransport"]()))
    assert "" not in repaired
    assert any(repaired)


def test_half_a_call_ends_as_a_break() -> None:
    """So that no client runs it; a whole answer ends in order."""
    cut = driven.injected(HEALTHY.body, HEALTHY.exchange, "cut-off-call").out
    names = page_names()
    session = names["Session"](HEALTHY.exchange, names["Settings"](names["SAFE"]))
    with pytest.raises(httpx2.RemoteProtocolError, match="inside a tool call"):
        list(names["RepairedStream"](httpx2.ByteStream(cut), session))
    whole = names["RepairedStream"](httpx2.ByteStream(HEALTHY.body), names["Session"](HEALTHY.exchange))
    assert b"".join(whole) == HEALTHY.body
