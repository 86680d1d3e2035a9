"""The record: what one answer was, streamed or whole, and who is told of it as it comes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from toolstream_core.engine.session import read_body
from toolstream_core.engine.sink import Sink
from toolstream_core.model import Call, Event, EventContent, Kind, Record, StreamFacts
from toolstream_core.model.record import runs_on_client

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import ResolvedFragment

HEAD = b'data: {"object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":'
SSE = StreamFacts(source="here", host="h", content_type="text/event-stream")


def chunk(delta: bytes, finish: bytes = b"null") -> bytes:
    """A chat chunk."""
    return HEAD + delta + b',"finish_reason":' + finish + b"}]}\n\n"


CALL = chunk(b'{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}')
TEXT = chunk(b'{"content":"hi"}')
FINISH = chunk(b"{}", b'"tool_calls"')
DONE = b"data: [DONE]\n\n"


def test_a_stream() -> None:
    """Events, bytes, finish, end, model and calls."""
    body = TEXT + CALL + FINISH + DONE
    record = read_body([body], SSE)
    assert record is not None
    assert (record.source, record.host, record.dialect, record.model) == ("here", "h", "openai-chat", "m")
    assert (record.events, record.bytes, record.finish, record.ended) == (4, len(body), ["tool_calls"], True)
    assert [(call.id, call.name, call.arguments, list(call.events)) for call in record.calls] == [("a", "f", "{}", [1])]
    assert (record.findings, record.error, record.broken, record.streamed) == ([], None, None, True)


def test_the_model_of_the_answer_beats_the_one_asked_for() -> None:
    """Where the answer does not say it, what the request asked for is told."""
    asked = StreamFacts(content_type="text/event-stream", request={"model": "asked", "messages": []})
    record = read_body([TEXT.replace(b'"model":"m",', b"") + DONE], asked)
    assert record is not None
    assert record.model == "asked"
    answered = read_body([TEXT + DONE], asked)
    assert answered is not None
    assert answered.model == "m"


def test_a_whole_answer() -> None:
    """Not streamed: one event, its calls, its end."""
    body = b'{"object":"chat.completion","choices":[{"message":{"function_call":{"name":"f"}},"finish_reason":"stop"}]}'
    record = read_body([body], StreamFacts(content_type="application/json"))
    assert record is not None
    assert (record.streamed, record.events, record.ended, record.finish) == (False, 1, True, ["stop"])
    assert [call.name for call in record.calls] == ["f"]


@pytest.mark.parametrize(
    ("body", "broken", "names"),
    [
        (TEXT + CALL + FINISH + DONE, None, []),
        (TEXT + CALL, None, ["truncated-stream"]),
        (TEXT + CALL, "reset", ["truncated-stream"]),
        (TEXT + CALL + FINISH, "reset", ["unterminated-body"]),
        (CALL.replace(b'"{}"', b'"{"') + FINISH + DONE, None, ["cut-off-call"]),
        (CALL.replace(b'"{}"', b'"{"'), None, ["truncated-stream", "cut-off-call"]),
        (TEXT + CALL + FINISH + DONE.rstrip(b"\n"), None, ["unterminated-event"]),
        (TEXT + b"data: {oops\n\n" + CALL + FINISH + DONE, None, ["unparsable-data"]),
        (TEXT + b'data: {"error":{"message":"no"}}\n\n', None, ["in-band-error"]),
        (TEXT + b'error: {"code":500,"message":"no"}\n\n', None, ["in-band-error"]),
        (TEXT + b"event: error\ndata: too long\n\n", None, ["in-band-error"]),
        (TEXT + CALL.replace(b'"choices"', b'"score":NaN,"choices"') + FINISH + DONE, None, ["unparsable-data"]),
        (TEXT + CALL.replace(b'"choices"', b'"score":"NaN","choices"') + FINISH + DONE, None, []),
    ],
)
def test_how_it_stopped(body: bytes, broken: str | None, names: list[str]) -> None:
    """What is wrong with how it is framed and how it ends, and nothing else."""
    record = read_body([body], SSE, broken=broken)
    assert record is not None
    assert [finding.name for finding in record.findings] == names


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (b'error: {"code":500,"message":"no"}', "500: no"),
        (b"error: too long", "too long"),
        (b"event: error\ndata: too long", "too long"),
        (b'event: error\ndata: "too long"', "too long"),
        (b"event: error\ndata: ", "error event"),
    ],
)
def test_what_an_error_says_is_told(said: bytes, told: str) -> None:
    """In llama.cpp's own field, and under an event's name, JSON or not."""
    for head in (TEXT, b""):
        record = read_body([head, said + b"\n\n"], replace(SSE, path="/v1/chat/completions"))
        assert record is not None
        assert record.error == told


@pytest.mark.parametrize(("status", "names"), [(200, ["body-not-stream"]), (400, []), (503, [])])
def test_a_whole_body_where_a_stream_was_asked_for(status: int, names: list[str]) -> None:
    """An error is whole by right."""
    asked = StreamFacts(
        path="/v1/chat/completions", content_type="application/json", request={"stream": True}, status=status
    )
    record = read_body([b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}'], asked)
    assert record is not None
    assert [finding.name for finding in record.findings] == names


def test_what_is_no_answer_has_no_record() -> None:
    """Other people's streams, and nothing at all."""
    assert read_body([b'data: {"price":1}\n\n'], SSE) is None
    assert read_body([], SSE) is None
    assert read_body([b"<html>"], StreamFacts(content_type="text/html")) is None


class Ear(Sink):
    """A sink that keeps what it is told."""

    def __init__(self, *, live: bool, each: bool = False) -> None:
        """What to ask for."""
        self.live = live
        self.each = each
        self.told: list[str] = []

    def quiet(self, first: int, frames: int, size: int) -> None:
        """Keep how many."""
        self.told.append(f"{frames} quiet from {first}")

    def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
        """Keep which."""
        self.told.append(f"heard {event.frame.number} {len(told)}")

    def ended(self, record: Record) -> None:
        """Keep that it is over."""
        self.told.append(f"ended {record.events}")


def test_sinks_are_told_what_they_ask_for() -> None:
    """The events to those who live with the stream, one by one to those who ask; the end to all."""
    body = [TEXT, TEXT, TEXT * 20, CALL, DONE]
    live, each, late = Ear(live=True), Ear(live=True, each=True), Ear(live=False)
    read_body(body, SSE, sinks=[live, late])
    read_body(body, SSE, sinks=[each])
    assert live.told == [
        "heard 0 0",
        "heard 1 0",
        "1 quiet from 2",
        "19 quiet from 3",
        "heard 22 1",
        "heard 23 0",
        "ended 24",
    ]
    assert each.told[2] == "1 quiet from 2"
    assert len(each.told) == 25
    assert late.told == ["ended 24"]


def test_an_unread_rest_is_told() -> None:
    """Where reading stopped before the end, the record says so and blames the stream for nothing else."""

    class Broken(Ear):
        def resolved(self, event: Event, said: EventContent, told: Sequence[ResolvedFragment]) -> None:
            raise RuntimeError("our fault")

    record = read_body([TEXT, CALL], SSE, sinks=[Broken(live=True)])
    assert record is not None
    assert [finding.name for finding in record.findings] == ["unreadable-body"]


def test_who_runs_a_call() -> None:
    """The client runs functions and custom calls, not the provider's own."""
    assert [runs_on_client(Call(0, 0, kind)) for kind in Kind] == [True, True, False]
