"""Bytes in, bytes out, fail open: decoder, framing, recogniser, stages and output of one answer. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.engine.decoder import BodyDecoder
from toolstream_core.engine.dispatcher import Dispatcher
from toolstream_core.engine.fast_path.path import MANY
from toolstream_core.engine.framing import BodyFraming
from toolstream_core.engine.output import PassThrough
from toolstream_core.engine.recogniser import Recogniser
from toolstream_core.engine.state import State

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.engine.stage_set import StagesFor
    from toolstream_core.model import Exchange
    from toolstream_core.protocols.protocol import WireProtocol


class Pipeline:
    """One answer's bytes on their way through stages."""

    clean = True
    """Whether the body ends by its own end; said before the end is fed."""

    def __init__(
        self,
        dialects: Sequence[WireProtocol],
        exchange: Exchange,
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
