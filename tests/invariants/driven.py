"""Single streams driven through the stages as a proxy does it."""

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


class Went(NamedTuple):
    """What became of a stream."""

    out: bytes
    record: Record

    @property
    def told(self) -> list[str]:
        """The names of what is wrong, in the order in which it was found."""
        return [finding.name for finding in self.record.findings]

    @property
    def calls(self) -> list[tuple[str, Any]]:
        """What was meant."""
        return [(call.name, json.loads(call.arguments)) for call in self.record.calls]


def run(body: bytes, exchange: StreamFacts, wanted: Settings, broken: str | None = None) -> Went:
    """A whole body, in one piece."""
    line = Session(exchange, wanted)
    out = b"".join([*line.feed(body), *line.end(broken=broken)])
    assert line.error is None
    record = line.record(broken=broken)
    assert record is not None
    return Went(out, record)


def seen(body: bytes, exchange: StreamFacts) -> Went:
    """Judged only."""
    return run(body, exchange, NOTHING)


def changed(body: bytes, exchange: StreamFacts, *names: str, broken: str | None = None) -> Went:
    """With all safe repairs, or with those named."""
    return run(body, exchange, Settings(named(names) if names else SAFE), broken)


def shaped(body: bytes, exchange: StreamFacts, *names: str) -> bytes:
    """In other shapes."""
    return run(body, exchange, Settings(shapes=names)).out


def injected(body: bytes, exchange: StreamFacts, *names: str) -> Went:
    """With faults; the record is that of the broken stream."""
    return run(body, exchange, Settings(faults=tuple((Fault(name=name), Budget(None)) for name in names)))


def exchange(dialect: str) -> StreamFacts:
    """What is known beside a stream of `dialect`: the tools on offer among it."""
    return Healthy(dialect, "", b"").exchange


def sse(*payloads: Payload | str) -> bytes:
    """Blocks with one data line each; text is taken as it is."""
    said = (one.encode() if isinstance(one, str) else encoded(one) for one in payloads)
    return b"".join(b"data: " + one + b"\n\n" for one in said)


def lines(*payloads: Payload) -> bytes:
    """JSON lines."""
    return b"".join(encoded(one) + b"\n" for one in payloads)
