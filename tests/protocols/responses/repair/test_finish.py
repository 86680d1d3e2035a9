"""How Responses streams end: what is made up, and what is not."""

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
WHOLE = sse(CREATED, *call('{"a":1}'))


def last(out: bytes) -> Payload:
    """The data of the last event."""
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
        "a piece",
        "a string",
        "an array",
        "closed as incomplete",
        "another call",
        "text",
        "a piece of its own",
    ],
)
def test_what_is_not_over_is_not_ended(events: list[Payload]) -> None:
    """A clean end says nothing: no call is made whole, and the response stays without its end."""
    went = repaired(sse(CREATED, *events), EXCHANGE)
    assert b"response.completed" not in went.out
    assert b"arguments.done" not in went.out.replace(sse(done('{"a":1}')), b"")
    assert "truncated-stream" in went.finding_names


@pytest.mark.parametrize(
    "events",
    [call('{"a":1}'), [added(), delta('{"a":1}')], [added(), done("{}")], [*TEXT, *call('{"a":1}')]],
    ids=["closed", "a whole object", "said whole", "text before it that nothing closed"],
)
def test_what_is_over_is_ended(events: list[Payload]) -> None:
    """With usage in numbers, on which readers count."""
    went = repaired(sse(CREATED, *events), EXCHANGE)
    ending = last(went.out)
    assert ending["type"] == "response.completed"
    assert ending["response"]["usage"]["input_tokens"] == ending["response"]["usage"]["total_tokens"] == 0
    assert ending["response"]["usage"]["output_tokens_details"] == {"reasoning_tokens": 0}
    assert "truncated-stream" not in went.finding_names


def test_usage_that_was_said_is_kept() -> None:
    """In the response as it was created."""
    usage = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    created = {**CREATED, "response": {**CREATED["response"], "usage": usage}}
    assert last(repaired(sse(created, *call('{"a":1}')), EXCHANGE).out)["response"]["usage"] == usage


@pytest.mark.parametrize("broken", [None, "reset"])
@pytest.mark.parametrize(
    "tail",
    [b"event: response.outp", b'data: {"type":"response.output_text.delta","delta":"so', b"data: [1", b"event: x\n"],
)
def test_nothing_is_put_behind_a_cut_event(tail: bytes, broken: str | None) -> None:
    """It would become a part of it; and nobody knows what else was lost."""
    assert repaired(WHOLE + tail, EXCHANGE, broken=broken).out == WHOLE + tail


@pytest.mark.parametrize(
    "tail", [b'event: response.completed\ndata: {"type":"resp', b'data: {"type":"response.completed",']
)
def test_a_cut_terminal_event_gives_way_to_a_whole_one(tail: bytes) -> None:
    """All else was said; where the connection broke, it stays as it is."""
    went = repaired(WHOLE + tail, EXCHANGE)
    assert went.out.startswith(WHOLE + b"event: response.completed\ndata: {")
    assert inspected(went.out, EXCHANGE).finding_names == []
    assert repaired(WHOLE + tail, EXCHANGE, broken="reset").out == WHOLE + tail


def test_a_cut_comment_stays_behind_the_ending() -> None:
    """It says nothing, and is the last thing still."""
    out = repaired(WHOLE + b": keep-al", EXCHANGE).out
    assert out.endswith(b": keep-al")
    assert inspected(out.removesuffix(b": keep-al"), EXCHANGE).finding_names == []


def test_what_was_held_goes_before_a_cut_event() -> None:
    """In the order in which it came."""
    body = sse(CREATED, delta('{"a"'), delta(":1")) + b"event: resp"
    assert repaired(body, EXCHANGE).out == body


def test_a_foreign_event_under_a_terminal_name_is_no_bare_response() -> None:
    """Its text would go with the wrapping."""
    body = b'event: response.completed\ndata: {"candidates":[{"content":{"parts":[{"text":"x"}]}}]}\n\n'
    assert repaired(body, EXCHANGE).out == body


def test_a_bare_response_has_usage_in_numbers() -> None:
    """Where neither it nor the created one said any."""
    bare = {"type": "response.completed", **completed(item('{"a":1}'))["response"]}
    went = repaired(sse(CREATED, *call('{"a":1}'), bare), EXCHANGE)
    assert last(went.out)["response"]["usage"]["input_tokens"] == 0


@pytest.mark.parametrize("first", ["response.queued", "response.in_progress"])
def test_a_resumed_stream_goes_on_as_it_came(first: str) -> None:
    """What it goes on from has been read: no head is made up, and no call said again."""
    status = {**CREATED, "type": first}
    body = sse(*numbered(1, status, delta('{"a"'), delta(":1}"), done('{"a":1}'), closed('{"a":1}'), completed()))
    assert repaired(body, EXCHANGE).out == body
    behind = sse(*numbered(7, delta(":1}"), done('{"a":1}'), closed('{"a":1}'), completed(item('{"a":1}'))))
    assert repaired(behind, EXCHANGE).out == behind


def test_a_resumed_stream_is_known_by_its_path() -> None:
    """Whatever its numbers are."""
    body = sse(delta(":1}"), done('{"a":1}'), closed('{"a":1}'))
    resumed = StreamFacts(path="/v1/responses/resp_1?stream=true&starting_after=4", content_type="text/event-stream")
    assert repaired(body, EXCHANGE).out != repaired(body, resumed).out == body


def test_the_end_of_a_resumed_stream_goes_on_although_a_call_is_half() -> None:
    """What of the call came before is not known, and nothing of the stream is judged."""
    body = sse(*numbered(7, added(), delta('{"a"'), completed()))
    assert repaired(body, EXCHANGE).out == body


def test_events_behind_the_end_go_on_as_they_came() -> None:
    """The call that the response said is said before it; what comes behind it is not judged."""
    behind = [added(), delta('{"a"')]
    went = repaired(sse(CREATED, completed(item('{"a":1}')), *behind), EXCHANGE)
    assert went.out.endswith(sse(*behind))


def test_a_half_call_in_the_completed_response_is_not_said() -> None:
    """It would look like a whole one."""
    body = sse(CREATED, completed(item('{"a":', status="incomplete")))
    assert repaired(body, EXCHANGE).out == body


def test_a_call_that_was_closed_as_incomplete_stays_that() -> None:
    """Also where it is said anew, because nothing added it."""
    went = repaired(sse(CREATED, closed('{"a":', status="incomplete"), completed(kind="incomplete")), EXCHANGE)
    assert "missing-start" in went.finding_names
    assert b'"status":"completed"' not in went.out


@pytest.mark.parametrize("created", [CREATED, {"type": "response.created", "response": {}}])
def test_a_response_that_is_completed_here_has_an_id(created: Payload) -> None:
    """Its own, or one that is made up: Codex reads no end without."""
    bare = {key: value for key, value in completed(item('{"a":1}'))["response"].items() if key != "id"}
    for end in ((), ({"type": "response.completed", **bare},)):
        went = repaired(sse(created, *call('{"a":1}'), *end), EXCHANGE)
        response = last(went.out)["response"]
        assert re.fullmatch(created["response"].get("id", r"resp_[0-9a-f]{24}"), response["id"])
