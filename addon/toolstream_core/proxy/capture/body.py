"""One body of a capture: decoded and redacted, with the sizes and times of its chunks. Bounded memory."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from toolstream_core.proxy.capture.packing import BYTES, LIST, Streamed, pairs
from toolstream_core.proxy.capture.spool import Memory, Spool
from toolstream_core.proxy.capture.worker import Batch
from toolstream_core.redaction import BodyRedactor, Redaction
from toolstream_core.wire.coding import CodingError, Decoder

_LAST_CUT = re.compile(rb"[0-9]+:[0-9]+:([0-9]+)#[0-9]+:([0-9]+)#\]\Z")
"""The last item of a list that `pairs` packed."""
_LONGEST_CUT = 64
"""Bytes of such an item at most."""


@dataclass(frozen=True, slots=True)
class Shared:
    """What all bodies share."""

    folder: Path
    """The folder of their spools."""
    redaction: Redaction
    memory: Memory = field(default_factory=Memory)


class KeptBody:
    """One body. Used by the worker's thread alone."""

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
        """Bytes that have come, decoded."""
        self._digest = hashlib.sha256() if compared else None
        self._decode: Callable[[bytes], bytes] | None = None
        self.failure: str | None = None
        """Why the body cannot be decoded; nothing of it is kept then."""
        if coding:
            try:
                self._decode = Decoder(coding).decode
            except CodingError as error:
                self.failure = str(error)

    def add(self, batch: Batch) -> int:
        """Append chunks; return how many bytes more are kept. Raises `OSError`."""
        if self.failure is not None:
            return 0
        before = self.size
        if self._begun is None and batch.whens:
            self._begun = batch.whens[0]
        try:
            chunks = self._cut(batch)
        except CodingError as error:
            self.failure = str(error)
            return 0
        if self._digest is not None:
            for chunk in chunks:
                self._digest.update(chunk)
        self._bytes.write(self._redactor.feed(b"".join(chunks)))
        return self.size - before

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
        """Of the bytes before redaction, if the body is `compared`."""
        assert self._digest is not None
        return self._digest.digest()

    def content(self) -> Streamed | bytes:
        """The bytes."""
        return Streamed(BYTES, self._bytes.size, self._bytes.chunks) if self.length else b""

    def chunks(self) -> Streamed | list[object]:
        """`[[milliseconds since the first byte, bytes], …]`."""
        return Streamed(LIST, self._cuts.size, self._cuts.chunks) if self.length else []

    def close(self) -> None:
        """Delete what is kept."""
        self._bytes.close()
        self._cuts.close()

    def _cut(self, batch: Batch) -> Sequence[bytes]:
        """The decoded bytes of `batch`; its chunks are recorded. Raises `CodingError`."""
        begun = self._begun or 0.0
        plain = batch if self._decode is None else _decoded(batch, self._decode)
        sizes = iter(plain.sizes)
        cuts: list[tuple[int, int]] = []
        for when, count in zip(plain.whens, plain.counts, strict=True):
            milliseconds = int((when - begun) * 1000 + 0.5)
            cuts += [(milliseconds, size) for size in islice(sizes, count)]
        self._decoded += sum(map(len, plain.data))
        self._cuts.write(pairs(cuts))
        return plain.data


def _decoded(batch: Batch, decode: Callable[[bytes], bytes]) -> Batch:
    """The decoded chunks; one that decodes to nothing is left out. Raises `CodingError`."""
    plain, sizes = Batch(), iter(batch.sizes)
    for when, data, count in zip(batch.whens, batch.data, batch.counts, strict=True):
        chunks, at = [], 0
        for size in islice(sizes, count):
            chunks.append(decode(data[at : at + size]))
            at += size
        plain.add(when, b"".join(chunks), [len(chunk) for chunk in chunks if chunk])
    return plain
