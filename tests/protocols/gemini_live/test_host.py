"""The messages of a served Gemini Live session, besides the responses."""

from __future__ import annotations

from typing import Any

import pytest

from toolstream_core.model import ABSENT
from toolstream_core.protocols.gemini_live.socket import GeminiLiveHost
from toolstream_core.protocols.socket_wire import Reply, Start

PATH = "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent"
SETUP = {"setup": {"model": "models/gemini-live", "tools": []}}
TURN = {"role": "user", "parts": [{"text": "hi"}]}
RESULT = {"id": "call_1", "name": "f", "response": {}}


def test_a_session_starts_with_the_client_s_setup() -> None:
    """A session sends nothing before the client's setup, and confirms that."""
    host = GeminiLiveHost(PATH)
    assert host.opened(ABSENT) == ()
    assert host.read_request(SETUP) is None
    assert host.replied(SETUP, []) == Reply([{"setupComplete": {}}])


@pytest.mark.parametrize(
    ("message", "contents"),
    [
        ({"clientContent": {"turns": [TURN], "turnComplete": True}}, [TURN]),
        ({"client_content": {"turns": [TURN], "turn_complete": True}}, [TURN]),
        ({"realtimeInput": {"text": "hi"}}, [TURN]),
        (
            {"toolResponse": {"functionResponses": [RESULT]}},
            [{"role": "user", "parts": [{"functionResponse": RESULT}]}],
        ),
        ({"clientContent": {"turns": [TURN]}}, None),
        ({"realtimeInput": {"audioStreamEnd": True}}, None),
        ([], None),
    ],
)
def test_messages_that_request_a_response(message: Any, contents: list[Any] | None) -> None:
    """The end of a turn, text, or tool results request a response; the request has the contents since the last one."""
    host = GeminiLiveHost(PATH)
    host.read_request(SETUP)
    request = host.read_request(message)
    assert (request and request.body["contents"]) == contents
    assert host.replied(message, [""]) == Reply()
    if request is not None:
        assert (request.lane, request.start, request.body["model"]) == ("", Start.AT_ONCE, "models/gemini-live")
        assert host.sent("", b"{}") == ()
        host.response_ended("")
        second = host.read_request({"realtimeInput": {"text": "hi"}})
        assert second is not None
        assert second.body["contents"] == [TURN]
