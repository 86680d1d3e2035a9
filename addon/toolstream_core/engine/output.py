"""What goes on to the client: the same objects that came, or bytes that were written anew. Knows no protocol."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, override

from toolstream_core.wire.sse import BOM

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.wire.body import BodyDecoder
    from toolstream_core.wire.frame import Frame


class Mode(enum.Enum):
    """What becomes of the frames that are sent.

    `COLLECT` and `DISCARD` alternate while the frames are read that came before the protocol was known;
    `WHOLE` stays.
    """

    COLLECT = enum.auto()
    """They go on."""
    DISCARD = enum.auto()
    """Nothing: what came in their place has gone on already."""
    WHOLE = enum.auto()
    """Nothing: the body is one JSON document, which goes on as it comes."""


class PassThrough:
    """Gives back each chunk as it came; frames are looked at beside it."""

    collects = False
    """Whether frames that are sent make up what goes on."""

    def __init__(self) -> None:
        """Of one body, from its start."""
        self.taken = bytearray()
        """Decoded bytes that are in no frame yet: where the bytes pass, nothing has to be remembered."""
        self.mode = Mode.COLLECT

    def take(self, data: bytes) -> None:
        """Take decoded bytes as they come in, before they are cut."""

    def send(self, frames: Sequence[Frame]) -> None:
        """Let frames go on."""

    def send_raw(self, raw: bytes) -> None:
        """Let whole frames go on that were never cut."""

    def send_part(self, chunk: bytes, begin: int, end: int, new: bytes | None) -> None:
        """As `send_raw`, for a part of a chunk, and what goes on in its place if it is changed."""

    def discard(self, *, on: bool) -> None:
        """Begin or end to discard what is sent."""

    def pass_whole(self) -> None:
        """The body is one JSON document."""

    def flush(self) -> None:
        """Nothing more is read: bytes that are in no frame yet go on as they are."""

    def let_out(self, chunk: bytes) -> list[bytes]:
        """What goes on for `chunk`, after it was read. Never an empty `bytes`: mitmproxy ends the body on it."""
        return [chunk] if chunk else []

    def unread(self, chunk: bytes, decoder: BodyDecoder) -> list[bytes]:
        """What goes on for a chunk that nobody reads."""
        del decoder
        return [chunk] if chunk else []

    def joined(self) -> bytes:
        """What was sent since this was asked for last."""
        return b""


def _hides_data(frame: Frame) -> bool:
    """Whether a mark within the body keeps clients from reading a line of data, as it would not at the start."""
    return frame.data is None and frame.raw.startswith(BOM) and not frame.raw.startswith(b":", len(BOM))


class Collected(PassThrough):
    """Collects what the stages let go on. What leaves is decoded.

    Decoded bytes that are in no frame yet are remembered, so that a bug of ours loses none.
    """

    collects = True

    def __init__(self) -> None:
        """Of one body, from its start."""
        super().__init__()
        self._out: list[bytes] = []
        self._first = b""
        """The first bytes that came, as many as a byte order mark has."""
        self._started = False
        """Whether anything has gone on."""
        self._begun = False
        """Whether anything has, and no byte order mark is due any more."""

    @override
    def take(self, data: bytes) -> None:
        if len(self._first) < len(BOM):
            self._first += data[: len(BOM) - len(self._first)]
        if self.mode is Mode.WHOLE:
            self._out.append(data)
        else:
            self.taken += data

    @override
    def send(self, frames: Sequence[Frame]) -> None:
        if self.mode is Mode.COLLECT:
            if self._begun or not frames:
                self._out.extend([frame.raw for frame in frames])
            else:
                self._begin(frames)

    def _begin(self, frames: Sequence[Frame]) -> None:
        """Send the first frames. A byte order mark is one at the start of the body alone, as it came and as it goes."""
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

    @override
    def send_raw(self, raw: bytes) -> None:
        del self.taken[: len(raw)]
        self._started = self._begun = True
        self._out.append(raw)

    @override
    def send_part(self, chunk: bytes, begin: int, end: int, new: bytes | None) -> None:
        del self.taken[: end - begin]
        self._started = self._begun = True
        self._out.append(chunk[begin:end] if new is None else new)

    @override
    def discard(self, *, on: bool) -> None:
        if self.mode is not Mode.WHOLE:
            self.mode = Mode.DISCARD if on else Mode.COLLECT

    @override
    def pass_whole(self) -> None:
        self.mode = Mode.WHOLE
        self.flush()

    @override
    def let_out(self, chunk: bytes) -> list[bytes]:
        del chunk
        joined = b"".join(self._out)
        self._out.clear()
        return [joined] if joined else []

    @override
    def unread(self, chunk: bytes, decoder: BodyDecoder) -> list[bytes]:
        self._out.append(decoder.decode(chunk))
        joined = self.joined()
        return [joined] if joined else []

    @override
    def flush(self) -> None:
        self._out.append(bytes(self.taken))
        self.taken.clear()

    @override
    def joined(self) -> bytes:
        out, self._out = self._out, []
        return b"".join(out)
