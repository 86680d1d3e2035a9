"""Known secrets of each kind through a mitmdump: toolstream neither writes nor prints them."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any
from urllib.parse import quote_plus

import pytest

from tests.e2e.harness.captures import captured, upstream_chunks
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.script import event_stream
from tests.redaction.test_known import HEADERS, PARAMETERS, TEXTS, Sample
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

SECRET_ROWS = [row for row in TEXTS if row.secrets]
EACH = list({row.kind: row for row in reversed(SECRET_ROWS)}.values())
"""The first sample of each kind."""
LINKS = [row for row in SECRET_ROWS if re.fullmatch(r"https://\S+", row.text)]
NAMED = [row for row in (*HEADERS, *PARAMETERS) if row.secrets]
DELTA = 5
"""The number of characters in each event."""


def headers() -> dict[str, str]:
    """Headers that are secret by name, and harmless header names with a secret in the value."""
    texts = [row.text for row in EACH if row.text.isascii() and "\n" not in row.text]
    named = dict(row.text.split(": ", 1) for row in HEADERS if row.secrets)
    return {**named, **{f"x-note-{number}": text for number, text in enumerate(texts)}}


def query() -> str:
    """Parameters that are secret by name, and harmless parameters with a URL that has a secret."""
    links = [quote_plus(row.text) for row in LINKS]
    return "&".join([*(row.text for row in PARAMETERS if row.secrets), *(f"next={link}" for link in links)])


def request() -> bytes:
    """A request with the texts as user messages, arguments and tool results."""
    messages: list[dict[str, Any]] = [{"role": "user", "content": row.text} for row in EACH]
    for number, row in enumerate(EACH):
        function = {"name": "note", "arguments": json.dumps({"text": row.text})}
        call = {"id": f"call_{number}", "type": "function", "function": function}
        messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": row.text})
    return json.dumps({"model": "m", "stream": True, "messages": messages}).encode()


def stream() -> Iterator[bytes]:
    """A stream with each text in its own choice and in a call's arguments; a few characters of each in turn."""
    yield from (event({"index": 0, "delta": {"tool_calls": [entry(at, "", first=True)]}}) for at in range(len(EACH)))
    for turn in zip_longest(*(cut(row.text) for row in EACH)):
        yield from (event({"index": at + 1, "delta": {"content": chunk}}) for at, chunk in enumerate(turn) if chunk)
    for turn in zip_longest(*(cut(json.dumps({"text": row.text})) for row in EACH)):
        entries = (entry(at, chunk) for at, chunk in enumerate(turn) if chunk)
        yield from (event({"index": 0, "delta": {"tool_calls": [one]}}) for one in entries)
    for at in range(len(EACH) + 1):
        yield event({"index": at, "delta": {}, "finish_reason": "stop" if at else "tool_calls"})
    yield b"data: [DONE]\n\n"


def cut(text: str) -> list[str]:
    """Split a text into small parts."""
    return [text[at : at + DELTA] for at in range(0, len(text), DELTA)]


def entry(index: int, arguments: str, *, first: bool = False) -> dict[str, Any]:
    """A fragment of a call."""
    head = {"id": f"call_new_{index}", "type": "function"} if first else {}
    name = {"name": "note"} if first else {}
    return {"index": index, **head, "function": {**name, "arguments": arguments}}


def event(choice: dict[str, Any]) -> bytes:
    """A chunk of Chat Completions."""
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}
    return b"data: " + json.dumps(chunk).encode() + b"\n\n"


def joined(body: bytes) -> str:
    """The texts and arguments of a stream, each joined."""
    found: defaultdict[tuple[str, int], str] = defaultdict(str)
    for line in body.decode().split("\n\n"):
        if line.startswith("data: {"):
            [choice] = json.loads(line.removeprefix("data: "))["choices"]
            found["text", choice["index"]] += choice["delta"].get("content") or ""
            for one in choice["delta"].get("tool_calls") or []:
                found["call", one["index"]] += one["function"]["arguments"]
    assert len(found) > 2 * len(EACH)
    return "\n".join(found.values())


def shown(rows: Iterable[Sample], text: str) -> list[tuple[str, str]]:
    """The secrets in a text, also in JSON, in nested JSON, and in a URL."""
    secrets = ((row.kind, secret) for row in rows for secret in row.secrets)
    return [(kind, secret) for kind, secret in secrets if any(form in text for form in forms(secret))]


def forms(secret: str) -> set[str]:
    """The possible encodings of a secret."""
    once = json.dumps(secret)[1:-1]
    return {secret, once, json.dumps(once)[1:-1], quote_plus(secret)}


def test_no_known_secret_is_written_or_printed(
    proxies: Proxies, plain: Upstream, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Secrets in headers, query, body and stream are not in captures, log, JSON Lines, `inspect` and `report`."""
    folder, lines = tmp_path / "captures", tmp_path / "lines.jsonl"
    options = {"toolstream_capture": str(folder), "toolstream_jsonl": str(lines), "toolstream_log": "chunks"}
    with proxies.make(options) as proxy:
        plan = plain.plan(event_stream(stream()))
        with client("h1", route(proxy, plain)) as connection:
            reply = connection.request(f"/v1/chat/completions?{query()}", request(), {**headers(), **plan.headers})
            response_body = reply.rest()
        sent = f"{plan.request.target}\n{plan.request.headers}\n{plan.request.body.decode()}\n{joined(response_body)}"
        [flow] = captured(folder, 1)
        proxy.wait_for(r"events, \d+ calls")
        log = "\n".join(proxy.output)
    printed: list[str] = []
    for words in (["inspect", "--chunks"], ["inspect", "--format", "json"], ["report"]):
        [file] = folder.iterdir()
        assert main([*words, str(file)]) in {0, 1}
        printed += capsys.readouterr()
    assert "call_new_1" in log
    assert "call_new_1" in lines.read_text()
    assert all("call_new_1" in text for text in printed[::2])
    saved = [file.read_bytes().decode("utf-8", "replace") for file in (*folder.iterdir(), lines)]
    rows = [*EACH, *LINKS, *NAMED]
    assert len(shown(rows, sent)) == sum(len(row.secrets) for row in rows) >= 60
    assert not [
        found
        for text in (log, *printed, *saved, joined(b"".join(upstream_chunks(flow))))
        for found in shown(rows, text)
    ]
