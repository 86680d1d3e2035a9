"""Secrets of a session are not in its document, with any fragments, and the verdicts stay."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest

from toolstream_core.model import StreamFacts
from toolstream_core.saved.exchange import Exchange
from toolstream_core.view.document import ViewBuilder

KEY: Final = "sk-proj-" + "Ab3dEf6hIj9kLmN0pQrStUvWx" * 2
AWS: Final = "AKIA" + "ABCDEFGHIJKLMNOP"
PASSWORD: Final = "-".join(["hunter2"] * 2)
ARGUMENTS: Final = json.dumps({"api_key": KEY, "command": f"export AWS_ACCESS_KEY_ID={AWS}", "password": PASSWORD})


def chunk(payload: dict[str, Any]) -> bytes:
    """A server-sent event."""
    return b"data: " + json.dumps(payload).encode() + b"\n\n"


def delta(finish: str | None = None, **fields: Any) -> bytes:
    """A chunk of Chat Completions."""
    choice = {"index": 0, "delta": fields, "finish_reason": finish}
    return chunk({"object": "chat.completion.chunk", "choices": [choice]})


def split(text: str) -> list[str]:
    """Fragments that contain no secret."""
    return [text[at : at + 5] for at in range(0, len(text), 5)]


def session() -> list[Exchange]:
    """Two exchanges with secrets in the path, messages, text, arguments, an error, and a connection error."""
    head = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "run", "arguments": ""}}
    parts = [delta(tool_calls=[{"index": 0, "function": {"arguments": part}}]) for part in split(ARGUMENTS)]
    texts = [delta(content=part) for part in split(f"Your keys are {KEY} and {AWS}.")]
    error = chunk({"error": {"message": f"Incorrect API key provided: {KEY}"}})
    chunks = [*texts, delta(tool_calls=[head]), *parts, delta("tool_calls"), error]
    call = {"id": "call_1", "type": "function", "function": {"name": "run", "arguments": ARGUMENTS}}
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"My key is {KEY}, my password={PASSWORD}"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "call_1", "content": f"rejected: {KEY} {AWS}"},
    ]
    sent = b"".join(chunks).replace(b'"index": 0, "function"', b'"index": 0, "id": "call_1", "function"')
    broken = f"the connection with {KEY} was reset"
    return [
        Exchange(facts=exchange(0, messages[:1]), chunks=chunks, sent=sent, broken=broken, secrets=(KEY,)),
        Exchange(facts=exchange(1, messages), chunks=[delta("stop", content="Done.")], secrets=(KEY,)),
    ]


def exchange(number: int, messages: list[dict[str, Any]]) -> StreamFacts:
    """A request with these messages."""
    return StreamFacts(
        source=f"x.flow#{number}",
        path=f"/v1/chat/completions?api_key={KEY}",
        content_type="text/event-stream",
        request={"model": "m", "messages": messages, "user_token": KEY},
    )


@pytest.mark.parametrize("raw", [False, True])
def test_secrets(raw: bool) -> None:
    """They are in the document only with `raw`, and the verdict is the same."""
    builder = ViewBuilder(raw=raw)
    for saved in session():
        builder.take(saved)
    document = builder.document([])
    text = json.dumps(document)
    assert [secret in text for secret in (KEY, AWS, PASSWORD)] == [raw] * 3
    first = document["responses"][0]
    returned = first["verdict"]["returned"]
    assert first["verdict"]["verdict"] == "ok"
    assert [one["arguments"] for one in returned] == [one["arguments"] for one in first["calls"]]
    assert first["changed"] == len(split(ARGUMENTS))
    assert document["generated"]["redacted"] is not raw
