"""One body of a capture: decoded and redacted, with the sizes and times of its chunks. Bounded memory."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from toolstream_core.proxy.capture.folder import Folder
from toolstream_core.proxy.capture.packing import BYTES, LIST, Streamed, pairs
from toolstream_core.proxy.capture.spool import Spool
from toolstream_core.redaction import BodyRedactor, Redaction
from toolstream_core.wire.body import BodyDecoder

type TimedChunk = tuple[float, bytes]
"""A chunk, and its time in seconds of a monotonic clock. The garbage collector does not walk such tuples."""


@dataclass(frozen=True, slots=True)
class Store:
    """The folder of captures, and the settings of redaction."""

    folder: Folder
    redaction: Redaction
    failed: Callable[[str, Exception], None]
    """Called with the id of a flow that is not kept, and why."""
    wrote: Callable[[Path], None]
    """Called with each file that was written."""


class KeptBody:
    """One body. Used only by the worker's thread."""

    def __init__(self, store: Store, known: Sequence[str], coding: str = "", *, compared: bool = False) -> None:
        """`known` are secrets of the request; `coding` is the content coding to decode.

        `compared`: whether `digest` will be read.
        """
        self._redactor = BodyRedactor(store.redaction, known)
        self._bytes, self._cuts = Spool(store.folder.path), Spool(store.folder.path)
        self._begun: float | None = None
        self._digest = hashlib.sha256() if compared else None
        self._decoder = BodyDecoder(coding)

    @property
    def failure(self) -> str | None:
        """The reason if the body cannot be decoded; none of it is kept then."""
        return self._decoder.failure

    def add(self, batch: Sequence[TimedChunk]) -> None:
        """Append chunks. Raises `OSError`."""
        if self.failure is not None:
            return
        if self._begun is None and batch:
            self._begun = batch[0][0]
        data = self._cut(batch)
        if self._digest is not None:
            self._digest.update(data)
        self._bytes.write(self._redactor.feed(data))

    def so_far(self) -> Streamed:
        """The beginning of the body, as `BodyRedactor.so_far`. `chunks` may already have the sizes of further bytes."""
        rest = b"" if self.failure is not None else self._redactor.so_far()
        return Streamed(BYTES, self.length + len(rest), lambda: (*self._bytes.chunks(), rest))

    def end(self) -> None:
        """The body is complete. Raises `OSError`."""
        self._bytes.write(self._redactor.finish())

    @property
    def size(self) -> int:
        """Bytes in memory, including those of `chunks`."""
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
        return Streamed(LIST, self._cuts.size, self._cuts.chunks) if self.failure is None else []

    def close(self) -> None:
        """Delete the kept bytes."""
        self._bytes.close()
        self._cuts.close()

    def _cut(self, batch: Sequence[TimedChunk]) -> bytes:
        """The decoded bytes of the chunks, whose times and sizes are recorded."""
        begun, decode = self._begun or 0.0, self._decoder.decode
        # A chunk that decodes to nothing is left out.
        chunks = [(when, data) for when, coded in batch if (data := decode(coded))] if self._decoder.coded else batch
        self._cuts.write(pairs((int((when - begun) * 1000 + 0.5), len(data)) for when, data in chunks))
        return b"".join(data for _, data in chunks)
