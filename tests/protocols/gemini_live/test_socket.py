"""Responses and requests of a Gemini Live session."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from toolstream_core.protocols.gemini_live import GEMINI_LIVE
from toolstream_core.protocols.gemini_live.socket import GEMINI_LIVE_SOCKET, MAX_CONTENTS, GeminiLiveTalk, is_media
from toolstream_core.protocols.socket_wire import SocketEvent
from toolstream_core.sockets.lanes import Lanes

if TYPE_CHECKING:
    from toolstream_core.protocols.socket_wire import SocketRequest

PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
SETUP = {"model": "models/gemini-live", "tools": [{"functionDeclarations": [{"name": "f"}]}]}
CALL = {"toolCall": {"functionCalls": [{"id": "call_1", "name": "f", "args": {}}]}}
CONTINUES, ENDS = SocketEvent(""), SocketEvent("", ends=True)


def text_message(text: str) -> dict[str, Any]:
    """Return a message with text of the model."""
    return {"serverContent": {"modelTurn": {"parts": [{"text": text}]}}}


def content_message(**fields: Any) -> dict[str, Any]:
    """Return a `serverContent` message."""
    return {"serverContent": fields}


def read_event(talk: GeminiLiveTalk, message: object) -> SocketEvent | None:
    """Read a message of the server."""
    return talk.read_event(json.dumps(message, ensure_ascii=False).encode())


def request_of(talk: GeminiLiveTalk, message: object) -> SocketRequest:
    """Read the first message of a response and return its request."""
    event = read_event(talk, message)
    assert event is not None
    assert event.new_request is not None
    return event.new_request


def test_a_request_has_the_setup_and_the_contents_since_the_last_response() -> None:
    """A request has the setup, and turns, results and text since the last response, without audio."""
    talk = GeminiLiveTalk(PATH)
    assert talk.read_request({"setup": {**SETUP, "system_instruction": "Be kind.", "generationConfig": {}}}) is None
    assert read_event(talk, {"setupComplete": {}}) is None
    audio = {"inlineData": {"mimeType": "audio/pcm", "data": "UklG"}}
    assert talk.read_request({"client_content": {"turns": [{"role": "user", "parts": [audio]}]}}) is None
    talk.read_request({"realtimeInput": {"text": "And tomorrow?"}})
    head = {**SETUP, "systemInstruction": "Be kind."}
    without_audio = {"role": "user", "parts": [{"inlineData": {"mimeType": "audio/pcm"}}]}
    text = {"role": "user", "parts": [{"text": "And tomorrow?"}]}
    assert request_of(talk, CALL).body == {**head, "contents": [without_audio, text], "stream": True}
    result = {"id": "call_1", "name": "f", "response": {"ok": True}}
    talk.read_request({"tool_response": {"functionResponses": [result]}})
    talk.read_request({"contextUpdate": {"tools": {"tools": []}}})
    result_content = {"role": "user", "parts": [{"functionResponse": result}]}
    assert request_of(talk, text_message("Mild.")).body == {
        **head,
        "tools": [],
        "contents": [result_content],
        "stream": True,
    }


@pytest.mark.parametrize(
    "last",
    [
        CALL,
        content_message(turnComplete=True),
        content_message(interrupted=True),
        content_message(**text_message("!")["serverContent"], turnComplete=True),
    ],
)
def test_ends_of_a_response(last: dict[str, Any]) -> None:
    """A response ends with its calls, with the turn or with an interruption; no empty response follows."""
    talk = GeminiLiveTalk(PATH)
    request_of(talk, text_message("Let me"))
    assert read_event(talk, content_message(outputTranscription={"text": "turnComplete"})) == CONTINUES
    assert read_event(talk, content_message(generationComplete=True)) == CONTINUES
    assert read_event(talk, {"usageMetadata": {"totalTokenCount": 3}}) == CONTINUES
    assert read_event(talk, {"sessionResumptionUpdate": {}}) is None
    assert read_event(talk, last) == ENDS
    assert read_event(talk, content_message(interrupted=True)) is None
    assert read_event(talk, content_message(turnComplete=True)) is None
    assert read_event(talk, {"usageMetadata": {"totalTokenCount": 3}}) is None
    request_of(talk, text_message("Again"))


@pytest.mark.parametrize(
    "message",
    [
        {"setupComplete": {}},
        {"goAway": {"timeLeft": "10s"}},
        {"toolCallCancellation": {"ids": ["call_1"]}},
        content_message(inputTranscription={"text": "Hello?"}),
        content_message(waitingForInput=True),
        {"serverContent": None},
        [],
        "toolCall",
    ],
)
def test_session_messages_start_no_response(message: object) -> None:
    """Messages of the session and transcriptions of the user start no response."""
    assert read_event(GeminiLiveTalk(PATH), message) is None


def test_a_refusal_without_text_is_a_response() -> None:
    """A refusal without text is a response with a finish reason."""
    refused = content_message(turnComplete=True, turnCompleteReason="MALFORMED_FUNCTION_CALL")
    event = read_event(GeminiLiveTalk(PATH), refused)
    assert event is not None
    assert event.ends
    assert event.new_request is not None


def test_the_number_of_pending_contents_is_limited() -> None:
    """The number of contents without a response is limited."""
    talk = GeminiLiveTalk(PATH)
    for number in range(2 * MAX_CONTENTS):
        talk.read_request({"realtimeInput": {"text": str(number)}})
    contents = request_of(talk, text_message("Well.")).body["contents"]
    assert [one["parts"][0]["text"] for one in contents] == [str(MAX_CONTENTS + at) for at in range(MAX_CONTENTS)]


@pytest.mark.parametrize(
    ("message", "media"),
    [
        ('{"realtimeInput": {"audio": {"data": "UklG", "mimeType": "audio/pcm"}}}', True),
        ('{"realtime_input":{"media_chunks":[{"data":"UklG"}]}}', True),
        ('{"realtimeInput": {"text": "audio"}}', False),
        ('{"realtimeInput": {"video": {"data": "UklG"}, "text": "Look!"}}', False),
        ('{"realtimeInput": {"activityStart": {}}}', False),
        ('{"setup": {"realtimeInput": {"audio": {}}}}', False),
    ],
)
def test_media_messages_are_neither_parsed_nor_kept(message: str, media: bool) -> None:
    """Audio and video messages, which are frequent, are not kept and concern no response."""
    assert is_media(message.encode()) is media
    lanes = Lanes(GEMINI_LIVE_SOCKET, GeminiLiveTalk(PATH), lambda request: len(request.body["contents"]))
    lanes.read_event(json.dumps(text_message("Hi")).encode())
    assert lanes.read_request(message.encode()) is None
    assert lanes.concerned(message.encode()) == (None if media else 0)


@pytest.mark.parametrize(
    ("message", "recognised"),
    [({"setup": SETUP}, True), ({"setup": {}}, False), ({"type": "session.update"}, False), ([], False)],
)
def test_a_socket_at_another_path_is_recognised(message: Any, recognised: bool) -> None:
    """A socket at an unknown path is recognised by the setup message."""
    assert GEMINI_LIVE_SOCKET.recognise(message) is recognised


@pytest.mark.parametrize(
    "model", ["gemini-live", "models/gemini-live", "projects/p/locations/l/publishers/google/models/gemini-live"]
)
def test_the_model_has_no_path(model: str) -> None:
    """The model's name is read without its resource path."""
    assert GEMINI_LIVE.api.model(PATH, {"model": model}) == "gemini-live"
    assert GEMINI_LIVE.api.model(PATH, {}) is None
