"""Finds out how a body is framed, from its content type and its first bytes. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire.sniff import NOT_OURS, choose

if TYPE_CHECKING:
    from toolstream_core.wire.frame import Framer


class BodyFraming:
    """Keeps the first decoded bytes of a body until they say how it is framed."""

    def __init__(self, content_type: str) -> None:
        """`content_type` is the value of the header, `""` where there is none."""
        self._content_type = content_type
        self.framer: Framer | None = None
        """Cuts the body, once that is known."""
        self.foreign = False
        """Whether the body is in no framing that could carry an LLM's answer."""
        self.head = b""
        """The bytes that came before it was known."""

    def open(self, data: bytes, *, ended: bool = False) -> bytes:
        """Take the next bytes; what the framer is to cut: all bytes so far once it is known, and nothing before.

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
