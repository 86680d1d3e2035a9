"""Reads and rewrites one answer: bytes in, bytes out, and the record of it. The same for live and saved ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.finish import CUT_OFF_CALL
from toolstream_core.defects.framing import BODY_NOT_STREAM, WRONG_CONTENT_TYPE
from toolstream_core.engine.build import ChainFactory
from toolstream_core.engine.dispatcher import Dispatcher, Recogniser
from toolstream_core.engine.fast_path.path import MANY
from toolstream_core.engine.output import Collected, PassThrough
from toolstream_core.engine.record_builder import RecordBuilder
from toolstream_core.engine.stage_set import StageSet
from toolstream_core.engine.state import State
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.protocols.requests import asked
from toolstream_core.settings import NOTHING, Settings
from toolstream_core.stages.answer_ids import AnswerIds
from toolstream_core.wire.body import BodyDecoder, BodyFraming
from toolstream_core.wire.form import CONTENT_TYPES, Form
from toolstream_core.wire.sse import SseFramer
from toolstream_core.wire.write import writer_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.defects.row import Row
    from toolstream_core.engine.sink import Sink
    from toolstream_core.engine.stage_set import StagesFor
    from toolstream_core.faults.spec import Picker
    from toolstream_core.model import Record, StreamFacts
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.wire.frame import Framer


class Pipeline:
    """One answer's bytes on their way through stages."""

    clean = True
    """Whether the body ends by its own end; said before the end is fed."""

    def __init__(
        self,
        dialects: Sequence[WireProtocol],
        exchange: StreamFacts,
        stages_for: StagesFor,
        output: PassThrough | None = None,
        *,
        fast: bool = True,
    ) -> None:
        """`stages_for` is called at most once; `exchange` says what the headers said; `fast`: as for `Session`.

        Without an `output` of its own, the chunks pass as they come.
        """
        self._output = output or PassThrough()
        self._decoder = BodyDecoder(exchange.content_encoding)
        self._framing = BodyFraming(exchange.content_type)
        self._recogniser = Recogniser(dialects, exchange.path)
        self._frames = Dispatcher(self._recogniser, stages_for, self._output, fast=fast)
        if self._decoder.failure is not None:
            self._frames.stop(self._decoder.failure)

    @property
    def reading(self) -> bool:
        """Whether the bytes are still being looked at."""
        return self._frames.state is not State.PASSING

    @property
    def failure(self) -> str | None:
        """Why reading stopped before the end, where it did."""
        return self._frames.failure

    @property
    def error(self) -> Exception | None:
        """The bug of ours that ended the reading or the rewriting, where there was one."""
        return self._frames.error

    def feed(self, chunk: bytes) -> list[bytes]:
        """What goes on for `chunk`; `b""` is the end. Never holds an empty `bytes`: mitmproxy ends the body on it."""
        output, frames = self._output, self._frames
        if frames.state is State.PASSING:
            return output.unread(chunk, self._decoder)
        fast = frames.fast
        try:
            if chunk and fast is not None and fast.direct:
                output.take(chunk)
                fast.feed(chunk)
            else:
                self._look(chunk)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
            frames.fail(error)
        if output.taken and not self.reading:
            output.flush()
        return output.let_out(chunk)

    def fail(self, error: Exception) -> None:
        """Read no more, because of an internal error elsewhere; what is held goes with the next bytes."""
        self._frames.fail(error)

    def feed_fast(self, chunk: bytes) -> bytes | None:
        """What goes on for a chunk, perhaps nothing, where that is seen at once; `None` where it has to be fed."""
        fast, output = self._frames.fast, self._output
        if fast is None or output.taken:
            return None
        try:
            return fast.feed_fast(chunk)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
            self._frames.fail(error)
            return None

    def _look(self, chunk: bytes) -> None:
        """Take the next bytes as they came; `b""` is the end."""
        data = self._decoder.decode(chunk)
        if self._decoder.failure is not None:
            self._finish()
            self._frames.stop(self._decoder.failure)
            return
        if data:
            self._output.take(data)
            self._cut(self._opened(data) if self._framing.framer is None else data)
        if not chunk and self.reading:
            self._finish()

    def _opened(self, data: bytes, *, ended: bool = False) -> bytes:
        """Find out how the body is framed; what is to be cut of it now."""
        data = self._framing.open(data, ended=ended)
        if self._framing.foreign:
            self._frames.stop()
        elif self._framing.framer is not None:
            self._frames.begin(self._framing.framer, coded=self._decoder.coded)
        return data

    def _cut(self, data: bytes) -> None:
        """Cut decoded bytes into frames, and pass these."""
        framer, frames = self._framing.framer, self._frames
        if framer is None:
            return
        if frames.state is State.RECOGNISING and len(data) > MANY:
            frames.pass_frames(framer.feed(data[:MANY]))
            data = data[MANY:]
        if frames.fast is not None:
            frames.fast.feed(data)
        elif self.reading:
            frames.pass_frames(framer.feed(data))

    def _finish(self) -> None:
        """The body is over."""
        if self._frames.fast is not None:
            self._frames.fast.hand_on()
        if self._framing.framer is None and self._framing.head:
            self._cut(self._opened(b"", ended=True))
        if self._framing.framer is not None and self.reading:
            self._frames.pass_frames(self._framing.framer.feed(b""))
        self._frames.end(clean=self.clean)


_EVENTS: Final = CONTENT_TYPES[Form.EVENTS]
_FAILED: Final = 400
"""From this status on an answer is an error, and whole by right."""


@dataclass
class Session:
    """One answer on its way: bytes in, bytes out, and the record of it.

    `feed` each chunk of the body as it came over the network, `end` when it is over, then ask for the `record`.
    Where `settings` change anything, the bytes that go on are decoded: the headers `Content-Encoding` and
    `Content-Length` do not describe them. Foreign bytes raise nothing; a bug of ours is kept in `error`, and from
    there on the bytes pass as they come.
    """

    exchange: StreamFacts
    """What the request and the answer's headers say."""
    settings: Settings = NOTHING
    """What is to be done to the answer; nothing by default."""
    sinks: Callable[[WireProtocol], Sequence[Sink]] = lambda dialect: ()  # noqa: ARG005
    """Who is told of events as they come; called once, when the protocol is known."""
    dialects: Sequence[WireProtocol] = PROTOCOLS
    """The protocols that the answer may be in."""
    ids: AnswerIds = field(default_factory=AnswerIds)
    """Makes the ids that repairs need; one for all answers of a conversation."""
    number: int = 0
    """Which stream of its run it is: faults are drawn by it."""
    transit: Sequence[Picker] = ()
    """Faults of time that act on it further on, to be told with the others."""
    fast: bool = True
    """Whether events like the one before them may pass unparsed: it changes the cost, and nothing that is told."""

    def __post_init__(self) -> None:
        """Put the parts together."""
        self._output = Collected() if self.settings.rewrites else PassThrough()
        self.pipeline = Pipeline(self.dialects, self.exchange, self._stages_for, self._output, fast=self.fast)
        self.reader: RecordBuilder | None = None
        self._half = False
        """Whether a call was half when the answer was over, and nothing of it said so."""

    @property
    def error(self) -> Exception | None:
        """The bug of ours that ended the reading or the rewriting, where there was one."""
        return self.pipeline.error

    @property
    def failure(self) -> str | None:
        """Why reading stopped before the end, where it did."""
        return self.pipeline.failure

    def feed(self, chunk: bytes) -> list[bytes]:
        """What goes on for `chunk`, which is not empty: any number of pieces, none of them empty."""
        sent = self.pipeline.feed_fast(chunk)
        if sent is None:
            return self.pipeline.feed(chunk)
        return [sent] if sent else []

    def end(self, *, broken: str | None = None) -> list[bytes]:
        """What is still to go on at the body's end; `broken` says how the connection broke, where it did."""
        self.pipeline.clean = broken is None
        out = self.pipeline.feed(b"")
        self._half = self.reader is not None and self.error is None and bool(self.reader.half_calls())
        return out

    def cut_off(self, record: Record) -> Row | None:
        """Why the answer, which is over, has to end as a break for the client: a call of it is half.

        `None` where it ends as it came: whole, half as its finish reason or its error says, or with the repair
        switched off. An end that said otherwise (`[DONE]`, `message_stop`, `response.completed`) was kept back.
        """
        if CUT_OFF_CALL.code not in self.settings.repairs:
            return None
        explained = record.finish or record.error  # Behind an error, clients take a break for a lost connection.
        silent = not explained and any(one.code == CUT_OFF_CALL.code for one in record.findings)
        return CUT_OFF_CALL if silent or self._half else None

    def record(self, *, broken: str | None = None, told: bool = True) -> Record | None:
        """What the answer was, once it is over; `None` where it is no LLM's.

        A body whose coding cannot be undone is an LLM's where the request asked for one. Where it is not `told`
        now, `RecordBuilder.tell_end` does so later.
        """
        if self.reader is None and self.failure is not None and self.error is None:
            self.reader = self._asked()
        if self.reader is None:
            return None
        record = self.reader.finished(broken=broken, unread=self.failure)
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

    def _stages_for(self, dialect: WireProtocol, framer: Framer) -> StageSet:
        """Who has to do with the answer's events, now that its protocol is known."""
        if dialect.read_only:
            self.settings = NOTHING
        writer = writer_for(framer)
        sinks, streamed = self.sinks(dialect), writer is not None
        reader = self.reader = RecordBuilder(dialect, self.exchange, sinks, self._output, streamed=streamed)
        reader.faults = self.transit
        if writer is None:
            wanted = self.exchange.path and asked.wants_stream(self.exchange.path, self.exchange.request)
            if wanted and self.exchange.status < _FAILED:
                reader.found(BODY_NOT_STREAM.found(0, "a stream was requested, but the response is one JSON body"))
            return StageSet([reader])
        kind = self.exchange.content_type
        if self.exchange.path and kind and isinstance(framer, SseFramer) and _EVENTS not in kind.lower():
            message = f"an event stream was sent as {kind.partition(';')[0].strip()} instead of {_EVENTS}"
            reader.found(WRONG_CONTENT_TYPE.found(0, message))
        chains = ChainFactory(self.exchange, self.settings, dialect, writer, reader, self.ids, self.number)
        stages = chains.stages()
        reader.faults = [*chains.pickers, *self.transit]
        return stages


def read_body(
    chunks: Iterable[bytes],
    exchange: StreamFacts,
    *,
    broken: str | None = None,
    sinks: Sequence[Sink] = (),
    dialects: Sequence[WireProtocol] = PROTOCOLS,
) -> Record | None:
    """The record of a body at hand, or `None` where it is no LLM answer; takes no more chunks than it reads."""
    session = Session(exchange, sinks=lambda dialect: sinks, dialects=dialects)  # noqa: ARG005
    for chunk in chunks:
        if chunk:
            session.feed(chunk)
        if not session.pipeline.reading:
            break
    session.end(broken=broken)
    return session.record(broken=broken)
