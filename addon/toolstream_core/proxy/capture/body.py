"""A body as it is kept: decoded, redacted, with its cuts. Bounded memory, however long it is."""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from copy import deepcopy
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from mitmproxy.io import tnetstring

from toolstream_core.proxy.capture.folder import lock
from toolstream_core.proxy.capture.packing import BYTES, LIST, Streamed, packed_cuts
from toolstream_core.proxy.capture.quick import QuickRedactor
from toolstream_core.proxy.capture.seen import SeenForms
from toolstream_core.proxy.capture.worker import Batch
from toolstream_core.wire.coding import CodingError, Decoder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from toolstream_core.redaction import Redaction


HIDDEN = ".toolstream-"
SPOOL = ".spool"
"""Prefix and suffix of a spool that can be recovered."""
OWN = 1024 * 1024
"""Bytes that such a spool keeps in memory."""
MEMORY = 8 * 1024 * 1024
"""Bytes that all spools together keep in memory."""
PIECE = 64 * 1024
"""Bytes that are read back from a file at once."""


class Memory:
    """What is left of the memory that spools share. Used by the writer's thread alone."""

    def __init__(self, room: int = MEMORY) -> None:
        """`room` in bytes."""
        self.room = room


class Spool:
    """Takes bytes and gives them back once.

    The file is its owner's alone. Without a `head` it has no name wherever the system can do that. With one, its name
    is hidden and it is locked: after a kill of the process, a later start finds the head and the bytes in it.
    """

    def __init__(self, folder: Path, memory: Memory, head: Callable[[], bytes] | None = None) -> None:
        """The file is made in `folder`, so that it needs no other disk than what is written in the end.

        `head` gives what stands before the bytes in the file.
        """
        self._folder = folder
        self._head = head
        self._begin = 0
        self._name: Path | None = None
        self._memory = memory
        self._kept: list[bytes] = []
        self._file: IO[bytes] | None = None
        self.size = 0
        """Bytes taken."""

    def write(self, data: bytes) -> None:
        """Take `data`. Raises `OSError` where the disk is full."""
        room = self._memory.room if self._head is None else min(self._memory.room, OWN - self.size)
        if self._file is None and len(data) <= room:
            self._memory.room -= len(data)
            self._kept.append(data)
        else:
            file = self._to_file()
            file.write(data)
            file.flush()
        self.size += len(data)

    @property
    def has_name(self) -> bool:
        """Whether a later start finds it."""
        return self._name is not None

    def pieces(self) -> Iterator[bytes]:
        """All that was taken."""
        yield from self._kept
        if self._file is not None:
            self._file.seek(self._begin)
            while piece := self._file.read(PIECE):
                yield piece

    def close(self) -> None:
        """Forget it all."""
        self._forget()
        if self._name is not None:
            with contextlib.suppress(OSError):
                self._name.unlink()
        if self._file is not None:
            self._file.close()

    def _to_file(self) -> IO[bytes]:
        """The file, which has what was in memory, too."""
        if self._file is None:
            self._file = self._made()
            self._file.writelines(self._kept)
            self._forget()
        return self._file

    def _made(self) -> IO[bytes]:
        if self._head is None:
            return tempfile.TemporaryFile(dir=str(self._folder), prefix=HIDDEN, suffix=".part")
        descriptor, name = tempfile.mkstemp(SPOOL, HIDDEN, self._folder)
        self._name, file = Path(name), os.fdopen(descriptor, "w+b")
        lock(file)
        self._begin = file.write(self._head())
        return file

    def _forget(self) -> None:
        self._memory.room += sum(map(len, self._kept))
        self._kept = []


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
