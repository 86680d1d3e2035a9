"""Requests and responses of the proxy as objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolstream_core.testing.exchanges import proxied_exchange

CALL = {"choice": 0, "position": 0, "kind": "function", "id": "c1", "name": "ls", "arguments": '{"p":1}'}
REPORT: dict[str, Any] = {
    "request": {
        "number": 0,
        "method": "POST",
        "url": "https://h.example/v1/chat/completions?k=1",
        "path": "/v1/chat/completions?k=1",
        "headers": [["X-A", "1"]],
        "body": json.dumps({"model": "m", "messages": [{"role": "tool", "tool_call_id": "c0", "content": "r"}]}),
    },
    "over": True,
    "status": 200,
    "comment": "answered from flows/a.flow#2: exact",
    "replay": {"version": 1, "answer": "exact", "source": "flows/a.flow#2"},
    "record": {
        "calls": [{**CALL, "complete": True, "guessed": False, "events": [1, 2]}],
        "findings": [
            {
                "code": "TS102",
                "name": "empty-id",
                "severity": "warning",
                "event": 3,
                "call": 0,
                "message": "m",
                "repair": None,
            }
        ],
        "finish": ["tool_calls"],
        "broken": None,
    },
}


def test_an_exchange() -> None:
    """Values are attributes and items with the names of the JSON reports."""
    exchange = proxied_exchange(REPORT)
    assert (exchange.request.protocol, exchange.request.model, exchange.request.headers) == (
        "openai-chat",
        "m",
        {"x-a": "1"},
    )
    assert exchange.request.results[0].text == "r"
    assert exchange.request["messages"][0]["content"] == "r"
    assert exchange.request["path"] == "/v1/chat/completions?k=1"
    assert (exchange.source, exchange.response) == ("flows/a.flow#2", "exact")
    [call], [finding] = exchange.calls, exchange.findings
    assert (call.input, call.events, call["name"], dict(call)["id"]) == ({"p": 1}, (1, 2), "ls", "c1")
    assert (finding.name, finding["event"]) == ("empty-id", 3)
    with pytest.raises(KeyError):
        call["nothing"]


def test_an_exchange_without_a_response() -> None:
    """Other traffic has no protocol, and invalid arguments stay text."""
    bare = {"request": {**REPORT["request"], "method": "GET", "body": "<x>"}, "over": False}
    exchange = proxied_exchange(bare)
    assert (exchange.request.protocol, exchange.request.json, exchange.calls, exchange.status) == (None, None, (), None)
    invalid = {**REPORT, "record": {"calls": [{**CALL, "arguments": '{"p"', "complete": False, "events": []}]}}
    assert proxied_exchange(invalid).calls[0].input == '{"p"'
