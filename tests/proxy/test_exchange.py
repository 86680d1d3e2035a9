"""Which request bodies are parsed as JSON."""

from __future__ import annotations

import json

import pytest
from mitmproxy.test import tflow

from tests.proxy.flows import llm_flow
from toolstream_core.model import ABSENT
from toolstream_core.proxy.flow_facts import place_of
from toolstream_core.saved import flow as flows
from toolstream_core.saved.flow import request_json

LONG = 2 * 1024 * 1024
"""Bytes; far more than are read to recognize a request."""
MESSAGES = [{"role": "user", "content": "x" * LONG}]


@pytest.mark.parametrize(
    "body",
    [
        {"rows": [{"model": "m", "messages": [], "name": "x" * 20}] * (LONG // 50)},
        {"file": "x" * LONG, "messages": []},
        [{"model": "m", "messages": MESSAGES}],
    ],
)
def test_a_long_upload_to_another_api_is_not_parsed(body: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsing a long body would block all streams."""
    monkeypatch.setattr(flows, "parse", None)
    flow = llm_flow()
    flow.request.path = "/ingest"
    flow.request.content = json.dumps(body).encode()
    assert request_json(flow.request) is ABSENT


@pytest.mark.parametrize(
    "body",
    [
        {"model": "m", "messages": MESSAGES},
        {"messages": MESSAGES, "model": "m"},
        {"stream": True, "metadata": {"a": "b"}, "input": MESSAGES, "model": "m"},
        {"system": "x" * LONG, "model": "m", "messages": []},
        {"tools": [{"name": "x" * LONG}], "model": "m", "messages": []},
        {"contents": [{"parts": [{"inlineData": {"data": "x" * LONG}}]}]},
    ],
)
@pytest.mark.parametrize("path", ["/unknown", "/v1/chat/completions"])
def test_a_long_request_to_an_llm_is_parsed(path: str, body: object) -> None:
    """A long history or image is parsed at any path and with any order of keys."""
    flow = llm_flow()
    flow.request.path = path
    flow.request.content = json.dumps(body, indent=1).encode()
    assert request_json(flow.request) == body


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:11434/api/chat", "127.0.0.1:11434"),
        ("http://localhost:1234/v1/chat/completions", "localhost:1234"),
        ("http://localhost:8080/v1/chat/completions", "localhost"),
        ("http://h.example/v1", "h.example"),
        ("https://h.example/v1", "h.example"),
        ("https://h.example:8443/v1", "h.example:8443"),
    ],
)
def test_the_log_names_the_port(url: str, shown: str) -> None:
    """The log names the port of a server unless it is the scheme's default or the proxy's own."""
    flow = tflow.tflow()
    flow.request.url = url
    flow.client_conn.sockname = ("127.0.0.1", 8080)
    assert place_of(flow, flow.request.host) == shown
