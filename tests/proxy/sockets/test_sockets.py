"""Which sockets are read, which messages are kept, and the effect of internal errors."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from mitmproxy import websocket
from mitmproxy.test import taddons, tflow
from wsproto.frame_protocol import Opcode

from tests.proxy.sinks import RecordSink
from toolstream_core.proxy.addon import ToolstreamAddon
from toolstream_core.proxy.sockets.relay import SocketRelay

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mitmproxy import http

CREATE = {"type": "response.create", "model": "m", "input": "go"}
EVENTS = [
    {"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}},
    {"type": "response.output_text.delta", "item_id": "m", "output_index": 0, "content_index": 0, "delta": "hi"},
    {"type": "response.completed", "response": {"id": "resp_1", "status": "completed", "output": []}},
]


class SocketThroughAddon:
    """The addon with one socket through it."""

    def __init__(self, addon: ToolstreamAddon, sink: RecordSink, context: Any) -> None:
        self.addon = addon
        self.records = sink.records
        self.context = context
        self.flow: http.HTTPFlow = tflow.twebsocketflow()
        assert self.flow.websocket is not None
        self.messages = self.flow.websocket.messages
        self.messages.clear()

    def open(self, path: str) -> None:
        self.flow.request.path = path
        self.flow.request.method = "GET"
        self.addon.websocket_start(self.flow)

    def send(self, message: Any, *, client: bool = False) -> websocket.WebSocketMessage:
        """Send a message from one side and return it as it was after the addon."""
        content = message if isinstance(message, bytes) else json.dumps(message).encode()
        sent = websocket.WebSocketMessage(Opcode.TEXT, client, content)
        self.messages.append(sent)
        self.addon.websocket_message(self.flow)
        return sent

    def close(self) -> None:
        """Close the socket in order from the provider's side."""
        assert self.flow.websocket is not None
        self.flow.websocket.closed_by_client, self.flow.websocket.close_code = False, 1000
        self.addon.websocket_end(self.flow)


@pytest.fixture
def socket() -> Iterator[SocketThroughAddon]:
    """Yield a socket through an addon whose records are kept."""
    sink = RecordSink()
    addon = ToolstreamAddon(lambda watch: [sink])  # noqa: ARG005
    with taddons.context(addon) as context:
        context.options.toolstream_log = "off"
        addon.running()
        yield SocketThroughAddon(addon, sink, context)


def test_logged_messages_are_removed(socket: SocketThroughAddon) -> None:
    """Responses are logged although the flow keeps only the last message."""
    socket.open("/v1/responses")
    for _ in range(3):
        socket.send(CREATE, client=True)
        for event in EVENTS:
            socket.send(event)
            assert len(socket.messages) == 1
    assert [(record.events, record.finish) for record in socket.records] == [(3, ["completed"])] * 3


def test_messages_are_kept_for_a_flow_file(socket: SocketThroughAddon) -> None:
    """With `-w`, the flow keeps all messages."""
    socket.context.options.add_option("save_stream_file", str, "all.flow", "")
    socket.open("/v1/responses")
    for message in (CREATE, *EVENTS):
        socket.send(message, client=message is CREATE)
    assert len(socket.messages) == 1 + len(EVENTS)


def test_a_socket_is_recognized_by_its_first_messages(socket: SocketThroughAddon) -> None:
    """The path does not matter; a socket without an early request is not read."""
    socket.open("/gateway/socket")
    socket.send({"type": "hello"}, client=True)
    socket.send(CREATE, client=True)
    for event in EVENTS:
        socket.send(event)
    assert [record.protocol for record in socket.records] == ["openai-responses"]
    other = SocketThroughAddon(socket.addon, RecordSink(), socket.context)
    other.flow.id = "other"
    other.open("/chat")
    for _ in range(8):
        other.send({"type": "hello"}, client=True)
    other.send(CREATE, client=True)
    for event in EVENTS:
        other.send(event)
    assert len(socket.records) == 1
    assert len(other.messages) == 8 + 1 + len(EVENTS)


def test_an_internal_error_loses_no_message(
    socket: SocketThroughAddon, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Messages are forwarded unchanged, and the error is logged once."""

    def broken(relay: SocketRelay, message: websocket.WebSocketMessage) -> None:
        raise ZeroDivisionError(relay, message)

    monkeypatch.setattr(SocketRelay, "take", broken)
    socket.open("/v1/responses")
    messages = [socket.send(message, client=message is CREATE) for message in (CREATE, *EVENTS)]
    assert not any(message.dropped for message in messages)
    assert [json.loads(message.content) for message in messages] == [CREATE, *EVENTS]
    [error] = [record.getMessage() for record in caplog.records if record.levelname == "ERROR"]
    assert error == f"toolstream stopped reading the WebSocket {socket.flow.id} and forwards it unchanged"


def test_an_unsupported_socket_is_logged(socket: SocketThroughAddon, caplog: pytest.LogCaptureFixture) -> None:
    """A warning names a socket of an API that toolstream reads over HTTP only."""
    socket.open("/v1/chat/completions")
    socket.send(EVENTS[0])
    [line] = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert line == f"toolstream cannot read the WebSocket {socket.flow.id} and forwards it unchanged"


def test_a_socket_that_is_closed_inside_a_response(socket: SocketThroughAddon) -> None:
    """The response has the close code as its error."""
    socket.open("/v1/responses")
    socket.send(CREATE, client=True)
    for event in EVENTS[:2]:
        socket.send(event)
    socket.close()
    assert [record.broken for record in socket.records] == ["the server closed the WebSocket with code 1000"]


def test_destream_on_a_socket_is_logged(socket: SocketThroughAddon, caplog: pytest.LogCaptureFixture) -> None:
    """Responses on a socket always stream."""
    socket.context.options.toolstream_shape = ["destream"]
    socket.open("/v1/responses")
    lines = [record.getMessage() for record in caplog.records]
    assert f"toolstream does not destream the WebSocket {socket.flow.id}: its responses always stream" in lines


def test_a_realtime_error_belongs_to_the_request_that_it_names(socket: SocketThroughAddon) -> None:
    """An error for another message or for none is forwarded, and a rejected request gets no later response."""
    socket.open("/v1/realtime?model=gpt-realtime")
    for name in ("event_a", "event_b"):
        socket.send({"type": "response.create", "event_id": name}, client=True)
    for named in (None, "event_z", "event_a"):
        error = {"type": "server_error", "code": "busy", "message": "come again", "event_id": named}
        socket.send({"type": "error", "event_id": "event_1", "error": error})
    [record] = socket.records
    assert (record.protocol, record.model, record.events) == ("openai-realtime", "gpt-realtime", 1)
    assert record.error is not None
    assert "come again" in record.error
