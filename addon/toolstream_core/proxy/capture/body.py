"""One body of a capture: decoded and redacted, with the sizes and times of its chunks. Bounded memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from toolstream_core.proxy.capture.packing import BYTES, LIST, Streamed, pairs
from toolstream_core.proxy.capture.spool import Memory, Spool
from toolstream_core.redaction import BodyRedactor, Redaction
from toolstream_core.wire.coding import CodingError, Decoder

_LAST_CUT = re.compile(rb"[0-9]+:[0-9]+:([0-9]+)#[0-9]+:([0-9]+)#\]\Z")
"""The last item of a list that `pairs` packed."""
_LONGEST_CUT = 64
"""Maximum bytes of such an item."""


type TimedChunk = tuple[float, bytes]
"""A chunk, and its time in seconds of a monotonic clock. The garbage collector does not walk such tuples."""


@dataclass(frozen=True, slots=True)
class Shared:
    """The state that all bodies share."""

    folder: Path
    """The folder of their spools."""
    redaction: Redaction
    memory: Memory = field(default_factory=Memory)


class KeptBody:
    """One body. Used only by the worker's thread."""

    def __init__(
        self,
        shared: Shared,
        known: Sequence[str],
        coding: str = "",
        *,
        compared: bool = False,
        head: Callable[[], bytes] | None = None,
    ) -> None:
        """`known` are secrets of the request; `coding` is the content coding to decode.

        `compared`: whether `digest` will be read. `head`: as for `Spool`.
        """
        self._redactor = BodyRedactor(shared.redaction, known)
        self._bytes, self._cuts = Spool(shared.folder, shared.memory, head), Spool(shared.folder, shared.memory)
        self._begun: float | None = None
        self._decoded = 0
        """Number of received bytes, decoded."""
        self._digest = hashlib.sha256() if compared else None
        self._decode: Callable[[bytes], bytes] | None = None
        self.failure: str | None = None
        """Why the body cannot be decoded; then none of it is kept."""
        if coding:
            try:
                self._decode = Decoder(coding).decode
            except CodingError as error:
                self.failure = str(error)

    def add(self, batch: Sequence[TimedChunk]) -> None:
        """Append chunks. Raises `OSError`."""
        if self.failure is not None:
            return
        if self._begun is None and batch:
            self._begun = batch[0][0]
        try:
            data = self._cut(batch)
        except CodingError as error:
            self.failure = str(error)
            return
        if self._digest is not None:
            self._digest.update(data)
        self._bytes.write(self._redactor.feed(data))

    def so_far(self) -> tuple[bytes, Streamed] | None:
        """The beginning of the body, as `BodyRedactor.so_far`, and of `chunks`; `None` if it is empty."""
        body = b"".join((*self._bytes.chunks(), self._redactor.so_far()))
        if self.failure is not None or not body:
            return None
        cuts, last = b"".join(self._cuts.chunks()), b""
        end, missing = len(cuts), self._decoded - len(body)
        while missing > 0 and (cut := _LAST_CUT.search(cuts, max(0, end - _LONGEST_CUT), end)):
            end, size = cut.start(), int(cut[2])
            last = pairs([(int(cut[1]), size - missing)]) if size > missing else b""
            missing -= size
        return body, Streamed(LIST, end + len(last), lambda: (cuts[:end], last))

    @property
    def has_name(self) -> bool:
        """Whether `recovery` finds the file of the body itself."""
        return self._bytes.has_name

    def end(self) -> None:
        """The body is complete. Raises `OSError`."""
        self._bytes.write(self._redactor.finish())

    @property
    def size(self) -> int:
        """Bytes that are kept, with those of `chunks`."""
        return self._bytes.size + self._cuts.size

    @property
    def length(self) -> int:
        """Bytes of the body, decoded."""
        return 0 if self.failure is not None else self._bytes.size

    @property
    def digest(self) -> bytes:
        """The digest of the bytes before redaction, if the body is `compared`."""
        assert self._digest is not None
        return self._digest.digest()

    def content(self) -> Streamed | bytes:
        """The bytes."""
        return Streamed(BYTES, self._bytes.size, self._bytes.chunks) if self.length else b""

    def chunks(self) -> Streamed | list[object]:
        """`[[milliseconds since the first byte, bytes], …]`."""
        return Streamed(LIST, self._cuts.size, self._cuts.chunks) if self.length else []

    def close(self) -> None:
        """Delete the kept bytes."""
        self._bytes.close()
        self._cuts.close()

    def _cut(self, batch: Sequence[TimedChunk]) -> bytes:
        """The decoded bytes of the chunks, whose times and sizes are recorded. Raises `CodingError`."""
        begun, decode = self._begun or 0.0, self._decode
        # A chunk that decodes to nothing is left out.
        chunks = batch if decode is None else [(when, data) for when, coded in batch if (data := decode(coded))]
        self._cuts.write(pairs((int((when - begun) * 1000 + 0.5), len(data)) for when, data in chunks))
        plain = b"".join(data for _, data in chunks)
        self._decoded += len(plain)
        return plain
