"""The error for a request without a saved response."""

from __future__ import annotations

import json

import pytest
from mitmproxy.test import tflow, tutils

from toolstream_core.proxy.worker.network import Guard, Network


@pytest.mark.parametrize(
    ("path", "content", "reason"),
    [
        (b"/v1/chat/completions", b"not json", "the body of POST api.example.com/v1/chat/completions is not JSON"),
        (b"/v1/chat/completions", b"{}", "no saved flow matches POST api.example.com/v1/chat/completions"),
        (b"/upload", b"\x00\x01", "no saved flow matches POST api.example.com/upload"),
    ],
)
def test_the_error_names_the_reason(path: bytes, content: bytes, reason: str) -> None:
    """An unreadable body is the reason only at the path of an LLM API."""
    request = tutils.treq(method=b"POST", host="api.example.com", path=path, content=content)
    flow = tflow.tflow(req=request)
    Guard(Network.NONE).request(flow)
    assert flow.response is not None
    assert json.loads(flow.response.content or b"")["error"]["message"].startswith(f"toolstream: {reason}")
