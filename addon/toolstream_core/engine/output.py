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
    """The bytes to forward of one body: each chunk unchanged, or the collected frames, decoded.

    Decoded bytes that are not in a frame yet are kept, so an internal error loses none.
    """

    def __init__(self, *, collects: bool) -> None:
        """`collects`: the frames that are sent are forwarded, instead of the received chunks."""
        self.collects = collects
        self.unframed = bytearray()
        """Decoded bytes that are not in a frame yet; empty unless frames are collected."""
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
        """Whether anything was forwarded, and a byte order mark can no longer follow."""

    def receive(self, data: bytes) -> None:
        """Receive decoded bytes, before they are split."""
        if not self.collects:
            return
        if len(self._first) < len(BOM):
            self._first += data[: len(BOM) - len(self._first)]
        if self._is_document:
            self._out.append(data)
        else:
            self.unframed += data

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
            del self.unframed[: end - begin]
            self._started = self._begun = True
            self._out.append(chunk[begin:end] if new is None else new)

    def forward_document(self) -> None:
        """Forward the body unchanged: it is one JSON document."""
        self._is_document = True
        self.flush()

    def flush(self) -> None:
        """Forward bytes that are not in a frame yet, because reading has ended."""
        self._out.append(bytes(self.unframed))
        self.unframed.clear()

    def forwarded(self, chunk: bytes) -> list[bytes]:
        """The chunks to forward for `chunk`, after it was read. None is empty: mitmproxy would end the body."""
        if self.collects:
            chunk = b"".join(self._out)
            self._out.clear()
        return [chunk] if chunk else []

    def forward_unread(self, chunk: bytes, decoder: BodyDecoder) -> list[bytes]:
        """The chunks to forward for a chunk that is not read."""
        if self.collects:
            self._out.append(decoder.decode(chunk))
        return self.forwarded(chunk)

    def _begin(self, frames: Sequence[Frame]) -> None:
        """Send the first frames. A byte order mark is kept only at the start of the body."""
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
