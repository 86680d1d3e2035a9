"""Reads and rewrites one response, live or saved: bytes in, bytes out, and its record."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from toolstream_core.defects.defect import Defect
from toolstream_core.defects.finish import CUT_OFF_CALL
from toolstream_core.defects.framing import BODY_NOT_STREAM, WRONG_CONTENT_TYPE
from toolstream_core.engine.build import ChainFactory
from toolstream_core.engine.chain import Chain, StageSet, never
from toolstream_core.engine.fast_path import FastPath
from toolstream_core.engine.output import Output
from toolstream_core.engine.recogniser import Recogniser
from toolstream_core.engine.record_builder import RecordBuilder
from toolstream_core.engine.sink import Sink
from toolstream_core.faults.spec import Picker
from toolstream_core.model import BAD_STATUS, Event, EventContent, Record, StreamFacts
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.protocols.requests import match_key
from toolstream_core.settings import NOTHING, Settings
from toolstream_core.stages.response_ids import ResponseIds
from toolstream_core.wire.body import BodyDecoder, BodyFraming
from toolstream_core.wire.frame import CONTENT_TYPES, DamagedFrame, Form, Frame, Framer
from toolstream_core.wire.json_framings import DocumentFramer
from toolstream_core.wire.sse import SseFramer
from toolstream_core.wire.write import writer_for

_EVENTS: Final = CONTENT_TYPES[Form.EVENTS]
_STEP: Final = 4096
"""Bytes that are split into frames before frames may be skipped again."""
EVERY_FRAME: Final = tuple(replace(protocol, quiet=never) for protocol in PROTOCOLS)
"""The protocols with every frame read: none is skipped because it has no calls."""


class State(enum.Enum):
    """FRAMING → RECOGNISING → READING → ENDED, and from each of them to PASSING."""

    FRAMING = enum.auto()
    """The framing of the body is not known yet."""
    RECOGNISING = enum.auto()
    """There are frames; their protocol is not known yet."""
    READING = enum.auto()
    """The stages get the events."""
    ENDED = enum.auto()
    """The terminal event has arrived; further events are still read."""
    PASSING = enum.auto()
    """Bytes are forwarded unread: the body has ended, is not an LLM's, or an error ended the reading."""


# No byte waits for longer than the frame that it is in. Before the protocol is known (mostly by the first frame with
# data), frames are forwarded unchanged, and the stages see them afterwards. A complete, unstreamed body is forwarded
# unchanged. An error in reading (a corrupt coding, a bug) ends the reading and is kept in `failure`: held frames are
# forwarded unchanged, and so is the rest.


@dataclass
class Session:
    """One response in flight: bytes in, bytes out, and its record.

    `feed` each received chunk of the body, `end` it, then get the `record`.
    If `settings` change anything, the forwarded bytes are decoded: the headers `Content-Encoding` and
    `Content-Length` do not describe them. Foreign bytes raise nothing; an internal error is kept in `error`, and
    from there on the bytes are forwarded unchanged.
    """

    exchange: StreamFacts
    """The facts of the request, and of the response's headers."""
    settings: Settings = NOTHING
    """The changes to the response; none by default."""
    sinks: Callable[[WireProtocol], Sequence[Sink]] = lambda protocol: ()  # noqa: ARG005
    """Makes the sinks of events; called once, when the protocol is known."""
    protocols: Sequence[WireProtocol] = PROTOCOLS
    """The possible protocols."""
    ids: ResponseIds = field(default_factory=ResponseIds)
    """Makes the ids that repairs need; one for all responses of a conversation."""
    number: int = 0
    """The number of the stream in its run, which seeds the selection of faults."""
    transit: Sequence[Picker] = ()
    """Timing faults, which act elsewhere, to be reported with the others."""
    fast: bool = True
    """Whether events like earlier ones are forwarded unparsed. It does not change any result."""

    def __post_init__(self) -> None:
        """Make the parts."""
        self.reader: RecordBuilder | None = None
        """Collects the record; `None` before the protocol is known."""
        self.state = State.FRAMING
        self.reading = True
        """Whether the bytes are still read."""
        self.failure: str | None = None
        """The reason if reading stopped before the end."""
        self._error: Exception | None = None
        self._cut_off = False
        """Whether the response ended with an incomplete call that no finish reason or error explains."""
        self._output = Output(collects=self.settings.rewrites)
        self._decoder = BodyDecoder(self.exchange.content_encoding)
        self._coded = self._decoder.coded
        self._framing = BodyFraming(self.exchange.content_type)
        self._recogniser = Recogniser(self.protocols, self.exchange.path)
        self._stages = StageSet()
        self._fast: FastPath | None = None
        """Decides which events are forwarded unparsed, while the stream is read."""
        self._read: Callable[[Frame], EventContent]
        self._read_healthy: Callable[[Frame], EventContent]
        """Reads the events before faults are injected."""
        if self._decoder.failure is not None:
            self._stop(self._decoder.failure)

    @property
    def error(self) -> Exception | None:
        """The internal error that ended the reading or the rewriting, if there was one."""
        return self._error or self._stages.error

    def feed(self, chunk: bytes) -> list[bytes]:
        """The chunks to forward for `chunk`, which is not empty. None of them is empty."""
        sent = self.feed_fast(chunk)
        if sent is None:
            return self._feed(chunk, clean=True)
        return [sent] if sent else []

    def feed_frames(self, chunk: bytes) -> list[bytes]:
        """As `feed`, for a chunk that `feed_fast` does not take."""
        return self._feed(chunk, clean=True)

    def feed_fast(self, chunk: bytes) -> bytes | None:
        """The bytes to forward for a chunk that is one event like earlier ones; `None` for any other."""
        fast = self._fast
        if fast is None or fast.is_idle or self._output.unframed or self._coded or self._stages.faults is not None:
            return None
        try:
            return fast.forward_frame(chunk)
        except Exception as error:  # noqa: BLE001 - after any error, the client gets its bytes
            self.fail(error)
            return None

    def end(self, *, broken: str | None = None) -> list[bytes]:
        """The chunks to forward at the end of the body. `broken`: the error of the connection."""
        out = self._feed(b"", clean=broken is None)
        self._cut_off = self.reader is not None and self.error is None and bool(self.reader.incomplete_calls())
        return out

    def fail(self, error: Exception, frames: Sequence[Frame] = ()) -> None:
        """End the reading after an internal error: held frames are forwarded unchanged, then `frames`."""
        self._error = error
        self._stop(f"{type(error).__name__} while reading")
        if self._output.collects:
            self._output.send([*self._stages.release(), *self._recogniser.unsent(), *frames])

    def cut_off(self, record: Record) -> Defect | None:
        """The defect for which the ended response must be truncated for the client: a call is incomplete.

        `None` if it ends unchanged: complete, incomplete by its finish reason or its error, or with the repair
        switched off. An end that claims to be complete (`[DONE]`, `message_stop`, `response.completed`) was withheld.
        """
        if CUT_OFF_CALL.code not in self.settings.repairs:
            return None
        explained = record.finish or record.error  # After an error, clients treat a disconnect as a lost connection.
        silent = not explained and any(one.code == CUT_OFF_CALL.code for one in record.findings)
        return CUT_OFF_CALL if silent or self._cut_off else None

    def record(self, *, broken: str | None = None, report: bool = True) -> Record | None:
        """The record of the ended response; `None` if it is not an LLM's.

        A body whose coding cannot be undone is an LLM's if the request asked for one. Unless it is reported
        (`report`) now, `RecordBuilder.report_end` does so later.
        """
        if self.reader is None and self.failure is not None and self.error is None:
            self.reader = self._unreadable()
        if self.reader is None:
            return None
        record = self.reader.finished(broken=broken, unread=self.failure)
        if report:
            self.reader.report_end()
        return record

    def _feed(self, chunk: bytes, *, clean: bool) -> list[bytes]:
        """The chunks to forward for `chunk`; `b""` is the end, which is `clean` unless the connection broke."""
        output = self._output
        if self.state is State.PASSING:
            return output.forward_unread(chunk, self._decoder)
        try:
            self._read_chunk(chunk, clean=clean)
        except Exception as error:  # noqa: BLE001 - after any error, the client gets its bytes
            self.fail(error)
        if output.unframed and not self.reading:
            output.flush()
        return output.forwarded(chunk)

    def _read_chunk(self, chunk: bytes, *, clean: bool) -> None:
        data = self._decoder.decode(chunk) if self._coded else chunk
        if self._decoder.failure is not None:
            self._finish(clean=clean)
            self._stop(self._decoder.failure)
            return
        if data:
            self._output.receive(data)
            self._split(self._open_framing(data) if self._framing.framer is None else data)
        if not chunk and self.reading:
            self._finish(clean=clean)

    def _open_framing(self, data: bytes, *, ended: bool = False) -> bytes:
        """Find the framing of the body. Returns the bytes to split now."""
        data = self._framing.open(data, ended=ended)
        if self._framing.foreign:
            self._stop()
        elif self._framing.framer is not None:
            self.state = State.RECOGNISING
            if isinstance(self._framing.framer, DocumentFramer):
                self._output.forward_document()
        return data

    def _split(self, data: bytes) -> None:
        """Split decoded bytes into frames, some at a time. Frames that can be skipped are forwarded unsplit."""
        framer, at, end = self._framing.framer, 0, len(data)
        while framer is not None and at < end and self.state is not State.PASSING:
            stop, fast = end, None if self._stages.faults is not None else self._fast
            passes = fast is not None and not fast.is_idle
            if fast is not None and passes:
                at = fast.forward_frames(data, at, self._output.send_part)
            if (passes or end - at > _STEP) and framer.end:
                found = data.find(framer.end, at if framer.holding else at + _STEP)
                stop = end if found < 0 else found + len(framer.end)
            if at < stop:
                self._take(framer.feed(data[at:stop]))
            at = stop

    def _finish(self, *, clean: bool) -> None:
        """End the body: read the rest of it."""
        if self._fast is not None:
            self._fast.report_skipped()
        if self._framing.framer is None and self._framing.head:
            self._split(self._open_framing(b"", ended=True))
        if self._framing.framer is not None and self.reading:
            self._take(self._framing.framer.feed(b""))
        self._end_stages(clean=clean)

    def _take(self, frames: Sequence[Frame], *, kept: bool = False) -> None:
        """Take frames; `kept`: they arrived before the protocol was known."""
        unframed = None if kept else self._output.unframed
        for frame in frames:
            if unframed:
                del unframed[: len(frame.raw)]
            try:
                if self.state is State.PASSING:
                    self._output.send([frame])
                elif self.state is State.RECOGNISING:
                    self._recognise(frame)
                elif frame.oversize and isinstance(frame, DamagedFrame):
                    self._end_stages(clean=False)
                    self.failure = self.failure or frame.damage
                    self._output.send([frame])
                elif self._stages.faults is not None:
                    self._inject(self._stages.faults, frame)
                elif not self._forward_unparsed(frame):
                    self._report(frame)
            except Exception as error:  # noqa: BLE001 - after any error, the client gets its bytes
                self.fail(error, [frame])

    def _report(self, frame: Frame) -> None:
        """Pass a frame through the reader and the stages, and forward the result.

        Reading may have ended with another event of the same frame.
        """
        if self.state is State.PASSING:
            self._output.send([frame])
            return
        try:
            event, stages = Event(frame, self._read), self._stages
            if stages.reader is not None:
                stages.reader(event)
            if stages.checker is not None:
                stages.checker.take(event)
            out = [frame] if stages.stages is None else stages.stages.take(event)
            if event.content.end:
                self.state = State.ENDED
        except Exception as error:  # noqa: BLE001 - after any error, the client gets its bytes
            self.fail(error, [frame])
            return
        self._output.send(out)
        if self._fast is not None:
            try:
                self._fast.learn(event, out)
            except Exception as error:  # noqa: BLE001 - after any error, the client gets its bytes
                self.fail(error)

    def _inject(self, faults: Chain, frame: Frame) -> None:
        """Inject faults into a frame, unless it is quiet, and read the result."""
        if self._fast is not None and self._fast.forward_quiet(frame):
            self._output.send([frame])
            return
        for one in faults.take(Event(frame, self._read_healthy)):
            if not self._forward_unparsed(one, quiet=False):
                self._report(one)

    def _forward_unparsed(self, frame: Frame, *, quiet: bool = True) -> bool:
        """Forward a frame that is like earlier ones, or quiet. Returns whether it was forwarded."""
        fast = self._fast
        if fast is None:
            return False
        sent = None if fast.is_idle else fast.forward_alike(frame)
        if sent is None and quiet:
            sent = fast.forward_quiet(frame)
        if sent is not None:
            self._output.send([sent])
        return sent is not None

    def _end_stages(self, *, clean: bool) -> None:
        """End the stages, and forward the held frames."""
        claimed = self._recogniser.at_end() if self.state is State.RECOGNISING else None
        if claimed is not None:
            self._start(claimed)
        self._output.send(self._recogniser.unsent())
        faults, checker, stages = self._stages.faults, self._stages.checker, self._stages.stages
        if faults is not None and self.reading:
            for frame in faults.end(clean=clean):
                self._report(frame)
        if checker is not None and self.reading:
            checker.end(clean=clean)
        if stages is not None and self.reading:
            self._output.send(stages.end(clean=clean))
        self._stop()

    def _stop(self, failure: str | None = None) -> None:
        """Stop reading."""
        self.state, self.reading = State.PASSING, False
        self.failure = self.failure or failure
        self._fast = None
        self._recogniser.pending.clear()

    def _recognise(self, frame: Frame) -> None:
        found = self._recogniser.take(frame)
        if found is not None:
            self._start(found, frame)
            return
        passing = self._recogniser.forwardable(frame)
        if self._recogniser.given_up:
            self._stop()
        self._output.send(passing)

    def _start(self, protocol: WireProtocol, last: Frame | None = None) -> None:
        """Start reading in a protocol; `last`: the frame that shows it, not forwarded yet; `None` at the end."""
        framer = self._framing.framer
        assert framer is not None
        self._stages = self._make_stages(protocol, framer)
        if isinstance(framer, DocumentFramer):
            self._read = lambda frame: protocol.read_response(frame.json)
        else:
            self._fast = FastPath(framer, protocol.read, protocol.quiet, self._stages, fast=self.fast)
            self._read, self._read_healthy = self._fast.read, protocol.read
        self.state = State.READING
        self._replay(last)
        # The first frames are never quiet, because their content is read.
        if self._fast is not None and self.state is State.READING:
            self._fast.begin()

    def _replay(self, last: Frame | None) -> None:
        """Pass the frames so far through the stages. The result is dropped for those that were forwarded."""
        unsent = self._recogniser.unsent()
        for frame in self._recogniser.frames():
            self._discard(on=not (frame is last or frame in unsent))
            self._take([frame], kept=True)
        self._discard(on=last is None)

    def _discard(self, *, on: bool) -> None:
        """Start or stop dropping the forwarded bytes and their changes."""
        self._output.discards = on
        if self.reader is not None:
            self.reader.discards = on

    def _unreadable(self) -> RecordBuilder | None:
        """The record builder of a response that could not be read at all."""
        wanted = match_key.protocol_of(self.exchange.path, self.exchange.request)
        for protocol in self.protocols:
            if wanted is not None and protocol.name == wanted.name:
                streamed = wanted.api.form(self.exchange.path, self.exchange.request) is not Form.WHOLE
                return RecordBuilder(protocol, self.exchange, self.sinks(protocol), streamed=streamed)
        return None

    def _make_stages(self, protocol: WireProtocol, framer: Framer) -> StageSet:
        """Make the stages of the response."""
        if protocol.read_only:
            self.settings = NOTHING
        writer = writer_for(framer)
        sinks, streamed = self.sinks(protocol), writer is not None
        reader = self.reader = RecordBuilder(protocol, self.exchange, sinks, streamed=streamed)
        reader.faults = self.transit
        if writer is None:
            wanted = self.exchange.path and match_key.wants_stream(self.exchange.path, self.exchange.request)
            if wanted and self.exchange.status < BAD_STATUS:
                reader.found(BODY_NOT_STREAM.found(0, "a stream was requested, but the response is one JSON body"))
            return StageSet(reader)
        kind = self.exchange.content_type
        if self.exchange.path and kind and isinstance(framer, SseFramer) and _EVENTS not in kind.lower():
            message = f"an event stream was sent as {kind.partition(';')[0].strip()} instead of {_EVENTS}"
            reader.found(WRONG_CONTENT_TYPE.found(0, message))
        chains = ChainFactory(self.exchange, self.settings, protocol, writer, reader, self.ids, self.number)
        stages = chains.stages()
        reader.faults = [*chains.pickers, *self.transit]
        return stages


def read_body(
    chunks: Iterable[bytes],
    exchange: StreamFacts,
    *,
    broken: str | None = None,
    sinks: Sequence[Sink] = (),
    protocols: Sequence[WireProtocol] = PROTOCOLS,
) -> Record | None:
    """The record of a body; `None` if it is not an LLM's. Consumes no more chunks than it reads."""
    session = Session(exchange, sinks=lambda protocol: sinks, protocols=protocols)  # noqa: ARG005
    for chunk in chunks:
        if chunk:
            session.feed(chunk)
        if not session.reading:
            break
    session.end(broken=broken)
    return session.record(broken=broken)
