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


def run(body: bytes, exchange: StreamFacts, settings: Settings, broken: str | None = None) -> Outcome:
    """Run a complete body as one chunk."""
    session = Session(exchange, settings)
    out = b"".join([*session.feed(body), *session.end(broken=broken)])
    assert session.error is None
    record = session.record(broken=broken)
    assert record is not None
    return Outcome(out, record)


def inspected(body: bytes, exchange: StreamFacts) -> Outcome:
    """Run without repairs, shapes and faults."""
    return run(body, exchange, NOTHING)


def repaired(body: bytes, exchange: StreamFacts, *names: str, broken: str | None = None) -> Outcome:
    """Run with all safe repairs, or with the named repairs."""
    return run(body, exchange, Settings(named(names) if names else SAFE), broken)


def shaped(body: bytes, exchange: StreamFacts, *names: str) -> bytes:
    """Return the body re-encoded in these shapes."""
    return run(body, exchange, Settings(shapes=names)).out


def injected(body: bytes, exchange: StreamFacts, *names: str) -> Outcome:
    """Run with these faults; the record describes the changed stream."""
    return run(body, exchange, Settings(faults=tuple((Fault(name=name), Budget(None)) for name in names)))


def exchange(dialect: str) -> StreamFacts:
    """Return the facts of a response of `dialect`; the request offers `TOOLS`."""
    return Healthy(dialect, "", b"").exchange


def sse(*payloads: Payload | str) -> bytes:
    """Return server-sent events with one data line each; text is written unchanged."""
    data = (one.encode() if isinstance(one, str) else encoded(one) for one in payloads)
    return b"".join(b"data: " + one + b"\n\n" for one in data)


def lines(*payloads: Payload) -> bytes:
    """Return JSON lines."""
    return b"".join(encoded(one) + b"\n" for one in payloads)
