"""Secrets said over real WebSockets, through a real mitmdump: none is in what is kept of them."""

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
from tests.e2e.harness.trust import server_context, socket_trust
from tests.redaction.test_random_secrets import FREE, SHAPED, split
from toolstream_core.cli.main import main

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.e2e.harness.proxies import Proxies

    type Event = dict[str, Any]

pytestmark = pytest.mark.e2e


class Plants:
    """Texts, each with a secret of the next kind."""

    def __init__(self) -> None:
        self.rng = random.Random(12)
        self.secrets: list[str] = []

    def secret(self) -> str:
        """One by itself."""
        kinds = list(SHAPED.values())
        self.secrets.append(kinds[len(self.secrets) % len(kinds)](self.rng))
        return self.secrets[-1]

    def text(self) -> str:
        """One within a text."""
        return self.rng.choice(FREE).format(self.secret())

    def turns(self, *says: Callable[[str], Event], texts: tuple[str, ...] = ()) -> Iterator[Event]:
        """Texts piece by piece, a piece of each in turn."""
        said = [split(self.rng, text) for text in texts or [self.text() for _ in says]]
        for turn in zip_longest(*said):
            yield from (say(chunk) for say, chunk in zip(says, turn, strict=True) if chunk is not None)


def responses(plants: Plants) -> tuple[Event, list[Event]]:
    """A request and its answer."""
    asked = {"type": "function_call_output", "call_id": "call_0", "output": plants.text()}
    server = {
        "type": "mcp",
        "server_url": f"https://x.example/?key={plants.secret()}",
        "authorization": plants.secret(),
    }
    request: Event = {"type": "response.create", "model": "m", "instructions": plants.text(), "input": [asked]}
    request["tools"] = [server]
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "run"}
    arguments = json.dumps({"command": plants.text(), "key": plants.secret()})
    head, delta = {"output_index": 1, "item_id": "fc_1"}, "response.function_call_arguments"
    response: list[Event] = [
        {
            "type": "response.created",
            "response": {"id": "resp_1", **request, "type": "response", "status": "in_progress"},
        },
        {"type": "response.output_item.added", "output_index": 1, "item": {**item, "arguments": ""}},
        *plants.turns(
            lambda chunk: {"type": f"{delta}.delta", **head, "delta": chunk},
            lambda chunk: {"type": "response.output_text.delta", "output_index": 0, "item_id": "m_1", "delta": chunk},
            texts=(arguments, plants.text()),
        ),
        {"type": f"{delta}.done", **head, "arguments": arguments},
        {"type": "response.failed", "response": {"id": "resp_1", "error": {"message": plants.text()}}},
    ]
    return request, response


def realtime(plants: Plants) -> tuple[Event, list[Event]]:
    """A response, while the user is still written down."""
    request = {"type": "response.create", "response": {"instructions": plants.text(), "metadata": {"a": plants.text()}}}
    said = {"response_id": "resp_1", "item_id": "item_1", "output_index": 0, "content_index": 0}
    heard = {"type": "conversation.item.input_audio_transcription.delta", "item_id": "item_0", "content_index": 0}
    session = {"model": "m", "instructions": plants.text(), "client_secret": {"value": "ek_" + plants.secret()}}
    response: list[Event] = [
        {"type": "session.updated", "session": session},
        {"type": "response.created", "response": {"id": "resp_1"}},
        *plants.turns(
            lambda chunk: {**heard, "delta": chunk},
            lambda chunk: {"type": "response.output_audio_transcript.delta", **said, "delta": chunk},
        ),
        {
            "type": "response.done",
            "response": {"id": "resp_1", "status_details": {"error": {"message": plants.text()}}},
        },
    ]
    return request, [{"event_id": f"event_{at}", **event} for at, event in enumerate(response)]


def gemini_live(plants: Plants) -> tuple[Event, list[Event]]:
    """A turn in three voices, and a call."""
    request = {"clientContent": {"turns": [{"role": "user", "parts": [{"text": plants.text()}]}], "turnComplete": True}}
    call = {"id": "f1", "name": "run", "args": {"command": plants.text(), "env": {"API_TOKEN": plants.secret()}}}
    response = [
        *plants.turns(
            lambda chunk: {"serverContent": {"modelTurn": {"parts": [{"text": chunk}]}}},
            lambda chunk: {"serverContent": {"outputTranscription": {"text": chunk}}},
            lambda chunk: {"serverContent": {"inputTranscription": {"text": chunk}}},
        ),
        {"toolCall": {"functionCalls": [call]}},
    ]
    return request, response


def said_in(event: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Each text of an event, and where it stands."""
    if isinstance(event, str):
        yield path, event
    children = event.items() if isinstance(event, dict) else enumerate(event) if isinstance(event, list) else ()
    for key, value in children:
        yield from said_in(value, f"{path}.{key}")


def everything(body: bytes) -> str:
    """A body as it is, without escapes, and what its lines say of one item piece by piece, joined."""
    joined: defaultdict[tuple[str, str, str], str] = defaultdict(str)
    for line in filter(None, body.split(b"\n")):
        event = json.loads(line)
        for path, text in said_in(event):
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
def test_no_secret_of_a_socket_is_kept(
    proxies: Proxies, pem: Path, tmp_path: Path, path: str, make: Callable[[Plants], tuple[Event, list[Event]]]
) -> None:
    """Of the upgrade, the client, the server and the close; in captures, fixtures of them, reports and the log."""
    plants, folder, rounds = Plants(), tmp_path / "captures", 20
    exchange = [make(plants) for _ in range(rounds)]
    headers = {"authorization": f"Bearer {plants.secret()}", "cookie": f"a={plants.secret()}"}
    headers["sec-websocket-protocol"] = f"realtime, openai-insecure-api-key.{plants.secret()}"
    url, reason = path.format(plants.secret()), f"no such key: {SHAPED['groq'](plants.rng)}"
    plants.secrets.append(reason.split(": ")[1])
    context = server_context(pem)
    context.set_alpn_protocols(["http/1.1"])
    responses = [[json.dumps(event) for event in response] for _, response in exchange]
    with (
        proxies.make({"toolstream_capture": str(folder), "toolstream_log": "calls"}) as proxy,
        SocketServer(context) as server,
    ):
        planned = server.plan(SocketPlan(responses, request_type="", close=1011, reason=reason))
        route: Any = {"proxy": proxy.url, "ssl": socket_trust(proxy.ca), "max_size": None}
        with connect(
            f"wss://127.0.0.1:{server.port}{planned.path}{url}", additional_headers=headers, **route
        ) as client:
            for (request, _), response in zip(exchange, responses, strict=True):
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
    assert len(plants.secrets) > 100
    for secret in plants.secrets:
        assert secret not in log
        assert not any(secret.encode() in one for one in kept)
        assert not any(secret in one for one in bodies)
