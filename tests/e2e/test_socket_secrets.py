"""Secrets in the messages of WebSockets through a mitmdump: none is in captures, reports or the log."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.e2e.harness.captures import captured, upstream_chunks
from tests.e2e.harness.socket_server import SocketPlan, SocketServer
from tests.e2e.harness.trust import socket_trust
from tests.redaction.test_random_secrets import FREE, SHAPED, split
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.harness.proxies import Proxies

    type Event = dict[str, Any]

pytestmark = pytest.mark.e2e


class SecretTexts:
    """Generates secrets and texts with secrets, of alternating kinds."""

    def __init__(self) -> None:
        self.rng = random.Random(12)
        self.secrets: list[str] = []

    def secret(self) -> str:
        """A new secret."""
        kinds = list(SHAPED.values())
        self.secrets.append(kinds[len(self.secrets) % len(kinds)](self.rng))
        return self.secrets[-1]

    def text(self) -> str:
        """A text with a new secret."""
        return self.rng.choice(FREE).format(self.secret())

    def turns(self, *events: Callable[[str], Event], texts: tuple[str, ...] = ()) -> Iterator[Event]:
        """The fragments of several texts as events, interleaved."""
        fragments = [split(self.rng, text) for text in texts or [self.text() for _ in events]]
        for turn in zip_longest(*fragments):
            yield from (event(chunk) for event, chunk in zip(events, turn, strict=True) if chunk is not None)


def responses(texts: SecretTexts) -> tuple[Event, list[Event]]:
    """A request of Responses, and its response."""
    result = {"type": "function_call_output", "call_id": "call_0", "output": texts.text()}
    server = {
        "type": "mcp",
        "server_url": f"https://x.example/?key={texts.secret()}",
        "authorization": texts.secret(),
    }
    request: Event = {"type": "response.create", "model": "m", "instructions": texts.text(), "input": [result]}
    request["tools"] = [server]
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "run"}
    arguments = json.dumps({"command": texts.text(), "key": texts.secret()})
    head, delta = {"output_index": 1, "item_id": "fc_1"}, "response.function_call_arguments"
    response: list[Event] = [
        {
            "type": "response.created",
            "response": {"id": "resp_1", **request, "type": "response", "status": "in_progress"},
        },
        {"type": "response.output_item.added", "output_index": 1, "item": {**item, "arguments": ""}},
        *texts.turns(
            lambda chunk: {"type": f"{delta}.delta", **head, "delta": chunk},
            lambda chunk: {"type": "response.output_text.delta", "output_index": 0, "item_id": "m_1", "delta": chunk},
            texts=(arguments, texts.text()),
        ),
        {"type": f"{delta}.done", **head, "arguments": arguments},
        {"type": "response.failed", "response": {"id": "resp_1", "error": {"message": texts.text()}}},
    ]
    return request, response


def realtime(texts: SecretTexts) -> tuple[Event, list[Event]]:
    """A request of Realtime, and a response during the transcription of the user's audio."""
    request = {"type": "response.create", "response": {"instructions": texts.text(), "metadata": {"a": texts.text()}}}
    output = {"response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0}
    transcription = {
        "type": "conversation.item.input_audio_transcription.delta",
        "item_id": "item_0",
        "content_index": 0,
    }
    session = {"model": "m", "instructions": texts.text(), "client_secret": {"value": "ek_" + texts.secret()}}
    response: list[Event] = [
        {"type": "session.updated", "session": session},
        {"type": "response.created", "response": {"id": "resp_1"}},
        *texts.turns(
            lambda chunk: {**transcription, "delta": chunk},
            lambda chunk: {"type": "response.output_audio_transcript.delta", **output, "delta": chunk},
        ),
        {
            "type": "response.done",
            "response": {"id": "resp_1", "status_details": {"error": {"message": texts.text()}}},
        },
    ]
    return request, [{"event_id": f"event_{at}", **event} for at, event in enumerate(response)]


def gemini_live(texts: SecretTexts) -> tuple[Event, list[Event]]:
    """A turn of Gemini Live with text and two transcriptions, and a call."""
    request = {"clientContent": {"turns": [{"role": "user", "parts": [{"text": texts.text()}]}], "turnComplete": True}}
    call = {"id": "f1", "name": "run", "args": {"command": texts.text(), "env": {"API_TOKEN": texts.secret()}}}
    response = [
        *texts.turns(
            lambda chunk: {"serverContent": {"modelTurn": {"parts": [{"text": chunk}]}}},
            lambda chunk: {"serverContent": {"outputTranscription": {"text": chunk}}},
            lambda chunk: {"serverContent": {"inputTranscription": {"text": chunk}}},
        ),
        {"toolCall": {"functionCalls": [call]}},
    ]
    return request, response


def texts_of(event: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each text of an event, with its path."""
    if isinstance(event, str):
        yield path, event
    children = event.items() if isinstance(event, dict) else enumerate(event) if isinstance(event, list) else ()
    for key, value in children:
        yield from texts_of(value, f"{path}.{key}")


def everything(body: bytes) -> str:
    """A body, its texts joined for each item, and both without escapes."""
    joined: defaultdict[tuple[str, str, str], str] = defaultdict(str)
    for line in filter(None, body.split(b"\n")):
        event = json.loads(line)
        for path, text in texts_of(event):
            joined[event.get("type", ""), event.get("item_id", ""), path] += text
    texts = [body.decode(), *joined.values()]
    return "\n".join([*texts, *(text.replace("\\n", "").replace("\\t", "").replace("\\", "") for text in texts)])


@pytest.mark.parametrize(
    ("path", "make"),
    [
        ("/v1/responses?api_key={}", responses),
        ("/v1/realtime?model=m&api-key={}", realtime),
        ("/ws/x.GenerativeService.BidiGenerateContent?key={}", gemini_live),
    ],
)
def test_secrets_of_a_socket_are_redacted(
    proxies: Proxies,
    sockets: SocketServer,
    tmp_path: Path,
    path: str,
    make: Callable[[SecretTexts], tuple[Event, list[Event]]],
) -> None:
    """Secrets of the upgrade, of messages and of the close reason are not in captures, fixtures, reports or the log."""
    texts, folder, rounds = SecretTexts(), tmp_path / "captures", 20
    exchanges = [make(texts) for _ in range(rounds)]
    headers = {"authorization": f"Bearer {texts.secret()}", "cookie": f"a={texts.secret()}"}
    headers["sec-websocket-protocol"] = f"realtime, openai-insecure-api-key.{texts.secret()}"
    url, reason = path.format(texts.secret()), f"no such key: {SHAPED['groq'](texts.rng)}"
    texts.secrets.append(reason.split(": ")[1])
    responses = [[json.dumps(event) for event in response] for _, response in exchanges]
    with proxies.make({"toolstream_capture": str(folder), "toolstream_log": "calls"}) as proxy:
        planned = sockets.plan(SocketPlan(responses, request_type="", close=1011, reason=reason))
        route: Any = {"proxy": proxy.url, "ssl": socket_trust(proxy.ca), "max_size": None}
        with connect(
            f"wss://127.0.0.1:{sockets.port}{planned.path}{url}", additional_headers=headers, **route
        ) as client:
            for (request, _), response in zip(exchanges, responses, strict=True):
                client.send(json.dumps(request))
                assert [client.recv(20) for _ in response] == response
            with pytest.raises(ConnectionClosed):
                client.recv(20)
        flows = captured(folder, rounds)
        log = "\n".join(proxy.output)
    assert main(["extract", str(folder), "-o", str(tmp_path / "fixtures"), "--each", "flow"]) == 0
    for file in sorted(folder.iterdir())[:3]:
        assert main(["report", str(file), "-o", str(tmp_path / "fixtures" / f"{file.stem}.md")]) == 0
    kept = [file.read_bytes() for file in (*folder.iterdir(), *(tmp_path / "fixtures").iterdir())]
    bodies = [everything(b"".join(upstream_chunks(flow))) + everything(flow.request.content or b"") for flow in flows]
    assert len(texts.secrets) > 100
    for secret in texts.secrets:
        assert secret not in log
        assert not any(secret.encode() in one for one in kept)
        assert not any(secret in one for one in bodies)
