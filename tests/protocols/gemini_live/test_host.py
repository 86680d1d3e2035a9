"""What is said on a Gemini Live socket that is served, beside the answers."""

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


def test_a_session_is_set_up_before_anything_is_answered() -> None:
    """The client speaks first."""
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
def test_what_begins_an_answer(message: Any, contents: list[Any] | None) -> None:
    """The end of a turn, a text, or what tools gave; the request is what was said since the last one."""
    host = GeminiLiveHost(PATH)
    host.read_request(SETUP)
    wanted = host.read_request(message)
    assert (wanted and wanted.body["contents"]) == contents
    assert host.replied(message, [""]) == Reply()
    if wanted is not None:
        assert (wanted.lane, wanted.start, wanted.body["model"]) == ("", Start.AT_ONCE, "models/gemini-live")
        assert host.sent("", b"{}") == ()
        host.over("")
        again = host.read_request({"realtimeInput": {"text": "hi"}})
        assert again is not None
        assert again.body["contents"] == [TURN]
