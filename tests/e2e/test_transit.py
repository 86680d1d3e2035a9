"""Faults of time and of the connection, through the real proxy: what arrives, when, and how it ends."""

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
WHOLE = b"".join(CHAT.chunks)
EARLY, LATE = 0.01, 0.4
"""Seconds by which something may come before its time (clocks differ) and after it."""
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
    """A proxy with every fault, each for requests of one model."""
    return proxies.get(toolstream_fault=[f"{spec},model={name}" for name, spec in SPECS.items()])


class Arrived:
    """What came of an answer."""

    def __init__(self, proxy: Mitmdump, upstream: Upstream, version: str, name: str, sample: Sample = CHAT) -> None:
        """Ask for it under the fault `name`."""
        asked = json.dumps(json.loads(sample.body) | {"model": name}).encode()
        plan = upstream.plan(event_stream(sample.chunks))
        self.chunks: list[tuple[float, bytes]] = []
        self.broken: str | None = None
        self.start = time.monotonic()
        with client(version, route(proxy, upstream)) as connection:
            reply = connection.request(sample.path, asked, plan.headers)
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
        """All that came."""
        return b"".join(chunk for _, chunk in self.chunks)


def in_time(seconds: float, wanted: float) -> bool:
    """Whether something was not late; early it never is."""
    assert wanted - EARLY <= seconds
    return seconds <= wanted + LATE


@VERSIONS
def test_the_headers_wait(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """And all else comes with them."""
    late = soon(partial(Arrived, proxy, secure, version, "first"), lambda one: in_time(one.head, 0.3))
    assert (late.body, late.broken) == (WHOLE, None)


@VERSIONS
@pytest.mark.parametrize("name", ["stall", "inside"])
def test_an_event_waits(proxy: Mitmdump, secure: Upstream, version: str, name: str) -> None:
    """The two before it come at once, and all else with it."""

    def is_soon(one: Arrived) -> bool:
        at_once = [chunk for at, chunk in one.chunks if at < 0.28]
        came = b"".join(at_once).count(b"data:")
        assert came <= 2
        waited = [in_time(at, 0.3) for at, _ in one.chunks[len(at_once) :]]
        return one.head < LATE and came == 2 and all(waited)

    stalled = soon(partial(Arrived, proxy, secure, version, name), is_soon)
    assert stalled.body == WHOLE


@VERSIONS
def test_events_drip(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """Each a while after the one before."""
    due = 0.04 * len(CHAT.chunks)
    dripped = soon(partial(Arrived, proxy, secure, version, "drip"), lambda one: in_time(one.end, due))
    assert dripped.body == WHOLE
    gaps = [after - before for (before, _), (after, _) in zip(dripped.chunks, dripped.chunks[1:], strict=False)]
    assert sorted(gaps)[len(gaps) // 2] >= 0.04 - EARLY


@VERSIONS
@pytest.mark.parametrize(
    ("name", "came"),
    [
        ("close", b"".join(CHAT.chunks[:3])),
        ("byte", WHOLE[:200]),
        ("done", WHOLE.removesuffix(b"data: [DONE]\n\n")),
    ],
)
def test_the_connection_breaks(proxy: Mitmdump, secure: Upstream, version: str, name: str, came: bytes) -> None:
    """Exactly there, and as a break; the proxy serves on."""
    cut = Arrived(proxy, secure, version, name)
    assert cut.body == came
    assert cut.broken is not None
    assert Arrived(proxy, secure, version, "none").body == WHOLE


def test_the_connection_breaks_whenever_the_client_speaks(proxy: Mitmdump, secure: Upstream) -> None:
    """A client acknowledges what comes: mitmproxy's own way of closing misses its socket once in a hundred times."""
    assert all(Arrived(proxy, secure, "h2", "byte").broken is not None for _ in range(40))


@VERSIONS
def test_the_connection_is_reset(proxy: Mitmdump, plain: Upstream, secure: Upstream, version: str) -> None:
    """Inside the arguments; a reset may take what the client has not read yet with it.

    Python 3.12.1 tells a reset under TLS as an end, so HTTP/1.1 goes without.
    """
    cut = Arrived(proxy, plain if version == "h1" else secure, version, "reset")
    assert cut.broken is not None
    assert WHOLE.startswith(cut.body)
    assert cut.body.count(b"tool_calls") < WHOLE.count(b"tool_calls")
    if version == "h1":
        assert "reset" in cut.broken.lower()


@VERSIONS
def test_the_same_bytes_in_other_pieces(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """A few bytes at a time, several events at once, or broken off inside characters."""
    small, large = Arrived(proxy, secure, version, "bytes"), Arrived(proxy, secure, version, "events")
    said = CHAT.chunks[0].replace(b'"content": null', '"content": "è 😀"'.encode())
    assert said != CHAT.chunks[0]
    other = replace(CHAT, chunks=(said, *CHAT.chunks[1:]))
    utf8 = Arrived(proxy, secure, version, "utf8", other)
    assert small.body == large.body == WHOLE
    assert utf8.body == b"".join(other.chunks)
    if version == "h1":
        assert max(len(chunk) for _, chunk in small.chunks) <= 7
        assert [chunk.count(b"data:") for _, chunk in large.chunks][:-1] == [3] * (len(CHAT.chunks) // 3)
        assert any(chunk[0] & 0xC0 == 0x80 for _, chunk in utf8.chunks)


@VERSIONS
def test_an_error_ends_the_stream(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """In the protocol's own form, behind what came before, with a clean end; or before anything came."""
    error = Arrived(proxy, secure, version, "error")
    assert error.broken is None
    assert error.body.startswith(b"".join(CHAT.chunks[:3]))
    said = json.loads(error.body.removeprefix(b"".join(CHAT.chunks[:3])).removeprefix(b"data: "))
    assert said["error"]["type"] == "rate_limit_exceeded"
    rejection = Arrived(proxy, secure, version, "http")
    assert (rejection.status, rejection.headers["retry-after"]) == (429, "7")
    assert json.loads(rejection.body)["error"]["message"] == "Rate limit reached"


@VERSIONS
def test_the_connection_stays_open(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """Behind everything, with comments or without."""
    held = soon(
        partial(Arrived, proxy, secure, version, "hold"),
        lambda one: in_time(one.end, 0.3) and one.chunks[-1][0] < 0.28,
    )
    assert held.body == WHOLE
    beaten = soon(partial(Arrived, proxy, secure, version, "beat"), lambda one: in_time(one.end, 0.35))
    assert beaten.body == WHOLE + b": keep-alive\n\n" * 3


@VERSIONS
def test_events_come_otherwise(proxy: Mitmdump, secure: Upstream, version: str) -> None:
    """Twice, not at all, or in another order."""
    first, second, third, fourth, *rest = CHAT.chunks
    tail = b"".join(rest)
    assert Arrived(proxy, secure, version, "twice").body == first + second + third + third + fourth + tail
    assert Arrived(proxy, secure, version, "drop").body == first + second + fourth + tail
    assert Arrived(proxy, secure, version, "swap").body == first + second + fourth + third + tail


def test_others_flow_while_one_waits(proxy: Mitmdump, secure: Upstream) -> None:
    """Also on the same proxy, many at once: it waits longer than all of them may take."""
    asked = json.dumps(json.loads(CHAT.body) | {"model": "long"}).encode()
    with client("h1", route(proxy, secure)) as connection:
        reply = connection.request(CHAT.path, asked, secure.plan(event_stream(CHAT.chunks)).headers)
        came = b""
        while came.count(b"data:") < 2:
            came += reply.next_chunk()
        for turn in range(4):
            assert Arrived(proxy, secure, "h2" if turn % 2 else "h1", "none").body == WHOLE
        assert came == b"".join(CHAT.chunks[:2])
        reply.leave()


def test_what_was_done_is_told(proxy: Mitmdump, secure: Upstream) -> None:
    """In the log, with the fault as it was asked for."""
    Arrived(proxy, secure, "h1", "close")
    proxy.wait_for("fault cut:at=event:3,model=close: 1 change")
