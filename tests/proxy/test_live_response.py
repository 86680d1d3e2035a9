"""A watched answer: chunks pass as they are and at once; nothing of ours gets in between."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest
from mitmproxy import http

from tests.invariants.healthy import Healthy, streams
from tests.proxy.flows import CHUNK, DONE, SECRET, llm_flow
from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, Record, StreamFacts
from toolstream_core.proxy.live_response import LiveResponse
from toolstream_core.saved.flow import facts_of, request_json
from toolstream_core.settings import NOTHING, SAFE, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.model import Event


class Ear(Sink):
    """Keeps the records it is told."""

    def __init__(self) -> None:
        """Start empty."""
        self.records: list[Record] = []

    def ended(self, record: Record) -> None:
        """Keep it."""
        self.records.append(record)


class Deaf(Sink):
    """Raises when it is told anything."""

    live = True

    def resolved(self, *_: object) -> None:
        """Raise."""
        raise ValueError(SECRET)


def watch(*sinks: Sink) -> tuple[LiveResponse, list[Exception]]:
    """A watch over a chat answer, and the failures that it tells."""
    failures: list[Exception] = []
    flow = llm_flow()
    made = LiveResponse(
        flow, request_json(flow.request), lambda _watch, _dialect: sinks, lambda _flow, error: failures.append(error)
    )
    return made, failures


def test_the_same_objects_pass_at_once() -> None:
    """Each chunk is returned as it came, before it is read."""
    ear = Ear()

    async def run() -> None:
        made, failures = watch(ear)
        for _ in range(3):
            assert made.stream(CHUNK) is CHUNK
        assert made.stream(b"") == []
        assert made.over
        assert failures == []

    asyncio.run(run())
    (record,) = ear.records
    assert (record.events, len(record.calls)) == (3, 1)


class Told(Ear):
    """Notes the response and the number of each event."""

    live = True

    def __init__(self, told: list[tuple[str, int]], name: str = "") -> None:
        super().__init__()
        self._told, self._name = told, name

    def resolved(self, event: Event, *_: object) -> None:
        """Note the event."""
        self._told.append((self._name, event.frame.number))


async def waited(done: Callable[[], bool]) -> None:
    """Let the loop have turns until a condition is met."""
    async with asyncio.timeout(60):
        while not done():  # noqa: ASYNC110 - nothing else tells it
            await asyncio.sleep(0.001)


def test_chunks_are_read_after_they_were_forwarded() -> None:
    """Those of all responses in the order in which they came; none waits for more than the next chunks."""
    told: list[tuple[str, int]] = []

    async def run() -> None:
        one, two = (watch(Told(told, name))[0] for name in ("one", "two"))
        two.backlog = one.backlog
        for made in (one, one, two, one):
            assert made.stream(CHUNK) is CHUNK
        assert told == []
        expected = [("one", 0), ("one", 1), ("two", 0), ("one", 2)]
        await waited(lambda: told == expected)
        two.stream(CHUNK)
        one.stream(b"")
        assert told == [*expected, ("two", 1)]

    asyncio.run(run())


def test_a_flood_is_read_as_it_comes() -> None:
    """So that memory stays bounded."""
    told: list[tuple[str, int]] = []

    async def run() -> None:
        made, _ = watch(Told(told))
        sent = 0
        while not told:
            made.stream(CHUNK)
            sent += len(CHUNK)
        assert sent <= 2**18 + len(CHUNK)

    asyncio.run(run())


def test_without_a_loop_chunks_are_read_at_once() -> None:
    """Where nobody has turns, nothing waits."""
    ear = Ear()
    made, _ = watch(ear)
    assert made.stream(CHUNK) is CHUNK
    made.finish(broken="gone")
    made.finish()
    (record,) = ear.records
    assert (record.events, record.broken) == (1, "gone")


@pytest.mark.parametrize(
    ("silent", "broken"), [(4.0, "Client disconnected."), (16.2, "Client disconnected after 16 s without data")]
)
def test_a_stall_before_a_break_is_reported(silent: float, broken: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that waited in vain left because of the provider."""
    now = [100.0]
    monkeypatch.setattr("toolstream_core.proxy.live_response.time.monotonic", lambda: now[0])
    ear = Ear()
    made, _ = watch(ear)
    made.stream(CHUNK)
    now[0] += silent
    made.finish(broken="Client disconnected.")
    (record,) = ear.records
    assert record.broken == broken
    assert broken in record.findings[-1].message
    assert record.findings[-1].severity == "note"


def test_a_failure_is_told_once_and_changes_nothing() -> None:
    """A sink that raises ends the reading of this answer; its bytes go on."""
    made, failures = watch(Deaf())
    for _ in range(5):
        assert made.stream(CHUNK) is CHUNK
    assert made.stream(b"") == []
    assert [type(one) for one in failures] == [ValueError]


def test_a_failure_in_the_loop_is_told_too() -> None:
    """And none reaches mitmproxy's loop."""

    async def run() -> list[Exception]:
        caught: list[object] = []
        asyncio.get_running_loop().set_exception_handler(lambda _loop, context: caught.append(context))
        made, failures = watch(Deaf())
        assert made.stream(CHUNK) is CHUNK
        await waited(lambda: failures != [])
        assert made.stream(CHUNK) is CHUNK
        assert made.stream(b"") == []
        assert caught == []
        return failures

    assert len(asyncio.run(run())) == 1


def test_hide() -> None:
    """The request's own secrets, wherever they show."""
    made, _ = watch()
    assert made.hide(f"no such key: {SECRET}") == "no such key: [redacted]"


def test_elapsed_counts_from_the_request() -> None:
    """Milliseconds to the arrival of what is read."""
    made, _ = watch()
    assert made.elapsed() == 0
    made.stream(DONE)
    assert made.elapsed() > 0


def test_exchange() -> None:
    """What the flow says beside the body."""
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


def test_request_json() -> None:
    """Only of a POST that says it is JSON, or says nothing; never raises."""
    flow = llm_flow()
    assert request_json(flow.request)["model"] == "m"
    flow.request.headers["content-encoding"] = "gzip"
    assert request_json(flow.request) is ABSENT
    assert request_json(http.Request.make("GET", "http://h/")) is ABSENT
    assert request_json(http.Request.make("POST", "http://h/", b"{", http.Headers(content_type="text/plain"))) is ABSENT


@pytest.mark.parametrize("wanted", [NOTHING, Settings(SAFE)], ids=["looking", "repairing"])
@pytest.mark.parametrize("healthy", streams(), ids=str)
def test_the_empty_chunk_is_the_end(healthy: Healthy, wanted: Settings) -> None:
    """Whatever went by last, and a text event or a fragment like the one before it goes by unread."""
    frames = healthy.frames

    async def run() -> None:
        for count in range(1, len(frames) + 1):
            ear, flow = Ear(), llm_flow()
            assert flow.response is not None
            flow.request.path = healthy.exchange.path
            flow.response.headers["content-type"] = healthy.exchange.content_type
            made = LiveResponse(flow, healthy.exchange.request, lambda *_, ear=ear: (ear,), fail, wanted)
            for frame in [*frames[:count], frames[count - 1]]:
                made.stream(frame)
            made.stream(b"")
            assert made.over
            assert len(ear.records) == 1

    asyncio.run(run())


def fail(_flow: http.HTTPFlow, error: Exception) -> None:
    """Nothing of ours goes wrong here."""
    raise error
