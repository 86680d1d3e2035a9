"""Flows for tests, created as mitmproxy creates them, and its loop. Knows mitmproxy."""

from __future__ import annotations

import asyncio
import io
import json
from typing import TYPE_CHECKING

from mitmproxy import flow as mitmflow
from mitmproxy import http
from mitmproxy.io import FlowReader, FlowWriter
from mitmproxy.test import tflow, tutils

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CHUNK = (
    b'data: {"object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,'
    b'"id":"c1","function":{"name":"ls","arguments":"{}"}}]},"finish_reason":null}]}\n\n'
)
DONE = b"data: [DONE]\n\n"
SECRET = "sk-verysecretvalue123456"


def llm_flow(content_type: str = "text/event-stream", body: bytes | None = None, **request: object) -> http.HTTPFlow:
    """Return a flow of a chat request with the response's headers, and its body if one is given."""
    flow = tflow.tflow(
        resp=tutils.tresp(content=body, headers=http.Headers([(b"content-type", content_type.encode())]))
    )
    flow.request.method = "POST"
    flow.request.path = "/v1/chat/completions?key=" + SECRET
    flow.request.headers["content-type"] = "application/json"
    flow.request.headers["authorization"] = f"Bearer {SECRET}"
    flow.request.content = json.dumps({"model": "m", "messages": [], "stream": True, **request}).encode()
    flow.live = True
    return flow


def flow_file(*flows: mitmflow.Flow) -> bytes:
    """Return the bytes of a file with these flows, unredacted, as mitmproxy writes it."""
    file = io.BytesIO()
    writer = FlowWriter(file)
    for flow in flows:
        writer.add(flow)
    return file.getvalue()


def flows_in(path: Path) -> list[http.HTTPFlow]:
    """Return the HTTP flows of a file."""
    with path.open("rb") as file:
        return [flow for flow in FlowReader(file).stream() if isinstance(flow, http.HTTPFlow)]


def response_bodies(path: Path) -> list[bytes]:
    """Return the bodies of the responses in a flow file, undecoded."""
    return [flow.response.raw_content or b"" for flow in flows_in(path) if flow.response is not None]


async def wait_until(done: Callable[[], bool]) -> None:
    """Yield to the loop until a condition is true."""
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110 - nothing else tells it
            await asyncio.sleep(0.001)
