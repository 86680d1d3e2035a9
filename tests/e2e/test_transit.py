"""Timing and connection faults through a mitmdump: which bytes arrive, when, and how the response ends."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import client, route
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import event_stream
from tests.e2e.harness.soon import soon

if TYPE_CHECKING:
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.proxies import Proxies
    from tests.e2e.harness.samples import Sample
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

CHAT = openai_chat("call_1", "Bern")
COMPLETE = b"".join(CHAT.chunks)
EARLY, LATE = 0.01, 0.4
"""The tolerance in seconds before (clocks differ) and after the expected time."""
SPECS = {
    "first": "first-byte-delay:ms=300",
    "stall": "stall:ms=300,at=event:2",
    "inside": "stall:ms=300",
    "long": "stall:ms=600000,at=event:2",
    "drip": "drip:ms=40",
    "close": "cut:at=event:3",
    "reset": "cut:how=reset",
    "byte": "cut:at=byte:200",
    "done": "cut:at=before-done",
    "bytes": "recut:bytes=7",
    "events": "recut:events=3",
    "utf8": "recut:utf8=yes",
    "error": "error-event:at=event:3,error=rate-limit",
    "hold": "hold-open:ms=300",
    "beat": "hold-open:ms=350,heartbeat=100",
    "twice": "duplicate-event:at=event:2",
    "drop": "drop-event:at=event:2",
    "swap": "swap-events:at=event:2",
    "http": "http-error:status=429,retry-after=7",
}
VERSIONS = pytest.mark.parametrize("version", ["h1", "h2"])


@pytest.fixture(scope="module")
def proxy(proxies: Proxies) -> Mitmdump:
    """A proxy with every fault; the model of a request selects the fault."""
    return proxies.get(toolstream_fault=[f"{spec},model={name}" for name, spec in SPECS.items()])


class Received:
    """A received response, with the time of each chunk."""

    def __init__(self, proxy: Mitmdump, upstream: Upstream, version: str, name: str, sample: Sample = CHAT) -> None:
        """Request a response with the fault `name`."""
        body = json.dumps(json.loads(sample.body) | {"model": name}).encode()
        plan = upstream.plan(event_stream(sample.chunks))
        self.chunks: list[tuple[float, bytes]] = []
        self.broken: str | None = None
        self.start = time.monotonic()
        with client(version, route(proxy, upstream)) as connection:
            reply = connection.request(sample.path, body, plan.headers)
            self.head = time.monotonic() - self.start
            self.status, self.headers = reply.status, reply.headers
            try:
                while chunk := reply.next_chunk():
                    self.chunks.append((time.monotonic() - self.start, chunk))
            except BrokenOffError as error:
                self.broken = str(error)
            self.end = time.monotonic() - self.start

    @property
    def body(self) -> bytes:
        """All received bytes."""
        return b"".join(chunk for _, chunk in self.chunks)


def in_time(seconds: float, wanted: float) -> bool:
    """Whether something was in time; it must not be early."""
    assert wanted - EARLY <= seconds
    return seconds <= wanted + LATE


@VERSIONS
def test_first_byte_delay_delays_the_headers(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """`first-byte-delay` delays headers and body, and loses nothing."""
    late = soon(partial(Received, proxy, secure, version, "first"), lambda one: in_time(one.head, 0.3))
    assert (late.body, late.broken) == (COMPLETE, None)


@VERSIONS
@pytest.mark.parametrize("name", ["stall", "inside"])
def test_stall_delays_an_event(proxy: Mitmdump, secure: Upstream, version: str, name: str) -> None:
    """`stall` delays an event and the rest; earlier events arrive at once."""

    def is_soon(one: Received) -> bool:
        at_once = [chunk for at, chunk in one.chunks if at < 0.28]
        events = b"".join(at_once).count(b"data:")
        assert events <= 2
        waited = [in_time(at, 0.3) for at, _ in one.chunks[len(at_once) :]]
        return one.head < LATE and events == 2 and all(waited)

    stalled = soon(partial(Received, proxy, secure, version, name), is_soon)
    assert stalled.body == COMPLETE


@VERSIONS
def test_drip_delays_each_event(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """`drip` sends each event a fixed time after the previous one."""
    due = 0.04 * len(CHAT.chunks)
    dripped = soon(partial(Received, proxy, secure, version, "drip"), lambda one: in_time(one.end, due))
    assert dripped.body == COMPLETE
    gaps = [after - before for (before, _), (after, _) in zip(dripped.chunks, dripped.chunks[1:], strict=False)]
    assert sorted(gaps)[len(gaps) // 2] >= 0.04 - EARLY


@VERSIONS
@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("close", b"".join(CHAT.chunks[:3])),
        ("byte", COMPLETE[:200]),
        ("done", COMPLETE.removesuffix(b"data: [DONE]\n\n")),
    ],
)
def test_cut_disconnects_at_the_place(
    proxy: Mitmdump, secure: Upstream, version: str, name: str, expected: bytes
) -> None:
    """`cut` sends the bytes up to the place, then disconnects; the next request works."""
    cut = Received(proxy, secure, version, name)
    assert cut.body == expected
    assert cut.broken is not None
    assert Received(proxy, secure, version, "none").body == COMPLETE


def test_cut_disconnects_while_the_client_sends(proxy: Mitmdump, secure: Upstream) -> None:
    """`cut` works while an HTTP/2 client sends acknowledgements; mitmproxy's own close fails once in 100 times."""
    assert all(Received(proxy, secure, "h2", "byte").broken is not None for _ in range(40))


@VERSIONS
def test_cut_resets_the_connection(proxy: Mitmdump, plain: Upstream, secure: Upstream, version: str) -> None:
    """`cut:how=reset` resets the connection inside the arguments; the client may lose unread bytes.

    Python 3.12.1 treats a reset under TLS as an end, therefore HTTP/1.1 is tested without TLS.
    """
    cut = Received(proxy, plain if version == "h1" else secure, version, "reset")
    assert cut.broken is not None
    assert COMPLETE.startswith(cut.body)
    assert cut.body.count(b"tool_calls") < COMPLETE.count(b"tool_calls")
    if version == "h1":
        assert "reset" in cut.broken.lower()


@VERSIONS
def test_recut_changes_only_the_chunks(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """`recut` sends the same bytes in chunks of some bytes, of several events, or split inside characters."""
    small, large = Received(proxy, secure, version, "bytes"), Received(proxy, secure, version, "events")
    first = CHAT.chunks[0].replace(b'"content": null', '"content": "è 😀"'.encode())
    assert first != CHAT.chunks[0]
    other = replace(CHAT, chunks=(first, *CHAT.chunks[1:]))
    utf8 = Received(proxy, secure, version, "utf8", other)
    assert small.body == large.body == COMPLETE
    assert utf8.body == b"".join(other.chunks)
    if version == "h1":
        assert max(len(chunk) for _, chunk in small.chunks) <= 7
        assert [chunk.count(b"data:") for _, chunk in large.chunks][:-1] == [3] * (len(CHAT.chunks) // 3)
        assert any(chunk[0] & 0xC0 == 0x80 for _, chunk in utf8.chunks)


@VERSIONS
def test_error_event_and_http_error(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """`error-event` ends a stream normally with an error of the protocol; `http-error` replaces the response."""
    error = Received(proxy, secure, version, "error")
    assert error.broken is None
    assert error.body.startswith(b"".join(CHAT.chunks[:3]))
    payload = json.loads(error.body.removeprefix(b"".join(CHAT.chunks[:3])).removeprefix(b"data: "))
    assert payload["error"]["type"] == "rate_limit_exceeded"
    rejection = Received(proxy, secure, version, "http")
    assert (rejection.status, rejection.headers["retry-after"]) == (429, "7")
    assert json.loads(rejection.body)["error"]["message"] == "Rate limit reached"


@VERSIONS
def test_hold_open_delays_the_end(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """`hold-open` delays the end after the last event, with or without heartbeats."""
    held = soon(
        partial(Received, proxy, secure, version, "hold"),
        lambda one: in_time(one.end, 0.3) and one.chunks[-1][0] < 0.28,
    )
    assert held.body == COMPLETE
    with_heartbeats = soon(partial(Received, proxy, secure, version, "beat"), lambda one: in_time(one.end, 0.35))
    assert with_heartbeats.body == COMPLETE + b": keep-alive\n\n" * 3


@VERSIONS
def test_events_are_duplicated_dropped_or_swapped(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """An event is sent twice, is dropped, or is swapped with the next one."""
    first, second, third, fourth, *rest = CHAT.chunks
    tail = b"".join(rest)
    assert Received(proxy, secure, version, "twice").body == first + second + third + third + fourth + tail
    assert Received(proxy, secure, version, "drop").body == first + second + fourth + tail
    assert Received(proxy, secure, version, "swap").body == first + second + fourth + third + tail


def test_a_stalled_response_delays_no_other(proxy: Mitmdump, secure: Upstream) -> None:
    """While one response stalls, other responses of the same proxy are forwarded."""
    body = json.dumps(json.loads(CHAT.body) | {"model": "long"}).encode()
    with client("h1", route(proxy, secure)) as connection:
        reply = connection.request(CHAT.path, body, secure.plan(event_stream(CHAT.chunks)).headers)
        received = b""
        while received.count(b"data:") < 2:
            received += reply.next_chunk()
        for turn in range(4):
            assert Received(proxy, secure, "h2" if turn % 2 else "h1", "none").body == COMPLETE
        assert received == b"".join(CHAT.chunks[:2])
        reply.leave()


def test_a_fault_is_logged(proxy: Mitmdump, secure: Upstream) -> None:
    """The log has the fault as it was configured, and the number of changes."""
    Received(proxy, secure, "h1", "close")
    proxy.wait_for("fault cut:at=event:3,model=close: 1 change")
