"""Which response of a Realtime session a message belongs to, and what it was asked for."""

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
    """What the response was asked for that begins now."""
    response = {"id": response_id, "object": "realtime.response", **more}
    event = talk.read_event(json.dumps({"type": "response.created", "event_id": "e", "response": response}).encode())
    assert event is not None
    assert event.new_request is not None
    assert event.lane == event.new_request.lane == response_id
    return event.new_request


def test_a_response_is_asked_for_by_the_session_and_the_items_before_it() -> None:
    """The session's model and tools, then the items since the last response; no sound is kept."""
    talk = RealtimeTalk(PATH)
    talk.read_event(json.dumps({"type": "session.created", "session": {"instructions": "Be kind."}}).encode())
    talk.read_request({"type": "session.update", "session": {"tools": TOOLS}})
    spoken = {"type": "message", "role": "user", "content": [{"type": "input_audio", "audio": "UklG"}]}
    talk.read_request({"type": "conversation.item.create", "item": spoken})
    wanted = talk.read_request({"type": "response.create"})
    session = {"model": "gpt-realtime", "instructions": "Be kind.", "tools": TOOLS}
    silent = {**spoken, "content": [{"type": "input_audio"}]}
    begun = created(talk, "r1")
    assert begun.body == {**session, "input": [silent], "stream": True}
    assert wanted is not None
    assert (wanted.start, begun.start, wanted.body) == (Start.LATER, Start.ANNOUNCED, begun.body)
    talk.read_request({"type": "conversation.item.create", "item": RESULT})
    again = {**session, "input": [RESULT], "previous_response_id": "r1", "stream": True}
    assert created(talk, "r2").body == again


def test_a_response_beside_the_conversation_has_an_input_of_its_own() -> None:
    """It is told apart by its metadata; the conversation goes on behind the response before it."""
    talk = RealtimeTalk(PATH)
    created(talk, "r1")
    talk.read_request({"type": "conversation.item.create", "item": RESULT})
    talk.read_request({"type": "response.create"})
    own = {"conversation": "none", "metadata": {"topic": "a"}, "input": [{"type": "message"}], "instructions": "Sort."}
    talk.read_request({"type": "response.create", "response": own})
    beside = created(talk, "r2", metadata={"topic": "a"})
    head = {"model": "gpt-realtime", "stream": True}
    assert beside.body == {**head, "instructions": "Sort.", "input": [{"type": "message"}]}
    assert created(talk, "r3").body == {**head, "input": [RESULT], "previous_response_id": "r1"}


def test_a_response_that_is_not_asked_of_the_server_is_forgotten() -> None:
    """The next one that is created answers another request."""
    talk = RealtimeTalk(PATH)
    talk.read_request({"type": "response.create", "response": {"instructions": "Sort."}})
    wanted = talk.read_request(
        {"type": "response.create", "event_id": "event_b", "response": {"instructions": "Sing."}}
    )
    assert wanted is not None
    assert (wanted.event, wanted.body["instructions"]) == ("event_b", "Sing.")
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
    """By its id; messages of the session belong to none, and neither do errors, which name none."""
    talk = RealtimeTalk(PATH)
    created(talk, "r1")
    assert talk.read_event(json.dumps(message, ensure_ascii=False).encode()) == event


def test_a_response_that_is_created_again_is_the_same() -> None:
    """Until it is over."""
    talk = RealtimeTalk("/openai/realtime?deployment=mine")
    assert created(talk, "r1").body["model"] == "mine"
    again = json.dumps({"type": "response.created", "response": {"id": "r1"}}).encode()
    assert talk.read_event(again) == SocketEvent("r1")
    talk.read_event(json.dumps({"type": "response.done", "response": {"id": "r1"}}).encode())
    created(talk, "r1")


def test_what_is_never_answered_is_bounded() -> None:
    """However long the session."""
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
    """By what only a Realtime client says."""
    assert REALTIME_SOCKET.recognise(message) is known


@pytest.mark.parametrize(
    ("message", "sound"),
    [
        ({"type": "input_audio_buffer.append", "audio": "AAAA" * 1000}, True),
        ({"event_id": "e", "type": "input_audio_buffer.append", "audio": "AAAA"}, True),
        ({"type": "input_audio_buffer.commit"}, False),
        ({"type": "conversation.item.create", "item": {"type": "input_audio_buffer.append"}}, False),
        ({"text": '{"type": "input_audio_buffer.append"', "type": "session.update"}, False),
    ],
)
def test_pieces_of_sound_are_known_unparsed(message: Any, sound: bool) -> None:
    """By their type, where it stands before the sound."""
    assert REALTIME_SOCKET.is_media(json.dumps(message).encode()) is sound
