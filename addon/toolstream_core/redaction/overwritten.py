"""What redaction overwrote, reported without the secret."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from toolstream_core.redaction.body import redacted_body
from toolstream_core.redaction.finder import SecretFinder, filled
from toolstream_core.redaction.settings import Redaction
from toolstream_core.redaction.shapes import SHAPES
from toolstream_core.redaction.signatures import Signatures, without
from toolstream_core.redaction.strings import beside_escapes, edited, leaves

_SHOWN: Final = 4
_PIECE: Final = 16
"""Bytes below which something overwritten may be a part of a secret that is cut into deltas."""


class Overwritten(NamedTuple):
    """A secret that redaction finds."""

    at: int
    begin: bytes
    """Its first characters, no more than a prefix shows."""
    size: int
    """In bytes."""
    kind: str

    def message(self) -> str:
        """The finding for people, without the secret itself."""
        if not self.size:
            return f"cannot be searched: {self.kind}"
        return f"{self.kind}: {self.begin.decode('ascii', 'replace')}… ({self.size} bytes)"


def overwritten(data: bytes, clean: bytes) -> Iterator[Overwritten]:
    """The differences between a text and the same one redacted; parts of one secret are reported as one."""
    parts: list[tuple[int, int]] = []
    for start, end in spans(data, clean):
        if end - start < _PIECE:
            parts.append((start, end))
            continue
        yield from (_secret(data, one) for one in (parts, [(start, end)]) if one)
        parts = []
    if parts:
        yield _secret(data, parts)


def spans(data: bytes, clean: bytes) -> Iterator[tuple[int, int]]:
    """Where a text and the same one redacted differ."""
    at, size = 0, min(len(data), len(clean))
    while at < size:
        step = 1 << 16
        while at < size and data[at : at + step] == clean[at : at + step]:
            at += step
        while at < size and data[at] == clean[at]:
            at += 1
        start = at
        while at < size and data[at] != clean[at]:
            at += 1
        if at > start:
            yield start, at


def _secret(data: bytes, parts: list[tuple[int, int]]) -> Overwritten:
    secret = b"".join(data[start:end] for start, end in parts)
    text = secret.decode("latin-1")
    kind = next((shape.kind for shape in SHAPES if shape.prefix and text.startswith(shape.prefix)), "credential")
    cut = f", split over {len(parts)} places" if len(parts) > 1 else ""
    shown = secret[: min(_SHOWN, len(secret) // 3)]
    return Overwritten(parts[0][0], shown, len(secret), kind + cut)


def secrets_of_text(data: bytes, redaction: Redaction) -> Iterator[Overwritten]:
    """The secrets in a file of any text."""
    clean = bytearray(redacted_body(data, redaction))
    finder = SecretFinder(redaction)
    signatures = Signatures(finder).among(data, list(leaves(data)), len(data))
    for span in finder.find(edited(data, without(signatures))):
        for start, end in beside_escapes(data, *span):
            clean[start:end] = filled(data[start:end])
    yield from overwritten(data, bytes(clean))
