"""Blocks of an event stream: keep-alives as data, and the last event's end."""

from __future__ import annotations

import json

import pytest

from tests.invariants.driven import exchange, inspected, repaired, run
from tests.invariants.healthy import streams
from toolstream_core.settings import Settings

CHAT = exchange("openai-chat")
BODY = next(one.body for one in streams() if str(one) == "openai-chat, fragments")
FIRST, REST = (BODY[: (at := BODY.index(b"\n\n") + 2)], BODY[at:])
COMMENT = b": keepalive\n\n"


@pytest.mark.parametrize(
    ("block", "defect", "comment"),
    [
        (b"data: : keepalive\n\n", "comment-as-data", COMMENT),
        (b"data:: keepalive\n\n", "comment-as-data", COMMENT),
        (b"data: :\n\n", "comment-as-data", b": keep-alive\n\n"),
        (b"data: : keepalive\r\n\r\n", "comment-as-data", b": keepalive\r\n\r\n"),
        (b"data:\n\n", "empty-data", b": keep-alive\n\n"),
        (b"data: \n\n", "empty-data", b": keep-alive\n\n"),
        (b"event: keepalive\ndata:\n\n", "empty-data", b": keepalive\n: keep-alive\n\n"),
        (b"id: 7\nretry: 9\ndata:\n\n", "empty-data", b"id: 7\nretry: 9\n: keep-alive\n\n"),
        (b"data: : a\ndata: data: {}\n\n", "comment-as-data", b": a\n: data: {}\n\n"),
        (b"data:\r\r", "empty-data", b": keep-alive\r\r"),
    ],
)
def test_what_keeps_alive_becomes_a_comment(block: bytes, defect: str, comment: bytes) -> None:
    """No reader dispatches it any more; id and retry lines, by which readers reconnect, stay."""
    went = repaired(FIRST + block + REST, CHAT)
    assert went.out == FIRST + comment + REST
    assert went.finding_names == [defect]
    assert inspected(went.out, CHAT).finding_names == []


@pytest.mark.parametrize("block", [b"data: : keepalive\n\n", b"event: keepalive\ndata:\n\n"])
def test_what_keeps_alive_is_withheld_in_gemini(block: bytes) -> None:
    """Google's own clients take a comment for the text of an error; that for Go cannot read a blank line either."""
    gemini = exchange("gemini")
    body = next(one.body for one in streams() if str(one) == "gemini, two")
    first, second = body[: (at := body.index(b"\n\n") + 2)], body[at:]
    went = repaired(first + block + second, gemini)
    assert went.out == first + second
    assert inspected(went.out, gemini).finding_names == []


@pytest.mark.parametrize("block", [b": ping\n\n", b"event: ping\n\n", b"id: 1\n\n", b"\n\n"])
def test_a_block_without_data_is_valid(block: bytes) -> None:
    """The standard does not dispatch it."""
    went = repaired(FIRST + block + REST, CHAT)
    assert (went.out, went.finding_names) == (FIRST + block + REST, [])


def test_an_error_that_is_only_its_name_stays() -> None:
    """Data may be empty where the event's name says it all."""
    block = b"event: error\ndata:\n\n"
    went = repaired(FIRST + block, CHAT)
    assert block in went.out
    assert "in-band-error" in went.finding_names
    assert "empty-data" not in went.finding_names


def test_each_kind_is_told_once() -> None:
    """However many there are, all of them are mended."""
    went = repaired(FIRST + 3 * b"data:\n\n" + REST, CHAT)
    assert went.finding_names == ["empty-data"]
    assert went.out == FIRST + 3 * b": keep-alive\n\n" + REST
    assert went.record.changed == 3


def test_without_the_repair_nothing_changes() -> None:
    """It is told all the same."""
    body = FIRST + b"data:\n\n" + REST
    went = repaired(body, CHAT, "comment-as-data")
    assert (went.out, went.finding_names) == (body, ["empty-data"])


@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_the_last_event_is_terminated(newline: bytes, cut: int) -> None:
    """Whichever part of its blank line is missing."""
    body = BODY.replace(b"\n", newline)
    went = repaired(body[: -cut * len(newline)], CHAT)
    assert went.out == body
    assert went.finding_names == ["unterminated-event"]


@pytest.mark.parametrize("last", [b'data: {"id": "chatcmpl-1", "cho', b"data:", b"event: message"])
def test_half_an_event_stays_half(last: bytes) -> None:
    """To end it would be to say it."""
    went = repaired(FIRST + last, CHAT, "unterminated-event")
    assert went.out == FIRST + last
    assert went.record.changed == 0


def test_a_broken_connection_stays_broken() -> None:
    """Only what the provider ended itself is given its end."""
    body = BODY.removesuffix(b"\n\n")
    assert repaired(body, CHAT, broken="reset").out == body
    assert repaired(body, CHAT).out == BODY


def test_json_arrays_are_left_alone() -> None:
    """They have no blank lines to lack."""
    part = {"functionCall": {"name": "get_time", "args": {"zone": "UTC"}}}
    chunk = json.dumps({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}).encode()
    known = exchange("gemini")
    went = run(b"[" + chunk, known, Settings(frozenset({"TS003"})))
    assert went.out == b"[" + chunk


@pytest.mark.parametrize("last", [b"data: false", b"data: 12", b"data: {}\nevent: message\nd", b"data: {}\nd"])
def test_what_may_be_more_than_one_event_is_not_terminated(last: bytes) -> None:
    """Its end is not known: half a number, or half of another event."""
    went = repaired(FIRST + last, CHAT, "unterminated-event")
    assert (went.out, went.record.changed) == (FIRST + last, 0)


def test_what_went_on_before_the_protocol_was_known_is_no_change() -> None:
    """The client had it by then."""
    early = b"event: ping\ndata:\n\n" + b'event: ping\ndata: {"type":"ping"}\n\n'
    body = early + next(one.body for one in streams() if str(one) == "anthropic, fragments")
    went = repaired(body, exchange("anthropic"))
    assert (went.out, went.record.changed) == (body, 0)
    assert went.finding_names == ["empty-data"]
