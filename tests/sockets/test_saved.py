from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.sockets import conversation
from toolstream_core.protocols.registry import SOCKETS
from toolstream_core.sockets.lines import line_of
from toolstream_core.sockets.saved import (
    STILL_OPEN,
    SavedMessage,
    SavedResponse,
    close_code,
    how_closed,
    taken_apart,
    wire_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

CLOSED = how_closed(1006, by_client=False)


def apart(messages: Sequence[SavedMessage]) -> list[SavedResponse]:
    """The responses of a conversation over a Responses socket."""
    wire = wire_of(conversation.PATH, messages)
    assert wire is not None
    return taken_apart(wire, conversation.PATH, messages, CLOSED)


def test_responses_are_separated() -> None:
    """Each response has its request, its messages in order, and their times."""
    messages = conversation.two_responses()
    one, other = apart(messages)
    assert (one.request.body["stream"], one.broken, other.broken) == (True, None, None)
    assert other.request.body["previous_response_id"] == json.loads(one.messages[0].data)["response"]["id"]
    provided = [message for message in messages if not message.from_client]
    assert [*one.messages, *other.messages] == provided
    assert one.request_message == messages[0]
    assert one.lines[:2] == [(0, line_of(messages[1].data)), (10, line_of(messages[2].data))]


def test_messages_are_assigned_by_lane() -> None:
    """Each message belongs to the response of its lane, also a steer request."""
    one, other = apart(conversation.two_lanes())
    assert [response.request.lane for response in (one, other)] == ["a", "b"]
    for response in (one, other):
        assert {json.loads(message.data)["stream_id"] for message in response.messages} == {response.request.lane}
    assert (one.others, [json.loads(message.data)["type"] for message in other.others]) == ([], ["response.steer"])


def test_a_client_message_without_a_lane_belongs_to_the_only_response() -> None:
    """A client message without a lane belongs to the only open response; with two open responses, to none."""
    request = conversation.request()
    begun = conversation.response_to(request)[0]
    [response] = apart(conversation.messages(request, begun, {"type": "response.cancel"}))
    assert [json.loads(message.data)["type"] for message in response.others] == ["response.cancel"]
    lanes = [conversation.request(stream_id=lane) for lane in ("a", "b")]
    both = apart(conversation.messages(*lanes, {"type": "response.cancel"}))
    assert [response.others for response in both] == [[], []]


def test_only_some_short_client_messages_are_kept() -> None:
    """Of the client's messages during a response, 64 are kept, and no long message."""
    request = conversation.request()
    begun = conversation.response_to(request)[0]
    long = {"type": "response.steer", "input": "x" * 5000}
    [response] = apart(conversation.messages(request, begun, long, *[{"type": "response.cancel"}] * 100))
    assert {json.loads(one.data)["type"] for one in response.others} == {"response.cancel"}
    assert len(response.others) == 64


def test_a_response_that_the_close_truncated_has_the_code() -> None:
    """A response that the end of the socket truncated has the close code; the others ended normally."""
    one, other = apart(conversation.two_responses()[:-1])
    assert (one.broken, other.broken) == (None, "the server closed the WebSocket with code 1006")
    codes = {how_closed(code, by_client=False): code for code in (1000, 1011)}
    assert {text: close_code(text) for text in codes} == codes
    assert close_code("cut by toolstream_fault with code 1001") == 1001
    for text in (CLOSED, how_closed(1000, by_client=True), how_closed(None, by_client=False), "peer left"):
        assert close_code(text) is None
    assert how_closed(None, by_client=True) == "the client closed the WebSocket"
    assert "saved" in STILL_OPEN


def test_a_socket_is_recognised_by_its_path_or_its_first_requests() -> None:
    """A socket is recognised by its path, or by a request among the client's first messages."""
    messages = conversation.two_responses()
    hello = SavedMessage(from_client=True, at=0.0, data=b"hello")
    assert wire_of("/v1/responses?x=1", []) is SOCKETS[0]
    assert wire_of("/chat", [hello, *messages]) is SOCKETS[0]
    assert wire_of("/chat", [hello, *messages[1:3]]) is None
    assert wire_of("/chat", [*[hello] * 8, *messages]) is None


def test_changed_lines_replace_their_messages() -> None:
    """A line can become no message, one or several; an unchanged message keeps its bytes, also spaces and line ends."""
    request = conversation.request(stream_id="a")
    events = conversation.response_to(request)
    messages = conversation.messages(request, *events)
    spaced = messages[1]._replace(data=json.dumps(events[0], indent=1).encode())
    [response] = apart([messages[0], spaced, *messages[2:]])
    lines = [line for _, line in response.lines]
    assert response.become([*lines, b""]) == {message.place: [message.data] for message in response.messages}
    two = b'{"type":"x"}\n{"type":"y","stream_id":"a"}\n'
    error = b'event: error\ndata: {"type":"error"}\n\n'
    changed = [*response.become([b"", two, *lines[2:], error]).values()]
    assert changed[0] == []
    assert changed[1] == [b'{"type":"x","stream_id":"a"}', b'{"type":"y","stream_id":"a"}']
    assert changed[-1] == [response.messages[-1].data, b'{"type":"error","stream_id":"a"}']
