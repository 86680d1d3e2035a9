"""Repairs of event stream framing: keep-alives as data, and unterminated events."""

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
def test_a_keep_alive_event_becomes_a_comment(block: bytes, defect: str, comment: bytes) -> None:
    """A keep-alive sent as data becomes a comment; `id` and `retry` lines are kept."""
    outcome = repaired(FIRST + block + REST, CHAT)
    assert outcome.out == FIRST + comment + REST
    assert outcome.finding_names == [defect]
    assert inspected(outcome.out, CHAT).finding_names == []


@pytest.mark.parametrize("block", [b"data: : keepalive\n\n", b"event: keepalive\ndata:\n\n"])
def test_a_keep_alive_event_of_gemini_is_withheld(block: bytes) -> None:
    """A keep-alive sent as data is withheld in Gemini streams, as Google's clients treat comments as errors."""
    gemini = exchange("gemini")
    body = next(one.body for one in streams() if str(one) == "gemini, two")
    first, second = body[: (at := body.index(b"\n\n") + 2)], body[at:]
    outcome = repaired(first + block + second, gemini)
    assert outcome.out == first + second
    assert inspected(outcome.out, gemini).finding_names == []


@pytest.mark.parametrize("block", [b": ping\n\n", b"event: ping\n\n", b"id: 1\n\n", b"\n\n"])
def test_a_block_without_data_is_valid(block: bytes) -> None:
    """A block without data is valid and forwarded unchanged."""
    outcome = repaired(FIRST + block + REST, CHAT)
    assert (outcome.out, outcome.finding_names) == (FIRST + block + REST, [])


def test_an_error_event_without_data_is_kept() -> None:
    """An `error` event with empty data is reported as an error and kept."""
    block = b"event: error\ndata:\n\n"
    outcome = repaired(FIRST + block, CHAT)
    assert block in outcome.out
    assert "in-band-error" in outcome.finding_names
    assert "empty-data" not in outcome.finding_names


def test_many_keep_alives_are_reported_once() -> None:
    """Many keep-alives sent as data are all repaired and reported once."""
    outcome = repaired(FIRST + 3 * b"data:\n\n" + REST, CHAT)
    assert outcome.finding_names == ["empty-data"]
    assert outcome.out == FIRST + 3 * b": keep-alive\n\n" + REST
    assert outcome.record.changed == 3


def test_another_repair_does_not_change_keep_alives() -> None:
    """Without its repair, an empty event is reported and unchanged."""
    body = FIRST + b"data:\n\n" + REST
    outcome = repaired(body, CHAT, "comment-as-data")
    assert (outcome.out, outcome.finding_names) == (body, ["empty-data"])


@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"])
def test_the_last_event_is_terminated(newline: bytes, cut: int) -> None:
    """An unterminated last event is terminated, whichever part of its blank line is missing."""
    body = BODY.replace(b"\n", newline)
    outcome = repaired(body[: -cut * len(newline)], CHAT)
    assert outcome.out == body
    assert outcome.finding_names == ["unterminated-event"]


@pytest.mark.parametrize("last", [b'data: {"id": "chatcmpl-1", "cho', b"data:", b"event: message"])
def test_a_truncated_event_is_not_terminated(last: bytes) -> None:
    """A truncated last event is not terminated."""
    outcome = repaired(FIRST + last, CHAT, "unterminated-event")
    assert outcome.out == FIRST + last
    assert outcome.record.changed == 0


def test_no_event_is_terminated_after_a_disconnect() -> None:
    """An unterminated last event is terminated after a clean end, and not after a disconnect."""
    body = BODY.removesuffix(b"\n\n")
    assert repaired(body, CHAT, broken="reset").out == body
    assert repaired(body, CHAT).out == BODY


def test_json_arrays_are_not_changed() -> None:
    """The repair of unterminated events does not change a JSON array."""
    part = {"functionCall": {"name": "get_time", "args": {"zone": "UTC"}}}
    chunk = json.dumps({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]}).encode()
    facts = exchange("gemini")
    outcome = run(b"[" + chunk, facts, Settings(frozenset({"TS003"})))
    assert outcome.out == b"[" + chunk


@pytest.mark.parametrize("last", [b"data: false", b"data: 12", b"data: {}\nevent: message\nd", b"data: {}\nd"])
def test_an_event_with_an_unknown_end_is_not_terminated(last: bytes) -> None:
    """A last event that may be truncated inside a number or a further line is not terminated."""
    outcome = repaired(FIRST + last, CHAT, "unterminated-event")
    assert (outcome.out, outcome.record.changed) == (FIRST + last, 0)


def test_an_event_sent_before_recognition_is_not_a_change() -> None:
    """A defective event that was sent before the protocol was recognised is reported and not recorded as changed."""
    early = b"event: ping\ndata:\n\n" + b'event: ping\ndata: {"type":"ping"}\n\n'
    body = early + next(one.body for one in streams() if str(one) == "anthropic, fragments")
    outcome = repaired(body, exchange("anthropic"))
    assert (outcome.out, outcome.record.changed) == (body, 0)
    assert outcome.finding_names == ["empty-data"]
