"""Undoes the content coding of one body. Knows bytes alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire.coding import CodingError, Decoder
from toolstream_core.wire.sniff import NOT_OURS, choose

if TYPE_CHECKING:
    from toolstream_core.wire.frame import Framer


class BodyDecoder:
    """Gives the decoded bytes of one body, or fails."""

    def __init__(self, coding: str) -> None:
        """`coding` is the value of the `Content-Encoding` header, `""` where there is none."""
        self.failure: str | None = None
        """Why the bytes cannot be decoded, where they cannot."""
        self._decoder: Decoder | None = None
        if coding:
            try:
                self._decoder = Decoder(coding)
            except CodingError as error:
                self.failure = str(error)

    @property
    def coded(self) -> bool:
        """Whether there is a coding to undo."""
        return self._decoder is not None

    def decode(self, chunk: bytes) -> bytes:
        """The decoded bytes of `chunk`, `b""` being the end.

        None if the bytes are wrong: `failure` is the reason then. Bytes of an unknown coding stay as they are.
        """
        if self._decoder is None:
            return chunk
        try:
            return self._decoder.decode(chunk)
        except CodingError as error:
            self.failure = str(error)
            return b""


class BodyFraming:
    """Keeps the first decoded bytes of a body until they show its framing."""

    def __init__(self, content_type: str) -> None:
        """`content_type` is the value of the header, `""` where there is none."""
        self._content_type = content_type
        self.framer: Framer | None = None
        """Cuts the body, once that is known."""
        self.foreign = False
        """Whether the body is in no framing that could carry an LLM's response."""
        self.head = b""
        """The bytes that came before it was known."""

    def open(self, data: bytes, *, ended: bool = False) -> bytes:
        """Take the next bytes; return those that the framer cuts: all so far once it is known, none before.

        `ended`: no more bytes come.
        """
        self.head += data
        chosen = choose(self._content_type, self.head, ended=ended)
        if chosen is None:
            return b""
        if chosen is NOT_OURS:
            self.foreign = True
            return b""
        self.framer = chosen
        head, self.head = self.head, b""
        return head
