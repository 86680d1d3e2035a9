"""What is said on a Realtime socket that is served, beside the responses."""

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


def said(messages: Any) -> list[dict[str, Any]]:
    """Without the events' ids, which are all different."""
    assert len({one["event_id"] for one in messages}) == len(messages)
    return [{key: value for key, value in one.items() if key != "event_id"} for one in messages]


def begun(lane: str = "") -> RealtimeHost:
    """A socket with a response that has one item so far."""
    host = RealtimeHost(PATH)
    host.sent(lane, json.dumps({"type": "response.created", "response": RESPONSE}).encode())
    for kind in ("added", "done"):
        host.sent(lane, json.dumps({"type": f"response.output_item.{kind}", "item": ITEM}).encode())
    return host


def test_a_session_is_as_it_was_recorded_and_as_the_client_wants_it() -> None:
    """What a request that was saved had of its session is said first; the model is the path's."""
    host = RealtimeHost(PATH)
    [created] = said(host.opened({"model": "other", "instructions": "Be kind.", "input": [TEXT]}))
    assert created["type"] == "session.created"
    session = created["session"]
    assert (session["model"], session["instructions"], session["tools"]) == ("gpt-realtime", "Be kind.", [])
    update = {"type": "session.update", "session": {"type": "realtime", "tools": TOOLS, "max_output_tokens": 9}}
    assert host.read_request(update) is None
    [updated] = said(host.replied(update, []).messages)
    assert updated == {"type": "session.updated", "session": {**session, "tools": TOOLS, "max_output_tokens": 9}}
    wanted = host.read_request({"type": "response.create"})
    assert wanted is not None
    assert (wanted.body["instructions"], wanted.body["tools"]) == ("Be kind.", TOOLS)


def test_nothing_is_made_up_where_nothing_was_recorded() -> None:
    """A request has what the client said."""
    host = RealtimeHost(PATH)
    host.opened(ABSENT)
    wanted = host.read_request({"type": "response.create", "event_id": "event_a"})
    assert wanted is not None
    assert wanted.body == {"model": "gpt-realtime", "input": [], "stream": True}
    assert (wanted.lane, wanted.start, wanted.event) == ("", Start.AT_ONCE, "event_a")


def test_items_follow_each_other() -> None:
    """Those of the client and those of responses; a request has the client's since the last response."""
    host = RealtimeHost(PATH)
    create = {"type": "conversation.item.create", "item": TEXT}
    host.read_request(create)
    added, done = said(host.replied(create, []).messages)
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
        [of_response] = said(host.sent("", json.dumps({"type": f"response.output_item.{kind}", "item": ITEM}).encode()))
        expected = {"type": f"conversation.item.{kind}", "item": ITEM, "previous_item_id": added["item"]["id"]}
        assert of_response == expected
    assert said(host.replied(create, []).messages)[0]["previous_item_id"] == "item_f"
    second = host.read_request({"type": "response.create"})
    assert second is not None
    assert (second.body["input"], second.body["previous_response_id"]) == ([], "resp_1")


def test_a_response_beside_the_conversation_has_a_lane_of_its_own() -> None:
    """Its items are none of the conversation's, and its metadata tell it apart."""
    host = RealtimeHost(PATH)
    own = {"conversation": "none", "metadata": {"topic": "a"}, "input": [TEXT]}
    wanted = [host.read_request({"type": "response.create", "response": own}) for _ in range(2)]
    lanes = {one.lane for one in wanted if one is not None}
    assert len(lanes - {""}) == 2
    assert [one.body["metadata"] for one in wanted if one is not None] == [{"topic": "a"}] * 2
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
    """It is done with what it has; where there is none it is an error that names the client's message."""
    reply = begun().replied({"type": "response.cancel", "event_id": "event_c", **message}, lanes)
    assert reply.cancelled == cancelled
    if cancelled is None:
        [error] = json.loads(json.dumps(reply.messages))
        assert (error["error"]["code"], error["error"]["event_id"]) == ("response_cancel_not_active", "event_c")
        return
    details = {"type": "cancelled", "reason": "client_cancelled"}
    response = {**RESPONSE, "status": "cancelled", "status_details": details, "output": [ITEM]}
    assert said([reply.last]) == [{"type": "response.done", "response": response}]


def test_a_response_that_is_done_is_not_cancelled() -> None:
    """Also while something holds its lane."""
    host = begun()
    host.sent("", b'{"type":"response.done","response":{}}')
    assert host.replied({"type": "response.cancel"}, [""]).cancelled is None
    host.over("")
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
def test_what_else_a_client_says_is_confirmed(message: Any, kinds: list[str]) -> None:
    """With what it named; what is unknown gets no reply."""
    replies = said(begun().replied(message, []).messages)
    assert [one["type"] for one in replies] == kinds
    assert all(one["item_id"] for one in replies if "item_id" in one)


def test_a_lane_is_empty_when_its_response_is_over() -> None:
    """The next one there is another."""
    host = begun()
    host.over("")
    assert host.replied({"type": "response.cancel", "response_id": "resp_1"}, [""]) != Reply()
    assert host.replied({"type": "response.cancel", "response_id": "resp_1"}, [""]).cancelled is None
