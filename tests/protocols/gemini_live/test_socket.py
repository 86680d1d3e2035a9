"""Which answer of a Gemini Live session a message belongs to, and what it was asked for."""

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
GOES_ON, ENDS = SocketEvent(""), SocketEvent("", ends=True)


def words(text: str) -> dict[str, Any]:
    """A part of what the model says."""
    return {"serverContent": {"modelTurn": {"parts": [{"text": text}]}}}


def content(**fields: Any) -> dict[str, Any]:
    """Another message of the model's turn."""
    return {"serverContent": fields}


def answered(talk: GeminiLiveTalk, message: object) -> SocketEvent | None:
    """What the server's message is."""
    return talk.read_event(json.dumps(message, ensure_ascii=False).encode())


def begun(talk: GeminiLiveTalk, message: object) -> SocketRequest:
    """What the answer was asked for that begins with a message."""
    event = answered(talk, message)
    assert event is not None
    assert event.new_request is not None
    return event.new_request


def test_an_answer_is_asked_for_by_the_setup_and_what_was_said_since_the_last() -> None:
    """Turns, results and text, without sound; google-genai writes snake case."""
    talk = GeminiLiveTalk(PATH)
    assert talk.read_request({"setup": {**SETUP, "system_instruction": "Be kind.", "generationConfig": {}}}) is None
    assert answered(talk, {"setupComplete": {}}) is None
    spoken = {"inlineData": {"mimeType": "audio/pcm", "data": "UklG"}}
    assert talk.read_request({"client_content": {"turns": [{"role": "user", "parts": [spoken]}]}}) is None
    talk.read_request({"realtimeInput": {"text": "And tomorrow?"}})
    head = {**SETUP, "systemInstruction": "Be kind."}
    silent = {"role": "user", "parts": [{"inlineData": {"mimeType": "audio/pcm"}}]}
    text = {"role": "user", "parts": [{"text": "And tomorrow?"}]}
    assert begun(talk, CALL).body == {**head, "contents": [silent, text], "stream": True}
    result = {"id": "call_1", "name": "f", "response": {"ok": True}}
    talk.read_request({"tool_response": {"functionResponses": [result]}})
    talk.read_request({"contextUpdate": {"tools": {"tools": []}}})
    given = {"role": "user", "parts": [{"functionResponse": result}]}
    assert begun(talk, words("Mild.")).body == {**head, "tools": [], "contents": [given], "stream": True}


@pytest.mark.parametrize(
    "last",
    [
        CALL,
        content(turnComplete=True),
        content(interrupted=True),
        content(**words("!")["serverContent"], turnComplete=True),
    ],
)
def test_how_an_answer_ends(last: dict[str, Any]) -> None:
    """By its calls, by the end of the turn, or where the client interrupts it; no empty answer follows."""
    talk = GeminiLiveTalk(PATH)
    begun(talk, words("Let me"))
    assert answered(talk, content(outputTranscription={"text": "turnComplete"})) == GOES_ON
    assert answered(talk, content(generationComplete=True)) == GOES_ON
    assert answered(talk, {"usageMetadata": {"totalTokenCount": 3}}) == GOES_ON
    assert answered(talk, {"sessionResumptionUpdate": {}}) is None
    assert answered(talk, last) == ENDS
    assert answered(talk, content(interrupted=True)) is None
    assert answered(talk, content(turnComplete=True)) is None
    assert answered(talk, {"usageMetadata": {"totalTokenCount": 3}}) is None
    begun(talk, words("Again"))


@pytest.mark.parametrize(
    "message",
    [
        {"setupComplete": {}},
        {"goAway": {"timeLeft": "10s"}},
        {"toolCallCancellation": {"ids": ["call_1"]}},
        content(inputTranscription={"text": "Hello?"}),
        content(waitingForInput=True),
        {"serverContent": None},
        [],
        "toolCall",
    ],
)
def test_what_is_no_answers_begins_none(message: object) -> None:
    """What the session says, and what the user was heard to say."""
    assert answered(GeminiLiveTalk(PATH), message) is None


def test_a_refusal_without_a_word_is_an_answer() -> None:
    """It has a reason, which is its finish."""
    refused = content(turnComplete=True, turnCompleteReason="MALFORMED_FUNCTION_CALL")
    event = answered(GeminiLiveTalk(PATH), refused)
    assert event is not None
    assert event.ends
    assert event.new_request is not None


def test_what_is_never_answered_is_bounded() -> None:
    """However long the session."""
    talk = GeminiLiveTalk(PATH)
    for number in range(2 * MAX_CONTENTS):
        talk.read_request({"realtimeInput": {"text": str(number)}})
    contents = begun(talk, words("Well.")).body["contents"]
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
def test_sound_and_pictures_are_neither_parsed_nor_kept(message: str, media: bool) -> None:
    """They come many times a second; such a message is about no answer under way."""
    assert is_media(message.encode()) is media
    lanes = Lanes(GEMINI_LIVE_SOCKET, GeminiLiveTalk(PATH), lambda request: len(request.body["contents"]))
    lanes.read_event(json.dumps(words("Hi")).encode())
    assert lanes.read_request(message.encode()) is None
    assert lanes.concerned(message.encode()) == (None if media else 0)


@pytest.mark.parametrize(
    ("message", "recognised"),
    [({"setup": SETUP}, True), ({"setup": {}}, False), ({"type": "session.update"}, False), ([], False)],
)
def test_a_socket_at_another_path_is_recognised(message: Any, recognised: bool) -> None:
    """By the setup, which comes first."""
    assert GEMINI_LIVE_SOCKET.recognise(message) is recognised


@pytest.mark.parametrize(
    "model", ["gemini-live", "models/gemini-live", "projects/p/locations/l/publishers/google/models/gemini-live"]
)
def test_the_model_is_named_without_its_place(model: str) -> None:
    """As in the paths of Gemini's other requests."""
    assert GEMINI_LIVE.api.model(PATH, {"model": model}) == "gemini-live"
    assert GEMINI_LIVE.api.model(PATH, {}) is None
