"""Tnetstrings whose long values are not in memory: mitmproxy's flow format, written piece by piece.

https://tnetstrings.info, and `mitmproxy.io.tnetstring`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from mitmproxy.io import tnetstring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

BYTES = b","
LIST = b"]"


@dataclass(frozen=True, slots=True)
class Streamed:
    """A value of which only the payload's size is known beforehand."""

    kind: bytes
    """`BYTES`, or `LIST` of items that are packed already."""
    size: int
    """Bytes of the payload."""
    pieces: Callable[[], Iterable[bytes]]
    """Gives the payload; called once."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A value as a tnetstring."""

    size: int
    """Bytes, those of `Streamed` values included."""
    parts: Sequence[bytes | Streamed]

    def pieces(self) -> Iterator[bytes]:
        """The bytes, in order."""
        for part in self.parts:
            if isinstance(part, Streamed):
                yield from part.pieces()
            else:
                yield part


def pack(value: object) -> Packed:
    """A value, which may be or hold `Streamed` ones. Raises `ValueError` where mitmproxy has no form for it."""
    if isinstance(value, Streamed):
        return _wrapped(value.size, [value], value.kind)
    if not _holds_streamed(value):
        data = tnetstring.dumps(value)  # type: ignore[arg-type]  # checked there
        return Packed(len(data), [data])
    if isinstance(value, dict):
        return _joined([one for pair in value.items() for one in pair], b"}")
    assert isinstance(value, list | tuple)
    return _joined(value, LIST)


def _holds_streamed(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_holds_streamed, value.values()))
    if isinstance(value, list | tuple):
        return any(map(_holds_streamed, value))
    return isinstance(value, Streamed)


@lru_cache(maxsize=256)
def _head(size: int) -> bytes:
    return b"%d:" % size


@lru_cache(maxsize=4096)
def pack_number(number: int) -> bytes:
    """A whole number; most of those that are packed are the same few."""
    digits = b"%d" % number
    return b"%d:%b#" % (len(digits), digits)


@lru_cache(maxsize=4096)
def pack_pair(first: int, second: int) -> bytes:
    """A list of two numbers; of a fast stream most come again."""
    payload = pack_number(first) + pack_number(second)
    return _head(len(payload)) + payload + LIST


def numbers(values: Iterable[int]) -> Streamed:
    """A list of numbers, which are gone through twice."""
    return Streamed(LIST, sum(len(pack_number(one)) for one in values), lambda: map(pack_number, values))


def _joined(values: Iterable[object], kind: bytes) -> Packed:
    packed = [pack(value) for value in values]
    return _wrapped(sum(one.size for one in packed), [part for one in packed for part in one.parts], kind)


def _wrapped(size: int, parts: Sequence[bytes | Streamed], kind: bytes) -> Packed:
    head = _head(size)
    return Packed(len(head) + size + len(kind), [head, *parts, kind])
