"""The bytes that are forwarded to the client: the received objects, or rewritten bytes. Knows no protocol."""

from __future__ import annotations

from collections.abc import Sequence

from toolstream_core.wire.body import BodyDecoder
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.sse import BOM


def _hides_data(frame: Frame) -> bool:
    """Whether a byte order mark inside the body hides a line of data from clients, as it would not at the start."""
    return frame.data is None and frame.raw.startswith(BOM) and not frame.raw.startswith(b":", len(BOM))


class Output:
    """The bytes that are forwarded of one body: each chunk unchanged, or the collected frames, which are decoded.

    Decoded bytes that are in no frame yet are remembered, and an internal error loses none.
    """

    def __init__(self, *, collects: bool) -> None:
        """`collects`: frames make up what is forwarded."""
        self.collects = collects
        self.taken = bytearray()
        """Decoded bytes that are in no frame yet; none unless frames are collected."""
        self.discards = False
        """Whether frames are dropped, because their bytes were forwarded already."""
        self._is_document = False
        """Whether the body is one JSON document, which is forwarded unchanged."""
        self._out: list[bytes] = []
        self._first = b""
        """The first received bytes, as many as a byte order mark has."""
        self._started = False
        """Whether anything was forwarded."""
        self._begun = False
        """Whether anything was, and no byte order mark is due any more."""

    def take(self, data: bytes) -> None:
        """Take decoded bytes as they arrive, before they are split."""
        if not self.collects:
            return
        if len(self._first) < len(BOM):
            self._first += data[: len(BOM) - len(self._first)]
        if self._is_document:
            self._out.append(data)
        else:
            self.taken += data

    def send(self, frames: Sequence[Frame]) -> None:
        """Forward frames."""
        if not self.collects or self.discards or self._is_document:
            return
        if self._begun or not frames:
            self._out.extend([frame.raw for frame in frames])
        else:
            self._begin(frames)

    def send_part(self, chunk: bytes, begin: int, end: int, new: bytes | None) -> None:
        """Forward a part of a chunk that was not split into frames, or its replacement."""
        if self.collects:
            del self.taken[: end - begin]
            self._started = self._begun = True
            self._out.append(chunk[begin:end] if new is None else new)

    def pass_document(self) -> None:
        """The body is one JSON document."""
        self._is_document = True
        self.flush()

    def flush(self) -> None:
        """Nothing more is read: bytes that are in no frame yet are forwarded unchanged."""
        self._out.append(bytes(self.taken))
        self.taken.clear()

    def let_out(self, chunk: bytes) -> list[bytes]:
        """The chunks that are forwarded for `chunk`, after it was read. None is empty: mitmproxy would end the body."""
        if self.collects:
            chunk = b"".join(self._out)
            self._out.clear()
        return [chunk] if chunk else []

    def unread(self, chunk: bytes, decoder: BodyDecoder) -> list[bytes]:
        """The chunks that are forwarded for a chunk that is not read."""
        if self.collects:
            self._out.append(decoder.decode(chunk))
        return self.let_out(chunk)

    def _begin(self, frames: Sequence[Frame]) -> None:
        """Send the first frames. A byte order mark stays one at the start of the body, and only there."""
        raws = [frame.raw for frame in frames]
        lead = b"\n" if _hides_data(frames[0]) else b""
        marked = None
        if self._first == BOM:
            marked = next((at for at, one in enumerate(frames) if one.number == 0 and one.raw.startswith(BOM)), None)
        if marked is not None:
            raws[marked], lead = raws[marked].removeprefix(BOM), BOM
        if lead and not self._started:
            self._out.append(lead)
        self._out.extend(raws)
        self._started = True
        self._begun = marked is not None or self._first != BOM or frames[-1].number > 0
