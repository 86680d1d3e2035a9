"""Streams that do not end as they should: the upstream dies, or the client leaves."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.e2e.harness.client import BrokenOffError
from tests.e2e.harness.proxies import Proxies, client, route
from tests.e2e.harness.samples import openai_chat
from tests.e2e.harness.script import Break, Framing, Gate, Response, Send, Wait, event_stream

if TYPE_CHECKING:
    from pathlib import Path

    from tests.e2e.harness.client import Reply
    from tests.e2e.harness.mitmdump import Mitmdump
    from tests.e2e.harness.script import Step
    from tests.e2e.harness.tap import Tap
    from tests.e2e.harness.upstream import Upstream

pytestmark = pytest.mark.e2e

CARRIERS = ["plain-h1", "tls-h1", "tls-h2"]


@pytest.fixture
def upstream(carrier: str, plain: Upstream, secure: Upstream) -> Upstream:
    """The upstream that a carrier asks for."""
    return plain if carrier.startswith("plain") else secure


def take(reply: Reply, expected: bytes) -> None:
    """Read exactly these bytes."""
    here = b""
    while len(here) < len(expected):
        here += reply.next_chunk()
    assert here == expected


def serves(proxy: Mitmdump, tap: Tap, upstream: Upstream, version: str, call_id: str) -> None:
    """The proxy answers, and tells, the next request."""
    sample = openai_chat(call_id, "next")
    plan = upstream.plan(event_stream(sample.chunks))
    with client(version, route(proxy, upstream)) as connection:
        assert connection.request(sample.path, sample.body, plan.headers).rest() == b"".join(sample.chunks)
    assert tap.end_of(call_id)["record"]["broken"] is None
    assert not [line for line in proxy.output if "Traceback" in line or "toolstream stopped" in line]


def broken_by(proxy: Mitmdump, upstream: Upstream, version: str, how: Break, framing: Framing, name: str) -> str:
    """What a client sees of an upstream that dies once the client has what it has sent."""
    sample = openai_chat(name, "Bern")
    gate = Gate()
    steps: list[Step] = [*map(Send, sample.chunks[:3]), Wait(gate), how]
    plan = upstream.plan(Response(tuple(steps), framing=framing))
    with client(version, route(proxy, upstream)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        take(reply, b"".join(sample.chunks[:3]))
        gate.open()
        with pytest.raises(BrokenOffError) as seen:
            reply.rest()
    return str(seen.value)


@pytest.mark.parametrize("how", Break)
@pytest.mark.parametrize(
    ("carrier", "framing"),
    [*((carrier, Framing.CHUNKED) for carrier in CARRIERS), ("plain-h1", Framing.LENGTH)],
)
def test_upstream_dies(proxies: Proxies, upstream: Upstream, carrier: str, how: Break, framing: Framing) -> None:
    """The client sees the same break as without the addon, the log tells it, and the next request works."""
    proxy, tap = proxies.with_jsonl()
    name = f"dies-{carrier}-{how.value}-{framing.value}"
    mark = len(proxy.output)
    seen = broken_by(proxy, upstream, carrier[-2:], how, framing, name)
    assert seen == broken_by(proxies.without_toolstream(), upstream, carrier[-2:], how, framing, name)
    told = tap.end_of(name)
    assert told["record"]["broken"]
    assert not told["record"]["ended"]
    assert not told["record"]["calls"][0]["complete"]
    proxy.wait_for(lambda line: line.startswith(f"#{told['stream']} ") and "truncated: " in line, after=mark)
    serves(proxy, tap, upstream, carrier[-2:], f"next-{name}")


@pytest.mark.parametrize("how", ["reset", "close"])
@pytest.mark.parametrize("carrier", CARRIERS)
def test_client_leaves(proxies: Proxies, upstream: Upstream, carrier: str, how: str) -> None:
    """The upstream learns of it, the log tells it, and the next request works."""
    proxy, tap = proxies.with_jsonl()
    sample = openai_chat(f"leaves-{carrier}-{how}", "Bern")
    plan = upstream.plan(Response((*map(Send, sample.chunks[:3]), Wait(Gate()))))
    connection = client(carrier[-2:], route(proxy, upstream))
    reply = connection.request(sample.path, sample.body, plan.headers)
    take(reply, b"".join(sample.chunks[:3]))
    if how == "reset":
        reply.leave()
    else:
        connection.close()
    plan.client_left.wait()
    told = tap.end_of(sample.call_id)
    assert told["record"]["broken"]
    serves(proxy, tap, upstream, carrier[-2:], f"next-{sample.call_id}")
    connection.close()


def test_one_stream_of_a_connection_dies_alone(proxies: Proxies, secure: Upstream) -> None:
    """Over HTTP/2 another stream of the same connection goes on."""
    proxy, tap = proxies.with_jsonl()
    dying, living = openai_chat("dies alone", "Bern"), openai_chat("lives on", "Basel")
    gates = Gate(), Gate()
    first = secure.plan(Response((Send(dying.chunks[0]), Wait(gates[0]), Break.RESET)))
    head, *tail = map(Send, living.chunks)
    second = secure.plan(Response((head, Wait(gates[1]), *tail)))
    with client("h2", route(proxy, secure)) as connection:
        one = connection.request(dying.path, dying.body, first.headers)
        other = connection.request(living.path, living.body, second.headers)
        take(one, dying.chunks[0])
        take(other, living.chunks[0])
        gates[0].open()
        with pytest.raises(BrokenOffError):
            one.rest()
        gates[1].open()
        assert other.rest() == b"".join(living.chunks[1:])
    assert tap.end_of("dies alone")["record"]["broken"]
    assert tap.end_of("lives on")["record"]["ended"]


def test_proxy_stops_in_mid_stream(proxies: Proxies, plain: Upstream, tmp_path: Path) -> None:
    """It ends at once and well, and what it has seen is told."""
    path = tmp_path / "told.jsonl"
    sample = openai_chat("stopped", "Bern")
    plan = plain.plan(Response((*map(Send, sample.chunks[:3]), Wait(Gate()))))
    proxy = proxies.make({"toolstream_jsonl": str(path)}).start()
    with client("h1", route(proxy, plain)) as connection:
        reply = connection.request(sample.path, sample.body, plan.headers)
        take(reply, b"".join(sample.chunks[:3]))
        assert proxy.stop() == 0
    *events, end = [json.loads(line) for line in path.read_text().splitlines()]
    assert [event["event"] for event in events] == [0, 1, 2]
    assert (end["type"], end["record"]["calls"][0]["id"]) == ("end", "stopped")
    assert end["record"]["broken"]
