"""Reads and rewrites one answer: which stages it meets, and what is told of it. The same for live and saved ones."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING

from toolstream_core.defects.framing import BODY_NOT_STREAM
from toolstream_core.defects.leak import LEAK
from toolstream_core.engine.chain import Breaking, Chain, Resolve, resolving
from toolstream_core.engine.chain_factory import StageSet
from toolstream_core.engine.pipeline import Pipeline
from toolstream_core.engine.record_builder import RecordBuilder
from toolstream_core.engine.rewriting import Rewriter
from toolstream_core.faults.picker import Picker
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.protocols.requests import asked
from toolstream_core.settings import NOTHING, PARTS, SAFE, Settings
from toolstream_core.stages.answer_ids import AnswerIds
from toolstream_core.stages.audited import Audited
from toolstream_core.stages.context import Context, nobody
from toolstream_core.stages.leaks import may_leak
from toolstream_core.stages.repair.leaked_calls import LeakedCallRepairer
from toolstream_core.wire.form import Form
from toolstream_core.wire.write import SseWriter, Unwritten, writer_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.engine.sink import Sink
    from toolstream_core.model import Change, Exchange, Finding, Record
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.stages.repair.repairer import Repairer
    from toolstream_core.stages.stage import Stage
    from toolstream_core.wire.frame import Framer


_FAILED = 400
"""From this status on an answer is an error, and whole by right."""
LEAK_CODES = frozenset(row.code for row in LEAK)


@dataclass
class Session:
    """One answer on its way: bytes in, bytes out, and the record of it."""

    exchange: Exchange
    settings: Settings = NOTHING
    sinks: Callable[[WireProtocol], Sequence[Sink]] = lambda dialect: ()  # noqa: ARG005
    dialects: Sequence[WireProtocol] = PROTOCOLS
    ids: AnswerIds = field(default_factory=AnswerIds)
    number: int = 0
    """Which stream of its run it is: faults are drawn by it."""
    transit: Sequence[Picker] = ()
    """Faults of time that act on it further on, to be told with the others."""
    fast: bool = True
    """Whether events like the one before them may pass unparsed: it changes the cost, and nothing that is told."""

    def __post_init__(self) -> None:
        """Build the pipeline."""
        make = Rewriter if self.settings.rewrites else Pipeline
        self.pipeline = make(self.dialects, self.exchange, self._begin, fast=self.fast)
        self.reader: RecordBuilder | None = None
        self._pickers: list[Picker] = []

    def feed(self, chunk: bytes) -> list[bytes]:
        """As `Pipeline.feed`."""
        gone = self.pipeline.feed_fast(chunk)
        if gone is None:
            return self.pipeline.feed(chunk)
        return [gone] if gone else []

    def end(self, *, broken: str | None = None) -> list[bytes]:
        """What is still to go on at the body's end; `broken` says how the connection broke, where it did."""
        self.pipeline.clean = broken is None
        return self.pipeline.feed(b"")

    def record(self, *, broken: str | None = None, told: bool = True) -> Record | None:
        """What the answer was, once it is over; `None` where it is no LLM's.

        A body whose coding cannot be undone is an LLM's where the request asked for one. Where it is not `told`
        now, `RecordBuilder.tell_end` does so later.
        """
        if self.reader is None and self.pipeline.failure is not None and self.pipeline.error is None:
            self.reader = self._asked()
        if self.reader is None:
            return None
        record = self.reader.finished(broken=broken, unread=self.pipeline.failure)
        if told:
            self.reader.tell_end()
        return record

    def _asked(self) -> RecordBuilder | None:
        """The reader of an answer of which nothing could be read."""
        wanted = asked.read(self.exchange.path, self.exchange.request)
        for dialect in self.dialects:
            if wanted is not None and dialect.name == wanted.dialect:
                streamed = wanted.form is not Form.WHOLE
                return RecordBuilder(dialect, self.exchange, self.sinks(dialect), streamed=streamed)
        return None

    def _begin(self, dialect: WireProtocol, framer: Framer) -> StageSet:
        writer = writer_for(framer)
        reader = self.reader = RecordBuilder(dialect, self.exchange, self.sinks(dialect), streamed=writer is not None)
        if writer is None:
            wanted = self.exchange.path and asked.wants_stream(self.exchange.path, self.exchange.request)
            if wanted and self.exchange.status < _FAILED:
                reader.found(BODY_NOT_STREAM.found(0, "a stream was asked for, and a whole JSON body came"))
            return StageSet([reader])
        self._dialect, self._writer = dialect, writer
        return self._plan(reader, dialect.repairs)

    def _plan(self, reader: RecordBuilder, repairers: Sequence[type[Repairer]]) -> StageSet:
        """Who has to do with the events of an answer that streams."""
        faults = self._faults(self._changed)
        reader.faults = [*self._pickers, *self.transit]
        repairs = self.settings.repairs
        resolved = _told_by(reader)
        judges: list[Stage] = []
        stages: list[Stage] = []
        if repairs == SAFE:
            stages += [repairer(self._context(repairs, reader.found, self._changed)) for repairer in repairers]
        else:
            context = replace(self._context(SAFE, reader.found), ids=AnswerIds(), judging=True)
            if isinstance(context.writer, SseWriter):
                context.writer = Unwritten()
            judges += [repairer(context) for repairer in repairers]
            if repairs:
                stages += [repairer(self._context(repairs, changed=self._changed)) for repairer in repairers]
        shapes = self._dialect.shapes if self.settings.shapes else {}
        for name in (name for name in self.settings.shapes if name in shapes):
            context = self._context(changed=self._changed)
            stages.append(Audited(context, shapes[name](context), "shape", name))
        told = len(repairers)
        if repairs & LEAK_CODES:
            stages.insert(0, LeakedCallRepairer(self._context(repairs, changed=self._changed)))
            told = 1
        judges.insert(0, LeakedCallRepairer(self._context(found=reader.found)))
        judge = self._chain(judges, resolved, len(judges))
        alike = len(stages) in {0, told}
        return StageSet(
            [reader],
            self._breaking(faults),
            judge,
            self._chain(stages, resolved, told),
            (lambda: reader.told) if alike else None,
            may_leak,
            watched=reader.wanted,
            changes=lambda: reader.changes,
        )

    def _changed(self, change: Change) -> None:
        """Take a change, where the client gets what came of it."""
        if self.reader is not None and not (isinstance(self.pipeline, Rewriter) and self.pipeline.in_vain):
            self.reader.changed(change)

    def _faults(self, changed: Callable[[Change], None]) -> list[Stage]:
        """The stages that break this stream."""
        stages: list[Stage] = []
        if not self.settings.faults:
            return stages
        injectors, shapes = self._dialect.injectors, self._dialect.shapes
        model = asked.model_of(self.exchange.path, self.exchange.request)
        turn = self._dialect.requests.results(self.exchange.request)
        for place, (fault, budget) in enumerate(self.settings.faults):
            if not fault.reaches(host=self.exchange.host, path=self.exchange.path, model=model, turn=turn):
                continue
            pick = Picker(fault, f"{self.settings.seed}|{self.number}|{place}", budget)
            self._pickers.append(pick)
            for part in PARTS.get(fault.name, (fault.name,)):
                context = self._context(changed=changed)
                if part in injectors:
                    stages.append(Audited(context, injectors[part](context, pick), "fault", fault.name))
                elif part in shapes and pick.stream():
                    counted = self._context(changed=partial(_counted, pick, changed))
                    stages.append(Audited(counted, shapes[part](counted), "fault", fault.name))
        return stages

    def _context(
        self,
        repairs: frozenset[str] = frozenset(),
        found: Callable[[Finding], None] = nobody,
        changed: Callable[[Change], None] = nobody,
    ) -> Context:
        return Context(
            self.exchange,
            self._dialect.requests.schemas(self.exchange.request),
            promote=self._dialect.promoted,
            id_prefix=self._dialect.id_prefix,
            reads_comments=self._dialect.reads_comments,
            repairs=repairs,
            writer=self._writer,
            ids=self.ids,
            found=found,
            changed=changed,
        )

    def _chain(self, stages: Sequence[Stage], told: Resolve, share: int) -> Chain | None:
        """The stages in a row; the first `share` of them see the calls of the stream as it came."""
        resolvers = [told] * min(share, len(stages)) + self._resolvers(len(stages) - share)
        return Chain(list(zip(stages, resolvers, strict=True)), self._dialect.read) if stages else None

    def _breaking(self, stages: Sequence[Stage]) -> Breaking | None:
        return (
            Breaking(list(zip(stages, self._resolvers(len(stages)), strict=True)), self._dialect.read)
            if stages
            else None
        )

    def _resolvers(self, count: int) -> list[Resolve]:
        """Resolvers for so many stages that each see another stream."""
        tools = self._dialect.requests.tools(self.exchange.request)
        return [resolving(self._dialect.calls(tools)) for _ in range(count)]


def _counted(pick: Picker, changed: Callable[[Change], None], change: Change) -> None:
    """A shape within a fault is counted by its changes: it knows nothing of faults."""
    pick.acted()
    changed(change)


def _told_by(reader: RecordBuilder) -> Resolve:
    """The calls that the reader has resolved already."""
    return lambda event: reader.told if event.frame.data is not None else ()


def read_body(
    chunks: Iterable[bytes],
    exchange: Exchange,
    *,
    broken: str | None = None,
    sinks: Sequence[Sink] = (),
    dialects: Sequence[WireProtocol] = PROTOCOLS,
) -> Record | None:
    """The record of a body at hand, or `None` where it is no LLM answer; takes no more chunks than it reads."""
    body = Session(exchange, sinks=lambda dialect: sinks, dialects=dialects)  # noqa: ARG005
    for chunk in chunks:
        if chunk:
            body.feed(chunk)
        if not body.pipeline.reading:
            break
    body.end(broken=broken)
    return body.record(broken=broken)
