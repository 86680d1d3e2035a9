"""Fifty concurrent streams: each client gets its own bytes, and each flow's calls are reported."""

from __future__ import annotations

import json
from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.client2 import Http2Client
from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import MAKERS, NAME, Sample
from tests.e2e.harness.script import Gate, Response, Send, Wait

if TYPE_CHECKING:
    from tests.e2e.harness.plan import Plan
    from tests.e2e.harness.script import Step
    from tests.e2e.harness.tap import Tap
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

STREAMS = 50
CODINGS = ("identity", "gzip", "br", "zstd", "deflate", "identity", "gzip")


def samples(label: str) -> list[Sample]:
    """Samples of all protocols, each with different content."""
    makers = list(MAKERS.values())
    return [makers[n % len(makers)](f"{label}-{n}", f"city {n} of {label}") for n in range(STREAMS)]


def plan_for(upstream: Upstream, number: int, sample: Sample, gates: tuple[Gate, Gate]) -> Plan:
    """Send the first chunk at once, the middle at the first gate, the last chunk at the second gate."""
    first, *middle, last = map(Send, sample.chunks)
    steps: list[Step] = [first, Wait(gates[0]), *middle, Wait(gates[1]), last]
    coding = CODINGS[number % len(CODINGS)]
    return upstream.plan(Response(tuple(steps), coding=coding, content_type=sample.content_type))


def check_reported(tap: Tap, sample: Sample) -> None:
    """The lines of a flow have all of its events and no event of another flow."""
    end = tap.end_of(sample.call_id)
    [call] = end["record"]["calls"]
    assert (call["name"], json.loads(call["arguments"]), call["complete"]) == (NAME, sample.arguments, True)
    assert (end["record"]["dialect"], end["record"]["findings"]) == (sample.protocol, [])
    *events, last = tap.of_flow(end["flow"])
    assert last == end
    assert [event["event"] for event in events] == list(range(len(sample.chunks)))
    assert [event["type"] for event in events] == ["event"] * len(sample.chunks)
    assert end["record"]["events"] == len(sample.chunks)


def test_fifty_http1_connections(proxies: Proxies, plain: Upstream) -> None:
    """Over fifty HTTP/1.1 connections each client gets its own stream."""
    proxy, tap = proxies.with_jsonl()
    wanted, gates = samples("h1"), (Gate(), Gate())
    plans = [plan_for(plain, number, sample, gates) for number, sample in enumerate(wanted)]
    with ExitStack() as stack:
        connections = [stack.enter_context(client("h1", route(proxy, plain))) for _ in wanted]
        replies = [
            connection.request(sample.path, sample.body, plan.headers)
            for connection, sample, plan in zip(connections, wanted, plans, strict=True)
        ]
        received = [reply.next_chunk() for reply in replies]
        gates[0].open()
        received = [start + reply.next_chunk() for start, reply in zip(received, replies, strict=True)]
        gates[1].open()
        bodies = [start + reply.rest() for start, reply in zip(received, replies, strict=True)]
    assert bodies == [plan.response.body for plan in plans]
    for sample in wanted:
        check_reported(tap, sample)


def test_fifty_streams_on_an_http2_connection(proxies: Proxies, secure: Upstream) -> None:
    """Over one HTTP/2 connection, to the proxy and from it, each of fifty requests gets its own stream."""
    proxy, tap = proxies.with_jsonl()
    wanted, gates = samples("h2"), (Gate(), Gate())
    plans = [plan_for(secure, number, sample, gates) for number, sample in enumerate(wanted)]
    with Http2Client(route(proxy, secure)) as connection:
        pairs = zip(wanted, plans, strict=True)
        replies = [connection.send_request(sample.path, sample.body, plan.headers) for sample, plan in pairs]
        received = [reply.next_chunk() for reply in replies]
        gates[0].open()
        received = [start + reply.next_chunk() for start, reply in zip(received, replies, strict=True)]
        gates[1].open()
        bodies = [start + reply.rest() for start, reply in zip(received, replies, strict=True)]
    assert bodies == [plan.response.body for plan in plans]
    assert {plan.request.version for plan in plans} == {"h2"}
    for sample in wanted:
        check_reported(tap, sample)
