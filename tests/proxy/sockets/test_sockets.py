"""Which sockets are read, what is kept of them, and what a bug of ours costs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import websocket
from mitmproxy.test import taddons, tflow
from wsproto.frame_protocol import Opcode

from toolstream_core.engine.sink import Sink
from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.proxy.sockets.relay import SocketRelay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mitmproxy import http

    from toolstream_core.model import Record

CREATE = {"type": "response.create", "model": "m", "input": "go"}
EVENTS = [
    {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
    {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "hi"},
    {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": []}},
]


class Kept(Sink):
    """Keeps the records of answers."""

    live = False

    def __init__(self) -> None:
        self.records: list[Record] = []

    def ended(self, record: Record) -> None:
        """Of one answer."""
        self.records.append(record)


class Driven:
    """The addon, and a socket through it."""

    def __init__(self, addon: ToolstreamAddon, kept: Kept, context: Any) -> None:
        self.addon = addon
        self.records = kept.records
        self.context = context
        self.flow: http.HTTPFlow = tflow.twebsocketflow()
        assert self.flow.websocket is not None
        self.messages = self.flow.websocket.messages
        self.messages.clear()

    def open(self, path: str) -> None:
        """Open the socket."""
        self.flow.request.path = path
        self.flow.request.method = "GET"
        self.addon.websocket_start(self.flow)

    def say(self, message: Any, *, client: bool = False) -> websocket.WebSocketMessage:
        """Let one side send a message, and see what became of it."""
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        one = websocket.WebSocketMessage(Opcode.TEXT, client, content)
        self.messages.append(one)
        self.addon.websocket_message(self.flow)
        return one

    def close(self) -> None:
        """The provider closes it in order."""
        assert self.flow.websocket is not None
        self.flow.websocket.closed_by_client, self.flow.websocket.close_code = False, 1000
        self.addon.websocket_end(self.flow)


@pytest.fixture
def driven() -> Iterator[Driven]:
    """An addon whose answers are kept."""
    kept = Kept()
    addon = ToolstreamAddon(lambda watch: [kept])  # noqa: ARG005
    with taddons.context(addon) as context:
        context.options.toolstream_log = "off"
        addon.running()
        yield Driven(addon, kept, context)


def test_messages_that_were_told_are_forgotten(driven: Driven) -> None:
    """However many come; the answer is told all the same."""
    driven.open("/v1/responses")
    for _ in range(3):
        driven.say(CREATE, client=True)
        for event in EVENTS:
            driven.say(event)
            assert len(driven.messages) == 1
    assert [(record.events, record.finish) for record in driven.records] == [(3, ["completed"])] * 3


def test_messages_that_are_saved_are_kept(driven: Driven) -> None:
    """By `-w`."""
    driven.context.options.add_option("save_stream_file", str, "all.flow", "")
    driven.open("/v1/responses")
    for message in (CREATE, *EVENTS):
        driven.say(message, client=message is CREATE)
    assert len(driven.messages) == 1 + len(EVENTS)


def test_a_socket_is_known_by_its_first_messages(driven: Driven) -> None:
    """At any path; one that never asks is looked at no more."""
    driven.open("/gateway/socket")
    driven.say({"type": "hello"}, client=True)
    driven.say(CREATE, client=True)
    for event in EVENTS:
        driven.say(event)
    assert [record.dialect for record in driven.records] == ["openai-responses"]
    other = Driven(driven.addon, Kept(), driven.context)
    other.flow.id = "other"
    other.open("/chat")
    for _ in range(8):
        other.say({"type": "hello"}, client=True)
    other.say(CREATE, client=True)
    for event in EVENTS:
        other.say(event)
    assert len(driven.records) == 1
    assert len(other.messages) == 8 + 1 + len(EVENTS)


def test_a_bug_of_ours_costs_no_message(
    driven: Driven, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """They pass as they came, and it is told once."""

    def broken(relay: SocketRelay, message: websocket.WebSocketMessage) -> None:
        raise ZeroDivisionError(relay, message)

    monkeypatch.setattr(SocketRelay, "take", broken)
    driven.open("/v1/responses")
    said = [driven.say(message, client=message is CREATE) for message in (CREATE, *EVENTS)]
    assert not any(one.dropped for one in said)
    assert [json.loads(one.content) for one in said] == [CREATE, *EVENTS]
    [error] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert error == f"toolstream stopped reading the WebSocket {driven.flow.id} and forwards it unchanged"


def test_a_socket_that_cannot_be_read_is_told(driven: Driven, caplog: pytest.LogCaptureFixture) -> None:
    """One of an API that is known, but not over sockets."""
    driven.open("/v1/chat/completions")
    driven.say(EVENTS[0])
    [line] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line == f"toolstream cannot read the WebSocket {driven.flow.id} and forwards it unchanged"


def test_a_socket_that_ends_amid_an_answer(driven: Driven) -> None:
    """Is how that answer broke, where nothing repairs it."""
    driven.open("/v1/responses")
    driven.say(CREATE, client=True)
    for event in EVENTS[:2]:
        driven.say(event)
    driven.close()
    assert [record.broken for record in driven.records] == ["the server closed the WebSocket with code 1000"]


def test_destream_on_a_socket_is_told(driven: Driven, caplog: pytest.LogCaptureFixture) -> None:
    """It has no meaning there."""
    driven.context.options.toolstream_shape = ["destream"]
    driven.open("/v1/responses")
    lines = [record.getMessage() for record in caplog.records]
    assert f"toolstream does not destream the WebSocket {driven.flow.id}: its responses always stream" in lines


def test_an_error_of_realtime_answers_the_request_that_it_names(driven: Driven) -> None:
    """One that names another message, or none, passes; the request that was refused is not taken for a later one."""
    driven.open("/v1/realtime?model=gpt-realtime")
    for name in ("event_a", "event_b"):
        driven.say({"type": "response.create", "event_id": name}, client=True)
    for named in (None, "event_z", "event_a"):
        error = {"type": "server_error", "code": "busy", "message": "come again", "event_id": named}
        driven.say({"type": "error", "event_id": "event_1", "error": error})
    [record] = driven.records
    assert (record.dialect, record.model, record.events) == ("openai-realtime", "gpt-realtime", 1)
    assert record.error is not None
    assert "come again" in record.error
