"""The messages of a served Realtime session, besides the responses."""

from __future__ import annotations

import json
from typing import Any

import pytest

from toolstream_core.model import ABSENT
from toolstream_core.protocols.realtime.socket import RealtimeHost
from toolstream_core.protocols.socket_wire import Reply, Start

PATH = "/v1/realtime?model=gpt-realtime"
TOOLS = [{"type": "function", "name": "f", "parameters": {}}]
TEXT = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}
ITEM = {"type": "function_call", "id": "item_f", "call_id": "call_1", "name": "f", "arguments": "{}"}
RESPONSE = {"id": "resp_1", "object": "realtime.response", "status": "in_progress", "output": []}


def without_event_ids(messages: Any) -> list[dict[str, Any]]:
    """Return the messages without their event ids, which must be distinct."""
    assert len({one["event_id"] for one in messages}) == len(messages)
    return [{key: value for key, value in one.items() if key != "event_id"} for one in messages]


def host_with_response(lane: str = "") -> RealtimeHost:
    """Return a session with a response that has one item so far."""
    host = RealtimeHost(PATH)
    host.sent(lane, json.dumps({"type": "response.created", "response": RESPONSE}).encode())
    for kind in ("added", "done"):
        host.sent(lane, json.dumps({"type": f"response.output_item.{kind}", "item": ITEM}).encode())
    return host


def test_a_session_is_configured_by_the_recording_and_the_client() -> None:
    """A session has the recorded configuration with the model of the path, until the client updates it."""
    host = RealtimeHost(PATH)
    [created] = without_event_ids(host.opened({"model": "other", "instructions": "Be kind.", "input": [TEXT]}))
    assert created["type"] == "session.created"
    session = created["session"]
    assert (session["model"], session["instructions"], session["tools"]) == ("gpt-realtime", "Be kind.", [])
    update = {"type": "session.update", "session": {"type": "realtime", "tools": TOOLS, "max_output_tokens": 9}}
    assert host.read_request(update) is None
    [updated] = without_event_ids(host.replied(update, []).messages)
    assert updated == {"type": "session.updated", "session": {**session, "tools": TOOLS, "max_output_tokens": 9}}
    request = host.read_request({"type": "response.create"})
    assert request is not None
    assert (request.body["instructions"], request.body["tools"]) == ("Be kind.", TOOLS)


def test_a_session_without_a_recording_has_no_configuration() -> None:
    """Without a recording, a request has only the configuration of the client."""
    host = RealtimeHost(PATH)
    host.opened(ABSENT)
    request = host.read_request({"type": "response.create", "event_id": "event_a"})
    assert request is not None
    assert request.body == {"model": "gpt-realtime", "input": [], "stream": True}
    assert (request.lane, request.start, request.event) == ("", Start.AT_ONCE, "event_a")


def test_items_follow_each_other() -> None:
    """Items have the id of the item before them, and a request has the items since the last response."""
    host = RealtimeHost(PATH)
    create = {"type": "conversation.item.create", "item": TEXT}
    host.read_request(create)
    added, done = without_event_ids(host.replied(create, []).messages)
    assert (added["type"], done["type"]) == ("conversation.item.added", "conversation.item.done")
    assert (
        added["item"]
        == done["item"]
        == {**TEXT, "object": "realtime.item", "id": added["item"]["id"], "status": "completed"}
    )
    first = host.read_request({"type": "response.create"})
    assert first is not None
    assert first.body["input"] == [TEXT]
    host.sent("", json.dumps({"type": "response.created", "response": RESPONSE}).encode())
    for kind in ("added", "done"):
        [of_response] = without_event_ids(
            host.sent("", json.dumps({"type": f"response.output_item.{kind}", "item": ITEM}).encode())
        )
        expected = {"type": f"conversation.item.{kind}", "item": ITEM, "previous_item_id": added["item"]["id"]}
        assert of_response == expected
    assert without_event_ids(host.replied(create, []).messages)[0]["previous_item_id"] == "item_f"
    second = host.read_request({"type": "response.create"})
    assert second is not None
    assert (second.body["input"], second.body["previous_response_id"]) == ([], "resp_1")


def test_a_response_outside_the_conversation_has_its_own_lane() -> None:
    """A response outside the conversation has its own lane and metadata, and adds no items to the conversation."""
    host = RealtimeHost(PATH)
    own = {"conversation": "none", "metadata": {"topic": "a"}, "input": [TEXT]}
    request = [host.read_request({"type": "response.create", "response": own}) for _ in range(2)]
    lanes = {one.lane for one in request if one is not None}
    assert len(lanes - {""}) == 2
    assert [one.body["metadata"] for one in request if one is not None] == [{"topic": "a"}] * 2
    lane = lanes.pop()
    host.sent(lane, json.dumps({"type": "response.created", "response": RESPONSE}).encode())
    assert host.sent(lane, json.dumps({"type": "response.output_item.done", "item": ITEM}).encode()) == ()
    conversations = host.read_request({"type": "response.create"})
    assert conversations is not None
    assert "previous_response_id" not in conversations.body


@pytest.mark.parametrize(
    ("message", "lanes", "cancelled"),
    [
        ({}, [""], ""),
        ({"response_id": "resp_1"}, [""], ""),
        ({"response_id": "resp_2"}, [""], None),
        ({}, [], None),
    ],
)
def test_a_response_is_cancelled(message: dict[str, str], lanes: list[str], cancelled: str | None) -> None:
    """A cancelled response ends with its items so far; without an active response, the client gets an error."""
    reply = host_with_response().replied({"type": "response.cancel", "event_id": "event_c", **message}, lanes)
    assert reply.cancelled == cancelled
    if cancelled is None:
        [error] = json.loads(json.dumps(reply.messages))
        assert (error["error"]["code"], error["error"]["event_id"]) == ("response_cancel_not_active", "event_c")
        return
    details = {"type": "cancelled", "reason": "client_cancelled"}
    response = {**RESPONSE, "status": "cancelled", "status_details": details, "output": [ITEM]}
    assert without_event_ids([reply.last]) == [{"type": "response.done", "response": response}]


def test_a_completed_response_is_not_cancelled() -> None:
    """A completed response is not cancelled, even while its lane is in use."""
    host = host_with_response()
    host.sent("", b'{"type":"response.done","response":{}}')
    assert host.replied({"type": "response.cancel"}, [""]).cancelled is None
    host.response_ended("")
    assert host.replied({"type": "response.cancel"}, []).cancelled is None


@pytest.mark.parametrize(
    ("message", "kinds"),
    [
        ({"type": "conversation.item.delete", "item_id": "item_f"}, ["conversation.item.deleted"]),
        ({"type": "conversation.item.truncate", "item_id": "item_f"}, ["conversation.item.truncated"]),
        ({"type": "input_audio_buffer.clear"}, ["input_audio_buffer.cleared"]),
        (
            {"type": "input_audio_buffer.commit"},
            ["input_audio_buffer.committed", "conversation.item.added", "conversation.item.done"],
        ),
        ({"type": "input_audio_buffer.unknown"}, []),
        ({"type": []}, []),
        (None, []),
    ],
)
def test_other_client_messages_are_confirmed(message: Any, kinds: list[str]) -> None:
    """Other known messages of the client are confirmed; unknown messages get no reply."""
    replies = without_event_ids(host_with_response().replied(message, []).messages)
    assert [one["type"] for one in replies] == kinds
    assert all(one["item_id"] for one in replies if "item_id" in one)


def test_a_lane_is_free_after_its_response() -> None:
    """After a response is over, it cannot be cancelled in its lane any more."""
    host = host_with_response()
    host.response_ended("")
    assert host.replied({"type": "response.cancel", "response_id": "resp_1"}, [""]) != Reply()
    assert host.replied({"type": "response.cancel", "response_id": "resp_1"}, [""]).cancelled is None
