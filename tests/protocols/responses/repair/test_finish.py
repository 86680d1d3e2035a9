"""The end of Responses streams."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.invariants.driven import inspected, repaired, sse
from tests.protocols.responses.events import (
    CREATED,
    added,
    call,
    closed,
    completed,
    delta,
    done,
    item,
    numbered,
)
from toolstream_core.model import StreamFacts

if TYPE_CHECKING:
    from tests.protocols.responses.events import Payload

EXCHANGE = StreamFacts(path="/v1/responses", content_type="text/event-stream")
TEXT: list[Payload] = [
    {"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "id": "msg_1"}},
    {"type": "response.output_text.delta", "output_index": 1, "item_id": "msg_1", "delta": "And"},
]
COMPLETE = sse(CREATED, *call('{"a":1}'))


def last(out: bytes) -> Payload:
    """Return the data of the last event."""
    event: Payload = json.loads(out.rstrip(b"\n").rsplit(b"data: ", 1)[1])
    return event


@pytest.mark.parametrize(
    "events",
    [
        [added()],
        [added(), delta("{}")],
        [added(), delta('{"a"')],
        [added(), delta('"x"')],
        [added(), delta("[1]")],
        [added(), closed("", status="incomplete")],
        [*call('{"a":1}'), added(place=1)],
        [*call('{"a":1}'), *TEXT],
        [added(), closed(""), added(id="fc_9")],
    ],
    ids=[
        "added",
        "perhaps a placeholder",
        "a fragment",
        "a string",
        "an array",
        "closed as incomplete",
        "another call",
        "text",
        "another item",
    ],
)
def test_no_end_is_added_after_an_open_item(events: list[Payload]) -> None:
    """If the stream ends inside an item, no call is completed and no terminal event is added."""
    outcome = repaired(sse(CREATED, *events), EXCHANGE)
    assert b"response.completed" not in outcome.out
    assert b"arguments.done" not in outcome.out.replace(sse(done('{"a":1}')), b"")
    assert "truncated-stream" in outcome.finding_names


@pytest.mark.parametrize(
    "events",
    [call('{"a":1}'), [added(), delta('{"a":1}')], [added(), done("{}")], [*TEXT, *call('{"a":1}')]],
    ids=["closed", "a complete object", "arguments done", "unclosed text before it"],
)
def test_an_end_is_added_after_a_complete_call(events: list[Payload]) -> None:
    """After a complete call, a terminal event is added, with usage as clients require it."""
    outcome = repaired(sse(CREATED, *events), EXCHANGE)
    ending = last(outcome.out)
    assert ending["type"] == "response.completed"
    assert ending["response"]["usage"]["input_tokens"] == ending["response"]["usage"]["total_tokens"] == 0
    assert ending["response"]["usage"]["output_tokens_details"] == {"reasoning_tokens": 0}
    assert "truncated-stream" not in outcome.finding_names


def test_known_usage_is_kept() -> None:
    """An added terminal event has the usage of `response.created`."""
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    created = {**CREATED, "response": {**CREATED["response"], "usage": usage}}
    assert last(repaired(sse(created, *call('{"a":1}')), EXCHANGE).out)["response"]["usage"] == usage


@pytest.mark.parametrize("broken", [None, "reset"])
@pytest.mark.parametrize(
    "tail",
    [b"event: response.outp", b'data: {"type":"response.output_text.delta","delta":"so', b"data: [1", b"event: x\n"],
)
def test_nothing_is_added_after_a_truncated_event(tail: bytes, broken: str | None) -> None:
    """Nothing is added after a truncated event."""
    assert repaired(COMPLETE + tail, EXCHANGE, broken=broken).out == COMPLETE + tail


@pytest.mark.parametrize(
    "tail", [b'event: response.completed\ndata: {"type":"resp', b'data: {"type":"response.completed",']
)
def test_a_truncated_terminal_event_is_replaced(tail: bytes) -> None:
    """A truncated terminal event is replaced by a complete event, unless the connection was reset."""
    outcome = repaired(COMPLETE + tail, EXCHANGE)
    assert outcome.out.startswith(COMPLETE + b"event: response.completed\ndata: {")
    assert inspected(outcome.out, EXCHANGE).finding_names == []
    assert repaired(COMPLETE + tail, EXCHANGE, broken="reset").out == COMPLETE + tail


def test_a_truncated_comment_stays_after_an_added_event() -> None:
    """A truncated comment stays after an added terminal event."""
    out = repaired(COMPLETE + b": keep-al", EXCHANGE).out
    assert out.endswith(b": keep-al")
    assert inspected(out.removesuffix(b": keep-al"), EXCHANGE).finding_names == []


def test_held_events_are_sent_before_a_truncated_event() -> None:
    """Held events are sent before a truncated event, in their order."""
    body = sse(CREATED, delta('{"a"'), delta(":1")) + b"event: resp"
    assert repaired(body, EXCHANGE).out == body


def test_another_payload_with_a_terminal_event_name_is_unchanged() -> None:
    """A payload of another API in a `response.completed` event is not treated as a bare response."""
    body = b'event: response.completed\ndata: {"candidates":[{"content":{"parts":[{"text":"x"}]}}]}\n\n'
    assert repaired(body, EXCHANGE).out == body


def test_a_bare_response_gets_usage() -> None:
    """A bare response without usage gets usage."""
    bare = {"type": "response.completed", **completed(item('{"a":1}'))["response"]}
    outcome = repaired(sse(CREATED, *call('{"a":1}'), bare), EXCHANGE)
    assert last(outcome.out)["response"]["usage"]["input_tokens"] == 0


@pytest.mark.parametrize("first", ["response.queued", "response.in_progress"])
def test_a_resumed_stream_is_unchanged(first: str) -> None:
    """A resumed stream gets no first event, and its calls are not repeated."""
    status = {**CREATED, "type": first}
    body = sse(*numbered(1, status, delta('{"a"'), delta(":1}"), done('{"a":1}'), closed('{"a":1}'), completed()))
    assert repaired(body, EXCHANGE).out == body
    resumed = sse(*numbered(7, delta(":1}"), done('{"a":1}'), closed('{"a":1}'), completed(item('{"a":1}'))))
    assert repaired(resumed, EXCHANGE).out == resumed


def test_a_resumed_stream_is_recognised_by_its_path() -> None:
    """A stream with `starting_after` in its path is a resumed stream, independent of sequence numbers."""
    body = sse(delta(":1}"), done('{"a":1}'), closed('{"a":1}'))
    resumed = StreamFacts(path="/v1/responses/resp_1?stream=true&starting_after=4", content_type="text/event-stream")
    assert repaired(body, EXCHANGE).out != repaired(body, resumed).out == body


def test_the_end_of_a_resumed_stream_with_an_incomplete_call_is_forwarded() -> None:
    """The terminal event of a resumed stream is forwarded despite an incomplete call, whose beginning is unknown."""
    body = sse(*numbered(7, added(), delta('{"a"'), completed()))
    assert repaired(body, EXCHANGE).out == body


def test_events_after_the_end_are_unchanged() -> None:
    """Events after the terminal event are forwarded unchanged."""
    late = [added(), delta('{"a"')]
    outcome = repaired(sse(CREATED, completed(item('{"a":1}')), *late), EXCHANGE)
    assert outcome.out.endswith(sse(*late))


def test_an_incomplete_call_of_the_completed_response_is_not_streamed() -> None:
    """No events are added for an incomplete call that is only in the completed response."""
    body = sse(CREATED, completed(item('{"a":', status="incomplete")))
    assert repaired(body, EXCHANGE).out == body


def test_an_incomplete_call_keeps_its_status() -> None:
    """An added start of a call that was closed as incomplete does not make the call complete."""
    outcome = repaired(sse(CREATED, closed('{"a":', status="incomplete"), completed(kind="incomplete")), EXCHANGE)
    assert "missing-start" in outcome.finding_names
    assert b'"status":"completed"' not in outcome.out


@pytest.mark.parametrize("created", [CREATED, {"type": "response.created", "response": {}}])
def test_an_added_end_has_an_id(created: Payload) -> None:
    """An added or repaired terminal event has the response's id, or an added id: Codex requires one."""
    bare = {key: value for key, value in completed(item('{"a":1}'))["response"].items() if key != "id"}
    for end in ((), ({"type": "response.completed", **bare},)):
        outcome = repaired(sse(created, *call('{"a":1}'), *end), EXCHANGE)
        response = last(outcome.out)["response"]
        assert re.fullmatch(created["response"].get("id", r"resp_[0-9a-f]{24}"), response["id"])
