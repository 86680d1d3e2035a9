"""Undoes the content coding of one body. Knows bytes, and nothing of what they say."""

from __future__ import annotations

from toolstream_core.wire.coding import CodingError, Decoder


class BodyDecoder:
    """Gives the decoded bytes of one body, or says that it cannot."""

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

        None where the bytes are wrong: `failure` says why then. Bytes of an unknown coding stay as they are.
        """
        if self._decoder is None:
            return chunk
        try:
            return self._decoder.decode(chunk)
        except CodingError as error:
            self.failure = str(error)
            return b""
