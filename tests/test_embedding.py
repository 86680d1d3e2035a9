"""The code of docs/embedding.md repairs the streams that the official SDK reads."""

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
    """A provider that sends a stream with empty ids."""

    def do_POST(self) -> None:
        """Send the stream."""
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(BROKEN)

    def log_message(self, *args: object) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """Return the provider's base URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def page_names() -> dict[str, Any]:
    """Return the names that the page's first code block defines."""
    block = re.search(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {}
    exec(compile(block[1], str(PAGE), "exec"), names)  # noqa: S102 - the project's own page
    return names


def ids(url: str, client: httpx2.Client) -> set[str | None]:
    """Return the ids of the calls that the SDK reads."""
    with client:
        chunks = OpenAI(base_url=url, api_key="none", http_client=client).chat.completions.create(
            model="m", messages=[{"role": "user", "content": "Hi"}], stream=True
        )
        deltas = [choice.delta for chunk in chunks for choice in chunk.choices]
    return {call.id for delta in deltas for call in delta.tool_calls or []}


def test_the_page_s_transport_repairs_streams(url: str) -> None:
    """The SDK receives empty ids without the page's transport, and none with it."""
    assert "" in ids(url, httpx2.Client())
    repaired = ids(url, httpx2.Client(transport=page_names()["RepairingTransport"]()))
    assert "" not in repaired
    assert any(repaired)


def test_an_incomplete_call_ends_with_a_protocol_error() -> None:
    """A response with an incomplete call ends with a protocol error, and a complete response normally."""
    truncated = driven.injected(HEALTHY.body, HEALTHY.exchange, "cut-off-call").out
    names = page_names()
    session = names["Session"](HEALTHY.exchange, names["Settings"](names["SAFE"]))
    with pytest.raises(httpx2.RemoteProtocolError, match="inside a tool call"):
        list(names["RepairedStream"](httpx2.ByteStream(truncated), session))
    complete = names["RepairedStream"](httpx2.ByteStream(HEALTHY.body), names["Session"](HEALTHY.exchange))
    assert b"".join(complete) == HEALTHY.body
