"""The messages of a served Responses socket, besides the responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolstream_core.protocols.responses.socket import ResponsesHost
from toolstream_core.protocols.socket_wire import Reply

ITEM = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": "{}"}


def host_with_responses(*lanes: str) -> ResponsesHost:
    """Return a host with a response on each lane that has one complete item so far."""
    host = ResponsesHost("/v1/responses")
    for lane in lanes:
        response = {"id": f"resp_{lane}", "object": "response", "status": "in_progress", "model": "m", "output": []}
        events: list[Any] = [
            {"type": "response.created", "response": response},
            {"type": "response.output_item.done", "output_index": 0, "item": ITEM},
        ]
        for number, event in enumerate(events):
            assert host.sent(lane, json.dumps({**event, "sequence_number": number}).encode()) == ()
    return host


def cancelled(lane: str) -> Reply:
    """Return the reply that cancels the response of a lane."""
    response = {"id": f"resp_{lane}", "object": "response", "status": "cancelled", "model": "m", "output": [ITEM]}
    return Reply(cancelled=lane, last={"type": "response.cancelled", "response": response, "sequence_number": 2})


@pytest.mark.parametrize(
    ("lanes", "message", "lane"),
    [
        (["a", "b"], {"response_id": "resp_b"}, "b"),
        (["a", "b"], {"stream_id": "b"}, "b"),
        (["", "b"], {}, ""),
        (["a"], {}, "a"),
    ],
)
def test_a_response_is_cancelled(lanes: list[str], message: dict[str, str], lane: str) -> None:
    """The named response, the response of the named lane, or the only response is cancelled with its items so far."""
    assert host_with_responses(*lanes).replied({"type": "response.cancel", **message}, lanes) == cancelled(lane)


@pytest.mark.parametrize("message", [{}, {"response_id": "resp_c"}, {"stream_id": "c"}])
def test_without_a_response_to_cancel_an_error_is_sent(message: dict[str, str]) -> None:
    """If no response or several responses match, an error is sent in the named lane."""
    reply = host_with_responses("a", "b").replied({"type": "response.cancel", **message}, ["a", "b"])
    [error] = json.loads(json.dumps(reply.messages))
    assert reply.cancelled is None
    assert (error["type"], error["status"], error["error"]["code"]) == ("error", 400, "response_not_active")
    assert error.get("stream_id") == message.get("stream_id")


def test_a_response_that_has_not_started_can_be_cancelled() -> None:
    """A response without events can be cancelled, with an added id."""
    reply = ResponsesHost("/v1/responses").replied({"type": "response.cancel"}, [""])
    response = {"id": "resp_cancelled", "status": "cancelled", "output": []}
    assert reply == Reply(cancelled="", last={"type": "response.cancelled", "response": response, "sequence_number": 0})


@pytest.mark.parametrize(
    ("named", "code", "lane"),
    [
        ({"previous_response_id": "resp_a"}, "steering_not_supported", "a"),
        ({"stream_id": "a"}, "steering_not_supported", "a"),
        ({"previous_response_id": "resp_b"}, "response_already_completed", None),
        ({"previous_response_id": "resp_c"}, "response_not_found", None),
        ({}, "response_not_found", None),
    ],
)
def test_a_served_response_cannot_be_steered(named: dict[str, str], code: str, lane: str | None) -> None:
    """A request to steer a response fails with a reason and the returned input."""
    host = host_with_responses("a", "b")
    host.response_ended("b")
    reply = host.replied({"type": "response.steer", "input": "shorter", **named}, ["a"])
    [failed] = json.loads(json.dumps(reply.messages))
    assert (failed["type"], failed["error"]["code"], failed.get("stream_id")) == ("response.steer.failed", code, lane)
    previous = {key: value for key, value in named.items() if key == "previous_response_id"}
    assert failed["steer"] == {"input": "shorter", **previous}


def test_a_response_that_has_ended_is_neither_cancelled_nor_steered() -> None:
    """A response that has ended is neither cancelled nor steered, even while its lane is in use."""
    host = host_with_responses("a")
    host.sent("a", b'{"type":"response.completed","response":{}}')
    assert host.replied({"type": "response.cancel"}, ["a"]).cancelled is None
    steer = {"type": "response.steer", "previous_response_id": "resp_a", "input": "x"}
    [failed] = json.loads(json.dumps(host.replied(steer, ["a"]).messages))
    assert failed["error"]["code"] == "response_already_completed"


@pytest.mark.parametrize("message", [None, [], {"type": 1}, {"type": "response.unknown"}])
def test_other_messages_get_no_reply(message: Any) -> None:
    """Unknown messages get no reply."""
    assert host_with_responses("a").replied(message, ["a"]) == Reply()
