"""Assignment of messages to responses."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolstream_core.protocols.responses.socket import RESPONSES_SOCKET, ResponsesTalk
from toolstream_core.sockets.lanes import Lanes, Part

if TYPE_CHECKING:
    from toolstream_core.protocols.socket_wire import SocketRequest


def lanes() -> Lanes[str]:
    """The lanes of a Responses socket; a response is represented by the model of its request."""

    def begin(request: SocketRequest) -> str:
        assert request.body["stream"] is True
        assert not {"type", "stream_id"} & request.body.keys()
        return str(request.body["model"])

    return Lanes(RESPONSES_SOCKET, ResponsesTalk("/v1/responses"), begin)


def create(model: str, **more: Any) -> bytes:
    """A request of the client."""
    return json.dumps({"type": "response.create", "model": model, **more}).encode()


def event(kind: str, **more: Any) -> bytes:
    """A message of the provider."""
    return json.dumps({"type": kind, **more}).encode()


DELTA = "response.output_text.delta"


def test_sequential_responses() -> None:
    """The events from a request to the end of its response belong to it; other messages belong to no response."""
    open_ = lanes()
    assert open_.read_event(event("response.created")) is None
    assert open_.read_request(create("one", generate=False)) == "one"
    assert open_.read_request(event("response.cancel")) is None
    assert open_.read_request(b"no JSON") is None
    assert open_.read_event(event("session.updated")) is None
    assert open_.read_event(event("response.created")) == Part("one", ends=False)
    assert open_.read_event(event(DELTA, delta='"response.completed"')) == Part("one", ends=False)
    assert open_.read_event(event("response.completed")) == Part("one", ends=True)
    assert open_.read_event(event(DELTA)) is None
    assert list(open_) == []


def test_every_event_that_ends_a_response() -> None:
    """A response ends with each terminal event type and with an error, also if the type has escapes."""
    for kind in ("error", "response.failed", "response.incomplete", "response.cancelled", "response.done"):
        for message in (event(kind), event(kind).replace(b"r", b"\\u0072"), event(kind, status=400)):
            open_ = lanes()
            open_.read_request(create("one"))
            assert open_.read_event(message) == Part("one", ends=True)


def test_concurrent_lanes_are_separate() -> None:
    """The events of each lane belong to its response; messages without a lane are one more lane."""
    open_ = lanes()
    for model, lane in (("a", {"stream_id": "x"}), ("b", {"stream_id": "y"}), ("c", {})):
        open_.read_request(create(model, **lane))
    assert open_.read_event(event(DELTA, stream_id="y")) == Part("b", ends=False)
    assert open_.read_event(event("response.completed", stream_id="x")) == Part("a", ends=True)
    assert open_.read_event(event(DELTA)) == Part("c", ends=False)
    assert open_.read_event(event(DELTA, stream_id="x")) is None
    assert open_.close() == ["b", "c"]
    assert open_.read_event(event(DELTA)) is None


def test_requests_of_a_lane_are_sequential() -> None:
    """A response without an end is unended when the next response of its lane begins."""
    open_ = lanes()
    open_.read_request(create("one"))
    open_.read_request(create("two"))
    assert open_.read_event(event("response.created")) == Part("one", ends=False)
    assert open_.read_event(event(DELTA)) == Part("one", ends=False)
    assert open_.read_event(event("response.created")) == Part("two", ends=False, unended="one")
    assert open_.read_event(event("response.completed")) == Part("two", ends=True)
