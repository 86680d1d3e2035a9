"""The pipeline that lets stages change what passes: bytes in, other bytes out, fail open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.engine.chain_factory import never
from toolstream_core.engine.pipeline import Pipeline
from toolstream_core.model import Event
from toolstream_core.wire.coding import CodingError
from toolstream_core.wire.frame import DamagedFrame, Frame
from toolstream_core.wire.sse import reread
from toolstream_core.wire.whole import WholeFramer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.engine.chain_factory import ChainFactory
    from toolstream_core.engine.fast_path import FastPath
    from toolstream_core.model import Exchange
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.wire.frame import Framer

# Nothing waits for longer than the frame that it is in. Before the dialect is known (most often with the first
# frame that carries data), frames go on as they came, and the stages see them afterwards; a whole, unstreamed body
# goes on as it came. Bytes that were taken in and are in no frame yet are remembered, so that a bug of ours loses
# none: from there on everything passes as it comes.
#
# What leaves is decoded: whoever uses this takes the content coding out of the headers.


KEEP_ALIVE: Final = frozenset({b"", b":"})
"""How data begins that says nothing in any protocol."""


class Rewriter(Pipeline):
    """One answer's bytes on their way through stages."""

    def __init__(
        self, dialects: Sequence[WireProtocol], exchange: Exchange, begin: ChainFactory, *, fast: bool = True
    ) -> None:
        """As `Pipeline`."""
        super().__init__(dialects, exchange, begin, fast=fast)
        self._out: list[bytes] = []
        self._taken = bytearray()
        """Decoded bytes that are in no frame yet."""
        self._whole = False
        self._fresh = False
        """Whether a frame is being recognised that has not gone on yet."""
        self._gone = False
        """Whether every frame had gone on before the protocol was known."""
        self.in_vain = False
        """Whether what stages make of the frame in hand goes nowhere: it has gone on already."""
        self._kept: list[Frame] = []
        """Keep-alives sent as data before the first event: a stage may want to mend them."""

    def feed_fast(self, chunk: bytes) -> bytes | None:
        """As `Pipeline.feed_fast`: frames on a course, and those of text."""
        fast_path = self._fast_path
        if fast_path is None or self._taken or not self._reading:
            return None
        try:
            if self._faults is not None:
                return self._through_faults(self._broken, fast_path, chunk) if self._broken is not None else None
            gone = fast_path.whole(chunk)
            if gone is None and fast_path.skips_text(chunk):
                return chunk
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
            self._fail(error)
            return None
        return gone

    def feed(self, chunk: bytes) -> list[bytes]:
        """As `Pipeline.feed`; what leaves may be other bytes, and decoded ones."""
        if not self._reading:
            return self._let_out(self._undone(chunk))
        try:
            if self._many(chunk):
                return [chunk]
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
            self._fail(error)
            self._taken += chunk
        try:
            if self._reading:
                self._look(chunk)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
            self._fail(error)
        if self._taken and not self.reading:
            self._out.append(bytes(self._taken))
            self._taken.clear()
        return self._let_out()

    def _let_out(self, last: Iterable[bytes] = ()) -> list[bytes]:
        """What is to go on, in one piece, and `last` behind it."""
        out, self._out = self._out, []
        joined = b"".join((*out, *last))
        return [joined] if joined else []

    def _many(self, chunk: bytes) -> bool:
        """Whether a chunk is frames that say nothing, and goes by."""
        if self._fast_path is not None:
            self._fast_path.hand_on_quiet()
        if self._bulk is None or self._taken or not self._pass_by(self._bulk, chunk):
            return False
        self._out.clear()
        return True

    def _through_faults(self, broken: FastPath, fast_path: FastPath, chunk: bytes) -> bytes | None:
        """What goes on for a chunk that is one frame on the course through the faults; `None` for any other."""
        raw = broken.whole(chunk)
        if raw is None or self._read is None or self._bulk is None:
            return None
        number = self._bulk.skip(0) - 1
        gone = fast_path.whole(raw, number)
        if gone is None:
            fast_path.hand_on()
            self._tell(Event(reread(Frame(raw, number, None)), self._read))
            gone = b"".join(self._let_out())
        return gone

    def _undone(self, chunk: bytes) -> list[bytes]:
        """Bytes that nobody reads any more, decoded as those before them."""
        try:
            data = chunk if self._decoder is None else self._decoder.decode(chunk)
        except CodingError:
            return []
        return [data] if data else []

    def _take(self, data: bytes) -> None:
        if self._whole:
            self._out.append(data)
        else:
            self._taken += data
        if self._direct is not None:
            self._hurry(self._direct, data)
        else:
            super()._take(data)

    def _choose(self, data: bytes, *, ended: bool = False) -> Framer | None:
        framer = super()._choose(data, ended=ended)
        if isinstance(framer, WholeFramer) and not self._whole:
            self._whole = True
            self._out.append(bytes(self._taken))
            self._taken.clear()
        return framer

    def _pass(self, frames: list[Frame]) -> None:
        for frame in frames:
            if not self._whole:
                del self._taken[: len(frame.raw)]
            self._pass_one(frame)

    def _pass_one(self, frame: Frame) -> None:
        if not self.reading:
            self._send([frame])
            return
        try:
            super()._pass([frame])
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
            self._fail(error, [frame])

    def _tell(self, event: Event) -> None:
        """As `Pipeline._tell`; an event may be told after reading has ended with another one of its frame."""
        if not self.reading:
            self._send([event.frame])
            return
        try:
            super()._tell(event)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
            self._fail(error, [event.frame])

    def _told(self, event: Event, out: Sequence[Frame]) -> None:
        try:
            super()._told(event, out)
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
            self._fail(error)

    def _fail(self, error: Exception, frames: Iterable[Frame] = ()) -> None:
        """A bug of ours ends the reading."""
        self._error = error
        self._give_up(f"{type(error).__name__} while reading", frames)

    def _is_damaged(self, frame: Frame) -> bool:
        if isinstance(frame, DamagedFrame):
            self._give_up(frame.damage, [frame])
        return not self.reading

    def _give_up(self, why: str, frames: Iterable[Frame]) -> None:
        """Read no further; what is held goes on as it came, and `frames` behind it."""
        self._stop(why)
        for chain in (self._stages, self._faults):
            if chain is not None:
                self._send(chain.release())
        self._send([*self._kept, *frames])
        self._kept.clear()

    def _recognise(self, frame: Frame) -> None:
        self._fresh = True
        super()._recognise(frame)
        self._fresh = False
        if self._read is not None:
            return
        silent = frame.data is not None and frame.data.strip()[:1] in KEEP_ALIVE
        if silent and self.reading and not frame.trailing:
            self._kept.append(frame)
        else:
            self._send([*self._kept, frame])
            self._kept.clear()

    def _start(self, dialect: WireProtocol) -> None:
        """As `Pipeline._start`: of the frames so far, all but the one that was just recognised have gone on."""
        pending, self._pending = self._pending, []
        super()._start(dialect)
        quiet, self._quiet = self._quiet, never
        kept, self._kept = self._kept, []
        self._gone = not self._fresh
        last = pending[-1] if self._fresh else None
        for frame in pending:
            before, self._out = self._out, []
            self.in_vain = not (frame is last or frame in kept)
            self._pass_one(frame)
            self._out = before if self.in_vain else before + self._out
        self.in_vain = self._gone
        self._quiet = never if self._over else quiet

    def _end(self) -> None:
        self._send(self._kept)
        out = list(self._out)
        super()._end()
        if self._gone:
            self._out = out

    def _send(self, frames: Iterable[Frame]) -> None:
        if not self._whole:
            self._out.extend(frame.raw for frame in frames)

    def _send_quiet(self, raw: bytes) -> None:
        del self._taken[: len(raw)]
        self._out.append(raw)

    def _send_along(self, chunk: bytes, begin: int, end: int, new: bytes | None) -> None:
        del self._taken[: end - begin]
        self._out.append(chunk[begin:end] if new is None else new)
