"""Cutting a byte stream into frames: what waits, and the cap. Each framing says where a frame ends."""

from __future__ import annotations

from abc import ABC, abstractmethod

from toolstream_core.wire.frame import MAX_FRAME, Frame


class Cutter(ABC):
    """The state every framing shares: the bytes of the frame that is not over yet, and its number.

    A framing scans each byte once and remembers what it must (`_seek`), so a stream costs the same
    however it is cut. A frame above `max_frame` bytes, its leading blanks included, goes out in oversize
    pieces as they come, and nothing of it is kept. Whether a frame is oversize depends on its length
    alone, not on the cut; only where its pieces begin does.
    """

    def __init__(self, max_frame: int = MAX_FRAME) -> None:
        """Bytes of one frame above `max_frame` go through unread."""
        self._max = max_frame
        self._number = 0
        self._held = bytearray()
        self._over = False

    def feed(self, chunk: bytes) -> list[Frame]:
        """The frames that `chunk` completes; `b""` is the end and gives what is left."""
        if not chunk:
            return self._finish()
        frames: list[Frame] = []
        at = 0
        while at < len(chunk) and (end := self._seek(chunk, at)) >= 0:
            self._take(chunk[at:end], frames)
            at = end
        if at < len(chunk):
            self._keep(chunk[at:] if at else chunk, frames)
        return frames

    @property
    def holding(self) -> bool:
        """Whether a frame has begun and is not over."""
        return bool(self._held or self._over)

    def skip(self, frames: int) -> int:
        """Go past so many frames that were not taken in; the number of the first."""
        self._number += frames
        return self._number - frames

    @abstractmethod
    def _seek(self, chunk: bytes, at: int) -> int:
        """Scan `chunk` from `at`: where the frame ends that is open, or -1 having scanned all of it."""

    @abstractmethod
    def _read(self, raw: bytes, *, trailing: bool) -> Frame:
        """The frame of `raw`, with the number `self._number`. `trailing`: the stream is over."""

    def _take(self, piece: bytes, frames: list[Frame]) -> None:
        """`piece` ends the open frame."""
        if self._over:
            self._over = False
            if piece:
                frames.append(Frame(piece, self._number, None, oversize=True))
            self._number += 1
            return
        raw = self._release(piece) if self._held else piece
        if len(raw) > self._max:
            frames.append(Frame(raw, self._number, None, oversize=True))
            self._number += 1
            return
        frames.append(self._numbered(self._read(raw, trailing=False)))

    def _keep(self, piece: bytes, frames: list[Frame]) -> None:
        """`piece` belongs to the open frame, which goes on."""
        if not self._over and len(self._held) + len(piece) <= self._max:
            self._held += piece
            return
        self._over = True
        frames.append(Frame(self._release(piece), self._number, None, oversize=True))

    def _finish(self) -> list[Frame]:
        """What is left when the stream is over; of an oversize frame nothing is."""
        if not self._held:
            return []
        return [self._numbered(self._read(self._release(b""), trailing=True))]

    def _numbered(self, frame: Frame) -> Frame:
        if frame.data is not None:
            self._number += 1
        return frame

    def _release(self, piece: bytes) -> bytes:
        if not self._held:
            return piece
        self._held += piece
        raw = bytes(self._held)
        self._held.clear()
        return raw


class TextCutter(Cutter):
    """A framing whose usual frames are told by their text alone, so that many can pass at once."""

    end: bytes
    """What ends a usual frame."""

    @abstractmethod
    def usual(self, chunk: bytes) -> int:
        """How many frames `chunk` is, where each of them is a usual one; else 0.

        Takes nothing in. Whoever has no use for the frames themselves may `skip` them.
        """

    @abstractmethod
    def reread(self, frame: Frame) -> Frame:
        """A frame whose bytes were changed, with what they say now."""
