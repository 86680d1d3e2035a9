"""Where a body comes in: its coding is undone, its framing chosen. Knows bytes, and nothing of what they say."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire.coding import CodingError, Decoder
from toolstream_core.wire.frame import DamagedFrame
from toolstream_core.wire.sniff import NOT_OURS, choose

if TYPE_CHECKING:
    from toolstream_core.model import Exchange
    from toolstream_core.wire.frame import Frame, Framer


class Intake:
    """Undoes one body's coding and knows how it is framed."""

    failure: str | None = None
    """Why reading stopped before the end, where it did."""

    def __init__(self, exchange: Exchange) -> None:
        """`exchange` says what the headers said."""
        self._exchange = exchange
        self._framer: Framer | None = None
        self._head = b""
        self._reading = True
        self._decoder: Decoder | None = None
        if exchange.content_encoding:
            self._start_decoder(exchange.content_encoding)

    @property
    def reading(self) -> bool:
        """Whether the bytes are still being looked at."""
        return self._reading

    def _start_decoder(self, coding: str) -> None:
        try:
            self._decoder = Decoder(coding)
        except CodingError as error:
            self._stop(str(error))

    def _stop(self, failure: str | None = None) -> None:
        """Read no more."""
        self._reading = False
        self.failure = failure or self.failure
        self._framer = None

    def _is_damaged(self, frame: Frame) -> bool:
        """Whether a frame is damaged: nothing behind it is read then, as clients do not either."""
        if isinstance(frame, DamagedFrame):
            self._stop(frame.damage)
        return not self.reading

    def _look(self, chunk: bytes) -> None:
        """Take the next bytes as they came; `b""` is the end."""
        data = chunk
        if self._decoder is not None:
            try:
                data = self._decoder.decode(chunk)
            except CodingError as error:
                self._finish()
                self._stop(str(error))
                return
        if data:
            self._take(data)
        if not chunk and self.reading:
            self._finish()

    def _take(self, data: bytes) -> None:
        """Take the next decoded bytes."""
        framer = self._framer or self._choose(data)
        if framer is None:
            return
        if self._head:
            data, self._head = self._head, b""
        self._feed(framer, data)

    def _feed(self, framer: Framer, data: bytes) -> None:
        """Let `framer` cut `data`, and take what it cuts."""
        raise NotImplementedError

    def _finish(self) -> None:
        """The body is over."""
        raise NotImplementedError

    def _choose(self, data: bytes, *, ended: bool = False) -> Framer | None:
        self._head += data
        chosen = choose(self._exchange.content_type, self._head, ended=ended)
        if chosen is NOT_OURS:
            self._stop()
        elif chosen is not None:
            self._framer = chosen
        return self._framer
