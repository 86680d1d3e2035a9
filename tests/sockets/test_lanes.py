"""Which answer a message belongs to."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from toolstream_core.protocols.responses.socket import RESPONSES_SOCKET, ResponsesTalk
from toolstream_core.sockets.lanes import Lanes, Part

if TYPE_CHECKING:
    from toolstream_core.protocols.socket_wire import SocketRequest


def lanes() -> Lanes[str]:
    """Of a Responses socket; an answer is the model that was asked for."""

    def begin(request: SocketRequest) -> str:
        assert request.body["stream"] is True
        assert not {"type", "stream_id"} & request.body.keys()
        return str(request.body["model"])

    return Lanes(RESPONSES_SOCKET, ResponsesTalk("/v1/responses"), begin)


def create(model: str, **more: Any) -> bytes:
    """A client's message."""
    return json.dumps({"type": "response.create", "model": model, **more}).encode()


def event(kind: str, **more: Any) -> bytes:
    """A provider's message."""
    return json.dumps({"type": kind, **more}).encode()


DELTA = "response.output_text.delta"


def test_one_answer_after_the_other() -> None:
    """From what asks for it to its last event; what else is said belongs to none."""
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


def test_every_event_that_ends_an_answer() -> None:
    """An error too; however its letters are written."""
    for kind in ("error", "response.failed", "response.incomplete", "response.cancelled", "response.done"):
        for written in (event(kind), event(kind).replace(b"r", b"\\u0072"), event(kind, status=400)):
            open_ = lanes()
            open_.read_request(create("one"))
            assert open_.read_event(written) == Part("one", ends=True)


def test_lanes_are_apart() -> None:
    """And what has none is a lane too."""
    open_ = lanes()
    for model, lane in (("a", {"stream_id": "x"}), ("b", {"stream_id": "y"}), ("c", {})):
        open_.read_request(create(model, **lane))
    assert open_.read_event(event(DELTA, stream_id="y")) == Part("b", ends=False)
    assert open_.read_event(event("response.completed", stream_id="x")) == Part("a", ends=True)
    assert open_.read_event(event(DELTA)) == Part("c", ends=False)
    assert open_.read_event(event(DELTA, stream_id="x")) is None
    assert open_.close() == ["b", "c"]
    assert open_.read_event(event(DELTA)) is None


def test_requests_of_a_lane_wait_for_their_turn() -> None:
    """An answer whose end never came is over when the next one begins."""
    open_ = lanes()
    open_.read_request(create("one"))
    open_.read_request(create("two"))
    assert open_.read_event(event("response.created")) == Part("one", ends=False)
    assert open_.read_event(event(DELTA)) == Part("one", ends=False)
    assert open_.read_event(event("response.created")) == Part("two", ends=False, unended="one")
    assert open_.read_event(event("response.completed")) == Part("two", ends=True)
