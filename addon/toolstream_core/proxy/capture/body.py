"""A body as it is kept: decoded, redacted, with its cuts. Bounded memory, however long it is."""

from __future__ import annotations

import hashlib
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from mitmproxy.io import tnetstring

from toolstream_core.proxy.capture.batch import Batch
from toolstream_core.proxy.capture.packing import BYTES, LIST, Streamed, packed_cuts
from toolstream_core.proxy.capture.quick import QuickRedactor
from toolstream_core.proxy.capture.seen import SeenForms
from toolstream_core.proxy.capture.spool import Memory, Spool
from toolstream_core.wire.coding import CodingError, Decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from toolstream_core.redaction import Redaction


@dataclass(frozen=True, slots=True)
class Shared:
    """What all bodies have in common."""

    folder: Path
    """Where their spools are."""
    redaction: Redaction
    seen: SeenForms = field(default_factory=SeenForms)
    memory: Memory = field(default_factory=Memory)


class KeptBody:
    """One body. Used by the writer's thread alone."""

    def __init__(
        self,
        shared: Shared,
        known: Sequence[str],
        coding: str = "",
        *,
        compared: bool = False,
        head: Callable[[], bytes] | None = None,
    ) -> None:
        """`known` are secrets of the request; `coding` is the content coding that is undone.

        `compared`: whether the `digest` will be asked for. `head`: as for `Spool`.
        """
        self._redactor = QuickRedactor(shared.redaction, known, shared.seen)
        self._bytes, self._cuts = Spool(shared.folder, shared.memory, head), Spool(shared.folder, shared.memory)
        self._begun: float | None = None
        self._digest = hashlib.sha256() if compared else None
        self._decode: Callable[[bytes], bytes] | None = None
        self.failure: str | None = None
        """Why the body cannot be decoded, where it cannot; nothing of it is kept then."""
        if coding:
            try:
                self._decode = Decoder(coding).decode
            except CodingError as error:
                self.failure = str(error)

    def add(self, batch: Batch) -> int:
        """Take chunks; how many bytes more are kept. Raises `OSError`."""
        if self.failure is not None:
            return 0
        before = self.size
        if self._begun is None and batch.whens:
            self._begun = batch.whens[0]
        try:
            pieces = self._cut(batch)
        except CodingError as error:
            self.failure = str(error)
            return 0
        if self._digest is not None:
            for piece in pieces:
                self._digest.update(piece)
        self._bytes.write(self._redactor.feed(*pieces))
        return self.size - before

    def so_far(self) -> tuple[bytes, list[list[int]]] | None:
        """The complete lines and their cuts, redacted as if the body ended here; `None` where there are none."""
        if self.failure is not None:
            return None
        body = b"".join((*self._bytes.pieces(), deepcopy(self._redactor).finish()))
        body = body[: body.rfind(b"\n") + 1]
        packed = b"".join(self._cuts.pieces())
        cuts: list[list[int]] = []
        left = len(body)
        noted: Any = tnetstring.loads(b"%d:%b%b" % (len(packed), packed, LIST))
        for when, size in noted:
            if left > 0:
                cuts.append([when, min(size, left)])
                left -= size
        return (body, cuts) if body else None

    @property
    def has_name(self) -> bool:
        """Whether a later start finds the body's own file."""
        return self._bytes.has_name

    def end(self) -> None:
        """No more comes. Raises `OSError`."""
        self._bytes.write(self._redactor.finish())

    @property
    def size(self) -> int:
        """Bytes that are kept, those of the cuts too."""
        return self._bytes.size + self._cuts.size

    @property
    def length(self) -> int:
        """Bytes of the body, decoded."""
        return 0 if self.failure is not None else self._bytes.size

    @property
    def is_clean(self) -> bool:
        """Whether all of it could be read, and nothing in it, nor in what its pieces say together, is secret."""
        return self.failure is None and self._redactor.is_quick

    @property
    def digest(self) -> bytes:
        """Equal for two bodies whose bytes were equal as they came; of one that is to be compared."""
        assert self._digest is not None
        return self._digest.digest()

    def content(self) -> Streamed | bytes:
        """The bytes."""
        return Streamed(BYTES, self._bytes.size, self._bytes.pieces) if self.length else b""

    def chunks(self) -> Streamed | list[object]:
        """`[[milliseconds since the first byte, bytes], …]`."""
        return Streamed(LIST, self._cuts.size, self._cuts.pieces) if self.length else []

    def close(self) -> None:
        """Forget it all."""
        self._bytes.close()
        self._cuts.close()

    def _cut(self, batch: Batch) -> Sequence[bytes]:
        """The decoded bytes of `batch`, whose cuts are noted. Raises `CodingError`."""
        begun = self._begun or 0.0
        plain = batch if self._decode is None else _decoded(batch, self._decode)
        whens = [int((when - begun) * 1000 + 0.5) for when in plain.whens]
        self._cuts.write(packed_cuts(whens, plain.counts, plain.sizes))
        return plain.data


def _decoded(batch: Batch, decode: Callable[[bytes], bytes]) -> Batch:
    """A chunk that says nothing yet is none. Raises `CodingError`."""
    plain, sizes = Batch(), iter(batch.sizes)
    for when, data, count in zip(batch.whens, batch.data, batch.counts, strict=True):
        chunks, at = [], 0
        for size in islice(sizes, count):
            chunks.append(decode(data[at : at + size]))
            at += size
        plain.add(when, b"".join(chunks), [len(chunk) for chunk in chunks if chunk])
    return plain
