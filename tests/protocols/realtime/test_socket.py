"""Responses and requests of a Realtime session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.protocols.realtime.socket import MAX_ITEMS, REALTIME_SOCKET, RealtimeTalk
from toolstream_core.protocols.socket_wire import SocketEvent, Start

if TYPE_CHECKING:
    from toolstream_core.protocols.socket_wire import SocketRequest

PATH = "/v1/realtime?model=gpt-realtime"
TOOLS = [{"type": "function", "name": "f", "parameters": {}}]
RESULT = {"type": "function_call_output", "call_id": "call_1", "output": "rain"}


def created(talk: RealtimeTalk, response_id: str, **more: Any) -> SocketRequest:
    """Read `response.created` and return the request of that response."""
    response = {"id": response_id, "object": "realtime.response", **more}
    event = talk.read_event(json.dumps({"type": "response.created", "event_id": "e", "response": response}).encode())
    assert event is not None
    assert event.new_request is not None
    assert event.lane == event.new_request.lane == response_id
    return event.new_request


def test_a_request_has_the_session_and_the_items_since_the_last_response() -> None:
    """A request has the session's configuration and the items since the last response, without audio."""
    talk = RealtimeTalk(PATH)
    talk.read_event(json.dumps({"type": "session.created", "session": {"instructions": "Be kind."}}).encode())
    talk.read_request({"type": "session.update", "session": {"tools": TOOLS}})
    audio_item = {"type": "message", "role": "user", "content": [{"type": "input_audio", "audio": "UklG"}]}
    talk.read_request({"type": "conversation.item.create", "item": audio_item})
    expected = talk.read_request({"type": "response.create"})
    session = {"model": "gpt-realtime", "instructions": "Be kind.", "tools": TOOLS}
    item_without_audio = {**audio_item, "content": [{"type": "input_audio"}]}
    request = created(talk, "r1")
    assert request.body == {**session, "input": [item_without_audio], "stream": True}
    assert expected is not None
    assert (expected.start, request.start, expected.body) == (Start.LATER, Start.ANNOUNCED, request.body)
    talk.read_request({"type": "conversation.item.create", "item": RESULT})
    continued = {**session, "input": [RESULT], "previous_response_id": "r1", "stream": True}
    assert created(talk, "r2").body == continued


def test_a_response_outside_the_conversation_has_its_own_input() -> None:
    """A response outside the conversation is identified by its metadata, and does not change the next request."""
    talk = RealtimeTalk(PATH)
    created(talk, "r1")
    talk.read_request({"type": "conversation.item.create", "item": RESULT})
    talk.read_request({"type": "response.create"})
    own = {"conversation": "none", "metadata": {"topic": "a"}, "input": [{"type": "message"}], "instructions": "Sort."}
    talk.read_request({"type": "response.create", "response": own})
    outside = created(talk, "r2", metadata={"topic": "a"})
    head = {"model": "gpt-realtime", "stream": True}
    assert outside.body == {**head, "instructions": "Sort.", "input": [{"type": "message"}]}
    assert created(talk, "r3").body == {**head, "input": [RESULT], "previous_response_id": "r1"}


def test_a_withdrawn_request_is_forgotten() -> None:
    """After a request is withdrawn, the next response belongs to another request."""
    talk = RealtimeTalk(PATH)
    talk.read_request({"type": "response.create", "response": {"instructions": "Sort."}})
    expected = talk.read_request(
        {"type": "response.create", "event_id": "event_b", "response": {"instructions": "Sing."}}
    )
    assert expected is not None
    assert (expected.event, expected.body["instructions"]) == ("event_b", "Sing.")
    talk.withdraw()
    assert created(talk, "r1").body["instructions"] == "Sort."
    assert "instructions" not in created(talk, "r2").body


@pytest.mark.parametrize(
    ("message", "event"),
    [
        ({"type": "response.output_audio.delta", "delta": "UklG", "response_id": "r1"}, SocketEvent("r1")),
        ({"delta": '"response_id":"r9"', "type": "response.text.delta", "response_id": "r1"}, SocketEvent("r1")),
        ({"type": "response.output_item.done", "response_id": "r1", "item": {}}, SocketEvent("r1")),
        ({"type": "response.done", "response": {"id": "r1"}}, SocketEvent("r1", ends=True)),
        ({"type": "response.completed", "id": "r1", "output": []}, SocketEvent("r1", ends=True)),
        ({"type": "response.output_item.done", "item": {}}, None),
        ({"type": "conversation.item.input_audio_transcription.delta", "delta": "", "response_id": "r1"}, None),
        ({"type": "rate_limits.updated", "rate_limits": []}, None),
        ({"type": "error", "event_id": "e", "error": {"type": "server_error"}}, None),
        ({"type": ["session.update"]}, None),
        ("response.done", None),
    ],
)
def test_which_response_a_message_belongs_to(message: object, event: SocketEvent | None) -> None:
    """A message belongs to the response of its id; session messages and errors belong to none."""
    talk = RealtimeTalk(PATH)
    created(talk, "r1")
    assert talk.read_event(json.dumps(message, ensure_ascii=False).encode()) == event


def test_a_repeated_created_event_starts_no_response() -> None:
    """A repeated `response.created` belongs to the open response; after its end, it starts another."""
    talk = RealtimeTalk("/openai/realtime?deployment=mine")
    assert created(talk, "r1").body["model"] == "mine"
    repeated = json.dumps({"type": "response.created", "response": {"id": "r1"}}).encode()
    assert talk.read_event(repeated) == SocketEvent("r1")
    talk.read_event(json.dumps({"type": "response.done", "response": {"id": "r1"}}).encode())
    created(talk, "r1")


def test_the_number_of_pending_items_is_limited() -> None:
    """The number of items and requests without a response is limited."""
    talk = RealtimeTalk(PATH)
    for number in range(2 * MAX_ITEMS):
        talk.read_request({"type": "conversation.item.create", "item": {"type": "message", "id": str(number)}})
        created(talk, f"r{number}", conversation_id=None) if number < MAX_ITEMS else None
    assert len(created(talk, "last").body["input"]) == MAX_ITEMS


@pytest.mark.parametrize(
    ("message", "known"),
    [
        ({"type": "session.update", "session": {}}, True),
        ({"type": "conversation.item.create", "item": {}}, True),
        ({"type": "response.create"}, False),
        ({"type": 1}, False),
        ([], False),
    ],
)
def test_a_socket_at_another_path_is_recognised(message: Any, known: bool) -> None:
    """A socket at an unknown path is recognised by messages that only Realtime clients send."""
    assert REALTIME_SOCKET.recognise(message) is known


@pytest.mark.parametrize(
    ("message", "is_audio"),
    [
        ({"type": "input_audio_buffer.append", "audio": "AAAA" * 1000}, True),
        ({"event_id": "e", "type": "input_audio_buffer.append", "audio": "AAAA"}, True),
        ({"type": "input_audio_buffer.commit"}, False),
        ({"type": "conversation.item.create", "item": {"type": "input_audio_buffer.append"}}, False),
        ({"text": '{"type": "input_audio_buffer.append"', "type": "session.update"}, False),
    ],
)
def test_audio_messages_are_recognised_without_parsing(message: Any, is_audio: bool) -> None:
    """An audio message is recognised by its type, if the type is before the audio."""
    assert REALTIME_SOCKET.is_media(json.dumps(message).encode()) is is_audio
