"""The record of a response, streamed or not, and the notification of sinks."""

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
    """Return a Chat Completions chunk."""
    return HEAD + delta + b',"finish_reason":' + finish + b"}]}\n\n"


CALL = chunk(b'{"tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}')
TEXT = chunk(b'{"content":"hi"}')
FINISH = chunk(b"{}", b'"tool_calls"')
DONE = b"data: [DONE]\n\n"


def test_the_record_of_a_stream() -> None:
    """The record of a stream has its source, model, counts, finish reason, end and calls."""
    body = TEXT + CALL + FINISH + DONE
    record = read_body([body], SSE)
    assert record is not None
    assert (record.source, record.host, record.protocol, record.model) == ("here", "h", "openai-chat", "m")
    assert (record.events, record.bytes, record.finish, record.ended) == (4, len(body), ["tool_calls"], True)
    assert [(call.id, call.name, call.arguments, list(call.events)) for call in record.calls] == [("a", "f", "{}", [1])]
    assert (record.findings, record.error, record.broken, record.streamed) == ([], None, None, True)


def test_the_model_of_the_response_takes_precedence() -> None:
    """The model is that of the response, or of the request if the response has none."""
    facts = StreamFacts(content_type="text/event-stream", request={"model": "requested", "messages": []})
    record = read_body([TEXT.replace(b'"model":"m",', b"") + DONE], facts)
    assert record is not None
    assert record.model == "requested"
    record_with_model = read_body([TEXT + DONE], facts)
    assert record_with_model is not None
    assert record_with_model.model == "m"


def test_the_record_of_an_unstreamed_response() -> None:
    """An unstreamed response has one event, its calls, a finish reason and an end."""
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
def test_findings_of_framing_and_end(body: bytes, broken: str | None, names: list[str]) -> None:
    """Defects of the framing and of the end are reported, and no others."""
    record = read_body([body], SSE, broken=broken)
    assert record is not None
    assert [finding.name for finding in record.findings] == names


@pytest.mark.parametrize(
    ("field", "error"),
    [
        (b'error: {"code":500,"message":"no"}', "500: no"),
        (b"error: too long", "too long"),
        (b"event: error\ndata: too long", "too long"),
        (b'event: error\ndata: "too long"', "too long"),
        (b"event: error\ndata: ", "error event"),
    ],
)
def test_the_text_of_an_error_is_recorded(field: bytes, error: str) -> None:
    """The error text is recorded from an `error` field (llama.cpp) and from an `error` event, JSON or not."""
    for head in (TEXT, b""):
        record = read_body([head, field + b"\n\n"], replace(SSE, path="/v1/chat/completions"))
        assert record is not None
        assert record.error == error


@pytest.mark.parametrize(("status", "names"), [(200, ["body-not-stream"]), (400, []), (503, [])])
def test_an_unstreamed_response_to_a_streaming_request_is_reported(status: int, names: list[str]) -> None:
    """An unstreamed response to a streaming request is reported, unless it has an error status."""
    facts = StreamFacts(
        path="/v1/chat/completions", content_type="application/json", request={"stream": True}, status=status
    )
    record = read_body([b'{"choices":[{"message":{"content":"Hi"},"finish_reason":"stop"}]}'], facts)
    assert record is not None
    assert [finding.name for finding in record.findings] == names


def test_other_bodies_have_no_record() -> None:
    """Other streams, empty bodies and HTML have no record."""
    assert read_body([b'data: {"price":1}\n\n'], SSE) is None
    assert read_body([], SSE) is None
    assert read_body([b"<html>"], StreamFacts(content_type="text/html")) is None


class RecordingSink(Sink):
    """A sink that keeps its notifications."""

    def __init__(self, *, live: bool, each: bool = False) -> None:
        """Set the kind of events to receive."""
        self.live = live
        self.each = each
        self.notifications: list[str] = []

    def quiet(self, first: int, frames: int, size: int) -> None:
        """Keep the number of frames."""
        self.notifications.append(f"{frames} quiet from {first}")

    def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
        """Keep the event's number."""
        self.notifications.append(f"event {event.frame.number} {len(fragments)}")

    def ended(self, record: Record) -> None:
        """Keep the number of events."""
        self.notifications.append(f"ended {record.events}")


def test_sinks_receive_the_requested_events() -> None:
    """A live sink receives events, with `each` every quiet event too; all sinks receive the end."""
    body = [TEXT, TEXT, TEXT * 20, CALL, DONE]
    live, each, late = RecordingSink(live=True), RecordingSink(live=True, each=True), RecordingSink(live=False)
    read_body(body, SSE, sinks=[live, late])
    read_body(body, SSE, sinks=[each])
    assert live.notifications == [
        "event 0 0",
        "event 1 0",
        "1 quiet from 2",
        "19 quiet from 3",
        "event 22 1",
        "event 23 0",
        "ended 24",
    ]
    assert each.notifications[2] == "1 quiet from 2"
    assert len(each.notifications) == 25
    assert late.notifications == ["ended 24"]


def test_an_unread_rest_is_reported() -> None:
    """If reading stops after an internal error, that is the only finding."""

    class Broken(RecordingSink):
        def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
            raise RuntimeError("a bug")

    record = read_body([TEXT, CALL], SSE, sinks=[Broken(live=True)])
    assert record is not None
    assert [finding.name for finding in record.findings] == ["unreadable-body"]


def test_runs_on_client() -> None:
    """The client runs function calls and custom calls, but no server calls."""
    assert [runs_on_client(Call(0, 0, kind)) for kind in Kind] == [True, True, False]
