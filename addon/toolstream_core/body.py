"""Reads and rewrites one answer: which stages it meets, and what is told of it. The same for live and saved ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from toolstream_core.chain import Chain, hearing
from toolstream_core.defects.menders import MENDERS
from toolstream_core.defects.stage import Context, Ids
from toolstream_core.dialects import DIALECTS, request
from toolstream_core.pipeline import Pipeline, Plan
from toolstream_core.record import Reader
from toolstream_core.rewriting import Rewriter
from toolstream_core.wire.write import writer_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.defects.stage import Stage
    from toolstream_core.dialects import Dialect
    from toolstream_core.model import Exchange
    from toolstream_core.record import Record, Sink
    from toolstream_core.wire.frame import Framer


@dataclass(frozen=True, slots=True)
class Settings:
    """What is to be done to streams that pass."""

    repairs: frozenset[str] = frozenset()
    """Codes of the rows whose repair is on."""

    @property
    def rewrites(self) -> bool:
        """Whether any stream may leave otherwise than it came."""
        return bool(self.repairs)


NOTHING = Settings()


@dataclass
class Body:
    """One answer on its way: bytes in, bytes out, and the record of it."""

    exchange: Exchange
    settings: Settings = NOTHING
    sinks: Callable[[Dialect], Sequence[Sink]] = lambda dialect: ()  # noqa: ARG005
    dialects: Sequence[Dialect] = DIALECTS
    ids: Ids = field(default_factory=Ids)

    def __post_init__(self) -> None:
        """Build the pipeline."""
        make = Rewriter if self.settings.rewrites else Pipeline
        self.pipeline = make(self.dialects, self.exchange, self._begin)
        self.reader: Reader | None = None

    def feed(self, chunk: bytes) -> list[bytes]:
        """As `Pipeline.feed`."""
        return self.pipeline.feed(chunk)

    def end(self, *, broken: str | None = None) -> list[bytes]:
        """What is still to go on at the body's end; `broken` says how the connection broke, where it did."""
        self.pipeline.clean = broken is None
        return self.pipeline.feed(b"")

    def record(self, *, broken: str | None = None) -> Record | None:
        """What the answer was, once it is over; `None` where it is no LLM's."""
        if self.reader is None:
            return None
        return self.reader.finished(broken=broken, unread=self.pipeline.failure)

    def _begin(self, dialect: Dialect, framer: Framer) -> Plan:
        writer = writer_for(framer)
        reader = self.reader = Reader(dialect, self.exchange, self.sinks(dialect), streamed=writer is not None)
        if writer is None:
            return Plan([reader])
        context = Context(
            self.exchange,
            request.schemas(self.exchange.request),
            self.settings.repairs,
            writer,
            self.ids,
            reader.found,
            reader.mended,
        )
        stages: list[Stage] = []
        if dialect.name in MENDERS:
            stages.append(MENDERS[dialect.name](context))
        tools = request.tools(self.exchange.request)
        heard = [lambda event: reader.told if event.frame.data is not None else ()]
        hears = [*heard, *(hearing(dialect.calls(tools)) for _ in stages[1:])]
        chain = Chain(list(zip(stages, hears, strict=True)), dialect.read) if stages else None
        return Plan([reader], None, chain)


def read_body(
    chunks: Iterable[bytes],
    exchange: Exchange,
    *,
    broken: str | None = None,
    sinks: Sequence[Sink] = (),
    dialects: Sequence[Dialect] = DIALECTS,
) -> Record | None:
    """The record of a body at hand, or `None` where it is no LLM answer; takes no more chunks than it reads."""
    body = Body(exchange, sinks=lambda dialect: sinks, dialects=dialects)  # noqa: ARG005
    for chunk in chunks:
        if chunk:
            body.feed(chunk)
        if not body.pipeline.reading:
            break
    body.end(broken=broken)
    return body.record(broken=broken)
