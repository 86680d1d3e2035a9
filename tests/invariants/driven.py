"""Runs single streams through the engine, as the proxy does."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.invariants.healthy import Healthy
from toolstream_core.defects.table import named
from toolstream_core.engine.session import Session
from toolstream_core.faults.spec import Budget, Fault
from toolstream_core.settings import NOTHING, SAFE, Settings
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.model import Record, StreamFacts

type Payload = dict[str, Any]


class Outcome(NamedTuple):
    """The rewritten stream, and the record of the received one."""

    out: bytes
    record: Record

    @property
    def finding_names(self) -> list[str]:
        """The names of the findings, in their order."""
        return [finding.name for finding in self.record.findings]

    @property
    def calls(self) -> list[tuple[str, Any]]:
        """Name and arguments of each intended call."""
        return [(call.name, json.loads(call.arguments)) for call in self.record.calls]


def run(
    body: bytes,
    exchange: StreamFacts,
    settings: Settings,
    size: int = 0,
    *,
    broken: str | None = None,
    fast: bool = True,
) -> Outcome:
    """Run a complete body in chunks of `size` bytes, or in one chunk for 0."""
    session = Session(exchange, settings, fast=fast)
    size = size or max(len(body), 1)
    chunks = [body[at : at + size] for at in range(0, len(body), size)]
    out = b"".join([*(sent for chunk in chunks for sent in session.feed(chunk)), *session.end(broken=broken)])
    assert session.error is None
    record = session.record(broken=broken)
    assert record is not None
    return Outcome(out, record)


def inspected(body: bytes, exchange: StreamFacts) -> Outcome:
    """Run without repairs, shapes and faults."""
    return run(body, exchange, NOTHING)


def repaired(body: bytes, exchange: StreamFacts, *names: str, broken: str | None = None) -> Outcome:
    """Run with all safe repairs, or with the named repairs."""
    return run(body, exchange, Settings(named(names) if names else SAFE), broken=broken)


def shaped(body: bytes, exchange: StreamFacts, *names: str) -> bytes:
    """Return the body re-encoded in these shapes."""
    return run(body, exchange, Settings(shapes=names)).out


def injected(body: bytes, exchange: StreamFacts, *names: str) -> Outcome:
    """Run with these faults; the record describes the changed stream."""
    return run(body, exchange, Settings(faults=tuple((Fault(name=name), Budget(None)) for name in names)))


def exchange(protocol: str) -> StreamFacts:
    """Return the facts of a response of `protocol`; the request offers `TOOLS`."""
    return Healthy(protocol, "", b"").exchange


def sse(*payloads: Payload | str) -> bytes:
    """Return server-sent events with one data line each; text is written unchanged."""
    data = (one.encode() if isinstance(one, str) else encoded(one) for one in payloads)
    return b"".join(b"data: " + one + b"\n\n" for one in data)


def payloads(body: bytes) -> list[Payload]:
    """Return the JSON objects of server-sent events, without `[DONE]` and truncated events."""
    data = [line.removeprefix(b"data: ") for line in body.splitlines() if line.startswith(b"data: {")]
    return [json.loads(one) for one in data if one.endswith(b"}")]


def lines(*payloads: Payload) -> bytes:
    """Return JSON lines."""
    return b"".join(encoded(one) + b"\n" for one in payloads)
