"""A watched response: chunks are forwarded unchanged and at once, and internal errors do not affect them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from unittest.mock import Mock

import pytest
from mitmproxy import http

from tests.invariants.healthy import Healthy, streams
from tests.proxy.flows import CHUNK, DONE, SECRET, llm_flow, wait_until
from tests.proxy.sinks import RecordSink
from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, StreamFacts
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.saved.flow import facts_of, request_json
from toolstream_core.settings import NOTHING, SAFE, Settings

if TYPE_CHECKING:
    from toolstream_core.model import Event


class FailingSink(Sink):
    """A sink that raises on each event."""

    live = True

    def resolved(self, *_: object) -> None:
        raise ValueError(SECRET)


def live_response(*sinks: Sink) -> tuple[LiveResponse, list[Exception]]:
    """Return a watched chat response and the list of its failures."""
    failures: list[Exception] = []
    flow = llm_flow()
    response = LiveResponse(
        flow,
        facts_of(flow, request_json(flow.request)),
        lambda _watch, _protocol: sinks,
        lambda _flow, error: failures.append(error),
    )
    return response, failures


def test_chunks_are_forwarded_unchanged() -> None:
    """Each chunk is returned as the same object before it is read."""
    sink = RecordSink()

    async def run() -> None:
        response, failures = live_response(sink)
        for _ in range(3):
            assert response.stream(CHUNK) is CHUNK
        assert response.stream(b"") == []
        assert response.over
        assert failures == []

    asyncio.run(run())
    (record,) = sink.records
    assert (record.events, len(record.calls)) == (3, 1)


class EventSink(RecordSink):
    """Lists the response's name and the number of each event."""

    live = True

    def __init__(self, events: list[tuple[str, int]], name: str = "") -> None:
        super().__init__()
        self._events, self._name = events, name

    def resolved(self, event: Event, *_: object) -> None:
        self._events.append((self._name, event.frame.number))


def test_chunks_are_read_after_they_were_forwarded() -> None:
    """The chunks of all responses are read in the order of arrival, at the latest when the next chunks arrive."""
    events: list[tuple[str, int]] = []

    async def run() -> None:
        first, second = (live_response(EventSink(events, name))[0] for name in ("one", "two"))
        second.backlog = first.backlog
        for response in (first, first, second, first):
            assert response.stream(CHUNK) is CHUNK
        assert events == []
        expected = [("one", 0), ("one", 1), ("two", 0), ("one", 2)]
        await wait_until(lambda: events == expected)
        second.stream(CHUNK)
        first.stream(b"")
        assert events == [*expected, ("two", 1)]

    asyncio.run(run())


def test_unread_chunks_are_limited() -> None:
    """A burst of chunks is read before it ends, which bounds the memory."""
    events: list[tuple[str, int]] = []

    async def run() -> None:
        response, _ = live_response(EventSink(events))
        sent = 0
        while not events:
            response.stream(CHUNK)
            sent += len(CHUNK)
        assert sent <= 2**18 + len(CHUNK)

    asyncio.run(run())


def test_without_a_loop_chunks_are_read_at_once() -> None:
    """Without an event loop, each chunk is read when it is forwarded."""
    sink = RecordSink()
    response, _ = live_response(sink)
    assert response.stream(CHUNK) is CHUNK
    response.finish(broken="gone")
    response.finish()
    (record,) = sink.records
    assert (record.events, record.broken) == (1, "gone")


@pytest.mark.parametrize(
    ("silent", "broken"), [(4.0, "Client disconnected."), (16.2, "Client disconnected after 16 s without data")]
)
def test_a_stall_before_a_disconnect_is_reported(silent: float, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The record says how long the client received no data before it disconnected."""
    now = [100.0]
    monkeypatch.setattr("toolstream_core.proxy.live_response.time.monotonic", lambda: now[0])
    sink = RecordSink()
    response, _ = live_response(sink)
    response.stream(CHUNK)
    now[0] += silent
    response.finish(broken="Client disconnected.")
    (record,) = sink.records
    assert record.broken == broken
    assert broken in record.findings[-1].message
    assert record.findings[-1].severity == "note"


def test_a_recorder_gets_a_disconnect_after_the_finish_reason() -> None:
    """The record ignores it, and the recorder gets it: what is saved must not look like a body without `[DONE]`."""
    response, _ = live_response(RecordSink())
    recorder = Mock()
    response.record_with([recorder])
    response.stream(CHUNK.replace(b'"finish_reason":null', b'"finish_reason":"tool_calls"'))
    response.finish(broken="Client disconnected.")
    response.close()
    assert response.record is not None
    assert response.record.broken is None
    [call] = recorder.end.call_args_list
    assert call.args[2] == "Client disconnected."


def test_a_failing_sink_is_reported_once() -> None:
    """After a sink failed, the response is no longer read, and its bytes are forwarded."""
    response, failures = live_response(FailingSink())
    for _ in range(5):
        assert response.stream(CHUNK) is CHUNK
    assert response.stream(b"") == []
    assert [type(error) for error in failures] == [ValueError]


def test_a_failing_sink_in_the_loop_is_reported() -> None:
    """No exception reaches mitmproxy's event loop."""

    async def run() -> list[Exception]:
        caught: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: caught.append(context))
        response, failures = live_response(FailingSink())
        assert response.stream(CHUNK) is CHUNK
        await wait_until(lambda: failures != [])
        assert response.stream(CHUNK) is CHUNK
        assert response.stream(b"") == []
        assert caught == []
        return failures

    assert len(asyncio.run(run())) == 1


def test_secrets_of_the_request_are_hidden() -> None:
    """A secret of the request is redacted in any text."""
    response, _ = live_response()
    assert response.hide(f"no such key: {SECRET}") == "no such key: [redacted]"


def test_elapsed_counts_from_the_request() -> None:
    """`elapsed` is the time in milliseconds from the request to the chunk that is read."""
    response, _ = live_response()
    assert response.elapsed() == 0
    response.stream(DONE)
    assert response.elapsed() > 0


def test_facts_of_a_flow() -> None:
    """The facts of a flow are its address and its content headers."""
    flow = llm_flow()
    assert flow.response is not None
    flow.response.headers["content-encoding"] = "br"
    assert facts_of(flow, ABSENT) == StreamFacts(
        source=flow.id,
        host=flow.request.pretty_host,
        path=flow.request.path,
        content_type="text/event-stream",
        content_encoding="br",
    )


def test_which_requests_are_parsed() -> None:
    """Only the body of a POST with a JSON content type or without a content type is parsed."""
    flow = llm_flow()
    assert request_json(flow.request)["model"] == "m"
    flow.request.headers["content-encoding"] = "gzip"
    assert request_json(flow.request) is ABSENT
    assert request_json(http.Request.make("GET", "http://h/")) is ABSENT
    assert request_json(http.Request.make("POST", "http://h/", b"{", http.Headers(content_type="text/plain"))) is ABSENT


@pytest.mark.parametrize("settings", [NOTHING, Settings(SAFE)], ids=["reading", "repairing"])
@pytest.mark.parametrize("healthy", streams(), ids=str)
def test_the_empty_chunk_is_the_end(healthy: Healthy, settings: Settings) -> None:
    """A response ends with the empty chunk after any last event, also after one that the fast path forwards unread."""
    frames = healthy.frames

    async def run() -> None:
        for count in range(1, len(frames) + 1):
            sink, flow = RecordSink(), llm_flow()
            assert flow.response is not None
            flow.request.path = healthy.exchange.path
            flow.response.headers["content-type"] = healthy.exchange.content_type
            response = LiveResponse(
                flow, facts_of(flow, healthy.exchange.request), lambda *_, sink=sink: (sink,), fail, settings
            )
            for frame in [*frames[:count], frames[count - 1]]:
                response.stream(frame)
            response.stream(b"")
            assert response.over
            assert len(sink.records) == 1

    asyncio.run(run())


def fail(_flow: http.HTTPFlow, error: Exception) -> None:
    """Raise an error that the response reports."""
    raise error
