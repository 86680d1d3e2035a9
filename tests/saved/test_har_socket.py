from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

from tests.sockets import conversation
from toolstream_core.saved import har
from toolstream_core.saved.exchange import NewBody
from toolstream_core.saved.files import rewritten
from toolstream_core.saved.flow import flow_of, read_flow
from toolstream_core.sockets.lines import line_of
from toolstream_core.sockets.saved import STILL_OPEN

if TYPE_CHECKING:
    from pathlib import Path

    from toolstream_core.sockets.saved import SavedMessage


def entry(messages: list[SavedMessage], *, binary: bool = False) -> dict[str, Any]:
    """Return a socket as Chrome exports it."""
    messages_ = [
        {
            "type": "send" if message.from_client else "receive",
            "time": message.at,
            "opcode": 2 if binary else 1,
            "data": base64.b64encode(message.data).decode() if binary else message.data.decode(),
        }
        for message in messages
    ]
    headers = [{"name": "Sec-WebSocket-Key", "value": "x"}, {"name": "Authorization", "value": "Bearer hidden-value"}]
    request = {"method": "GET", "url": "wss://api.openai.com/v1/responses", "headers": headers}
    return {"request": request, "response": {"status": 101, "headers": []}, "_webSocketMessages": messages_}


def document(*entries: dict[str, Any]) -> bytes:
    """Return a HAR file."""
    return json.dumps({"log": {"entries": entries}}).encode()


def test_each_response_of_a_socket_is_read() -> None:
    """Text and binary messages give the same requests, messages and times."""
    for binary in (False, True):
        data = document({"request": {}, "response": {}}, entry(conversation.two_responses(), binary=binary))
        _, first, second = har.exchanges(data, "a.har")
        assert [first.facts.source, second.facts.source] == ["a.har#1.1", "a.har#1.2"]
        assert (first.facts.host, first.facts.path) == ("api.openai.com", "/v1/responses")
        assert first.secrets == ("Bearer hidden-value", "hidden-value")
        message = conversation.two_responses()[1]
        assert (next(iter(first.chunks)), list(first.times)[:2]) == (line_of(message.data), [0, 10])
        assert (first.broken, first.began) == (None, conversation.BEGUN)


def test_a_socket_response_is_read_as_a_post() -> None:
    """It can be converted to a flow and replayed."""
    _, response = har.exchanges(document(entry(conversation.two_responses()[:-1])), "a.har")
    assert (response.method, response.url, response.facts.status) == (
        "POST",
        "https://api.openai.com/v1/responses",
        200,
    )
    assert json.loads(response.request_body)["stream"] is True
    assert response.broken == STILL_OPEN
    assert b"".join(chunk.data for chunk in response.timed_chunks) == response.body != b""
    assert [name for name, _ in response.request_headers] == ["Authorization", "content-type"]


def test_other_sockets_are_ordinary_entries() -> None:
    """Messages of an unknown form are ignored."""
    other = entry([]) | {"_webSocketMessages": [{"type": "send", "data": 1}, None]}
    other["request"]["url"] = "wss://example.com/chat"
    [exchange] = har.exchanges(document(other), "a.har")
    assert exchange.facts.source == "a.har#0"
    [exchange] = har.exchanges(document(other | {"_webSocketMessages": 1}), "a.har")
    assert exchange.facts.source == "a.har#0"
    broken = entry([]) | {"_webSocketMessages": [{"type": "receive", "opcode": 2, "data": "=", "time": None}]}
    assert list(har.exchanges(document(broken), "a.har")) == []


def test_a_rewritten_socket_keeps_its_other_messages(tmp_path: Path) -> None:
    """Changed messages replace the old ones."""
    path, new = tmp_path / "a.har", b'{"x":1}\n'
    for binary in (False, True):
        before = entry(conversation.two_responses(), binary=binary)
        path.write_bytes(document(before))
        same = rewritten(str(path), lambda saved: NewBody([*saved.chunks, b""]), lambda *_: b"")
        assert json.loads(same) == json.loads(document(before))
        changed = rewritten(str(path), lambda saved: NewBody([b"", *list(saved.chunks)[1:], new]), lambda *_: b"")
        after = json.loads(changed)["log"]["entries"][0][har.MESSAGES]
        kept = [message for at, message in enumerate(before[har.MESSAGES]) if at != 1]
        assert after[:10] == kept[:10]
        assert (base64.b64decode(after[-1]["data"]) if binary else after[-1]["data"].encode()) == b'{"x":1}'


def test_messages_with_line_breaks_are_kept() -> None:
    """The line breaks are stored next to the lines."""
    data = document(entry(conversation.pretty(conversation.two_responses())))
    fixtures = [read_flow(flow_of(exchange), exchange.source) for exchange in har.exchanges(data, "a.har")]
    messages = {
        message
        for fixture in fixtures
        if fixture is not None
        for message in fixture.line_ends.messages(chunk.data for chunk in fixture.chunks).values()
    }
    pretty = [message.data for message in conversation.pretty(conversation.two_responses()) if b"\n" in message.data]
    assert messages == set(pretty)
    assert len(pretty) > 5
