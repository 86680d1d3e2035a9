"""Saved flows of Chat Completions for tests. Knows mitmproxy."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mitmproxy import http
from mitmproxy.test import tflow

from tests.proxy.flows import flow_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

STARTED = 946681200.0
"""A fixed time: the bytes of a flow file are reproducible."""
REQUEST = {"model": "m", "messages": [], "stream": True}


def chat_flow(
    body: bytes | None,
    *,
    path: str = "/v1/chat/completions",
    headers: Mapping[str, str] | None = None,
    coding: str | None = None,
) -> http.HTTPFlow:
    """Return a flow of a chat request with these headers and this response body."""
    flow = tflow.tflow(resp=True)
    assert flow.response
    flow.request = http.Request.make("POST", f"https://llm.example.com{path}", json.dumps(REQUEST))
    flow.request.timestamp_start = flow.request.timestamp_end = STARTED
    flow.request.headers.update(headers or {})
    flow.response.headers = http.Headers(content_type="text/event-stream")
    if coding is not None:
        flow.response.headers["content-encoding"] = coding
    flow.response.raw_content = body
    return flow


def text_event(text: str) -> bytes:
    """Return a chunk with one text delta."""
    return b"data: " + json.dumps({"choices": [{"index": 0, "delta": {"content": text}}]}).encode() + b"\n\n"


def save_private(path: Path, *flows: http.HTTPFlow) -> Path:
    """Write flows into a private file and return its path."""
    path.write_bytes(flow_file(*flows))
    path.chmod(0o600)
    return path
