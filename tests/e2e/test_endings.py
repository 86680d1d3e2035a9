"""Truncated streams: the upstream disconnects, or the client does."""

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


def take(reply: Reply, expected: bytes) -> None:
    """Read exactly these bytes."""
    received = b""
    while len(received) < len(expected):
        received += reply.next_chunk()
    assert received == expected


def assert_serves(proxy: Mitmdump, tap: Tap, upstream: Upstream, version: str, call_id: str) -> None:
    """The proxy forwards and reports the next response."""
    sample = openai_chat(call_id, "next")
    plan = upstream.plan(event_stream(sample.chunks))
    with client(version, route(proxy, upstream)) as connection:
        assert connection.request(sample.path, sample.body, plan.headers).rest() == b"".join(sample.chunks)
    assert tap.end_of(call_id)["record"]["broken"] is None
    assert not [line for line in proxy.output if "Traceback" in line or "toolstream stopped" in line]


def broken_by(proxy: Mitmdump, upstream: Upstream, version: str, how: Break, framing: Framing, name: str) -> str:
    """The error that a client gets when upstream disconnects after the client has received all chunks so far."""
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
def test_an_upstream_disconnect_is_forwarded(
    proxies: Proxies, upstream: Upstream, carrier: str, how: Break, framing: Framing
) -> None:
    """The client gets the same error as without toolstream, the log reports it, and the next request works."""
    proxy, tap = proxies.with_jsonl()
    name = f"dies-{carrier}-{how.value}-{framing.value}"
    mark = len(proxy.output)
    seen = broken_by(proxy, upstream, carrier[-2:], how, framing, name)
    assert seen == broken_by(proxies.without_toolstream(), upstream, carrier[-2:], how, framing, name)
    end = tap.end_of(name)
    assert end["record"]["broken"]
    assert not end["record"]["ended"]
    assert not end["record"]["calls"][0]["complete"]
    proxy.wait_for(lambda line: line.startswith(f"#{end['stream']} ") and "truncated: " in line, after=mark)
    assert_serves(proxy, tap, upstream, carrier[-2:], f"next-{name}")


@pytest.mark.parametrize("how", ["reset", "close"])
@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_client_disconnect_is_forwarded(proxies: Proxies, upstream: Upstream, carrier: str, how: str) -> None:
    """When the client disconnects, so does the proxy, the record has the cause, and the next request works."""
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
    assert tap.end_of(sample.call_id)["record"]["broken"]
    assert_serves(proxy, tap, upstream, carrier[-2:], f"next-{sample.call_id}")
    connection.close()


def test_a_stream_reset_leaves_other_streams_alone(proxies: Proxies, secure: Upstream) -> None:
    """After the reset of an HTTP/2 stream another stream of the connection goes on."""
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


def test_a_proxy_that_stops_reports_unfinished_responses(proxies: Proxies, plain: Upstream, tmp_path: Path) -> None:
    """A proxy that stops inside a stream exits at once with code 0, and reports the events so far."""
    path = tmp_path / "lines.jsonl"
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
