"""What one answer was: the one record that every report prints, and the observer that gathers it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolstream_core.defects import endings
from toolstream_core.dialects import DIALECTS, request
from toolstream_core.model import Call, Exchange, Finding, Kind, Said
from toolstream_core.pipeline import Pipeline

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard
    from toolstream_core.dialects import Dialect
    from toolstream_core.model import Event, Observer

MAX_FINDINGS = 1000
"""Findings of one answer that are kept; more of the same help nobody."""


@dataclass(slots=True)
class Record:
    """One answer, streamed or whole. Shape of its JSON: `docs/inspect.schema.json`."""

    source: str
    dialect: str
    host: str
    model: str | None
    streamed: bool = True
    events: int = 0
    """Frames that carry data, `[DONE]` among them."""
    bytes: int = 0
    """Decoded bytes of the body."""
    finish: list[str] = field(default_factory=list)
    """Finish reasons in order of appearance, one entry for each time one was said."""
    ended: bool = False
    """Whether the protocol's own end was seen: a finish reason or the terminal event."""
    broken: str | None = None
    """How the connection broke before the body's end, where it did."""
    error: str | None = None
    """The first in-band error."""
    calls: list[Call] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)


class Sink:
    """Is told of an answer as it comes; a sink takes up what it wants to hear."""

    live = False
    """Whether it wants to be told of the events; every sink is told of the end."""
    each = False
    """Whether it wants frames that say nothing one by one, not several at once."""

    def quiet(self, first: int, frames: int, size: int) -> None:
        """So many frames from number `first` on, of `size` bytes, without anything that concerns tool calls."""

    def heard(self, event: Event, said: Said, told: Sequence[Heard]) -> None:
        """An event that says something, with its fragments resolved."""

    def ended(self, record: Record) -> None:
        """The answer is over."""


class Reader:
    """Gathers the record of one answer, telling `sinks` as it goes. An observer of the pipeline."""

    def __init__(
        self, dialect: Dialect, exchange: Exchange, sinks: Sequence[Sink] = (), *, streamed: bool = True
    ) -> None:
        """`exchange.request` gives the tools offered, which are evidence for reading."""
        self._record = Record(
            exchange.source, dialect.name, exchange.host, request.model(exchange.request), streamed=streamed
        )
        self._model: str | None = None
        self._calls = dialect.calls(request.tools(exchange.request))
        self._sinks = tuple(sinks)
        self._live = tuple(sink for sink in sinks if sink.live)
        self.each = any(sink.each for sink in self._live)
        self._framing = endings.Framing()

    def __call__(self, event: Event) -> None:
        """Take the next event."""
        record, frame = self._record, event.frame
        record.bytes += len(frame.raw)
        if frame.data is None:
            self._framing.without_data(frame)
            return
        record.events += 1
        self._heard(event, event.said)

    def quiet(self, first: int, frames: int, size: int) -> None:
        """Count frames that say nothing of tool calls."""
        self._record.bytes += size
        self._record.events += frames
        for sink in self._live:
            sink.quiet(first, frames, size)

    def finished(self, *, broken: str | None = None, unread: str | None = None) -> Record:
        """The record, complete. `unread`: why reading stopped before the end, where it did."""
        record = self._record
        record.broken = broken
        record.model = self._model or record.model
        record.calls = self._calls.resolved()
        record.findings = [*self._framing.findings, *endings.check(record, unread)][:MAX_FINDINGS]
        for sink in self._sinks:
            sink.ended(record)
        return record

    def _heard(self, event: Event, said: Said) -> None:
        record, number = self._record, event.frame.number
        self._framing.with_data(event.frame, said)
        told = self._calls.hear(said, number)
        if said.model and self._model is None:
            self._model = said.model
        if said.finishes or said.end:
            record.finish.extend(finish.reason for finish in said.finishes)
            record.ended = True
        if said.error and record.error is None:
            record.error = said.error
        for sink in self._live:
            sink.heard(event, said, told)


def read_body(
    chunks: Iterable[bytes],
    exchange: Exchange,
    *,
    broken: str | None = None,
    sinks: Sequence[Sink] = (),
    dialects: Sequence[Dialect] = DIALECTS,
) -> Record | None:
    """The record of a body at hand, or `None` where it is no LLM answer; takes no more chunks than it reads."""
    readers: list[Reader] = []

    def begin(dialect: Dialect, streamed: bool) -> list[Observer]:  # noqa: FBT001 - the pipeline's callback
        readers.append(Reader(dialect, exchange, sinks, streamed=streamed))
        return [readers[-1]]

    pipeline = Pipeline(dialects, exchange, begin)
    for chunk in chunks:
        if chunk:
            pipeline.feed(chunk)
        if not pipeline.reading:
            break
    pipeline.feed(b"")
    return readers[0].finished(broken=broken, unread=pipeline.failure) if readers else None


def runs_on_client(call: Call) -> bool:
    """Whether the client runs `call` and so must understand it."""
    return call.kind is not Kind.SERVER
