"""Tnetstrings with values that are not in memory: mitmproxy's flow format, written in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import batched, chain
from typing import Any

from mitmproxy.io import tnetstring

BYTES = b","
LIST = b"]"
_DICT = b"}"
_TOGETHER = 4096
"""Number of items of a list that are written at once."""


@dataclass(frozen=True, slots=True)
class Streamed:
    """A value whose payload is written later; its size is known."""

    kind: bytes
    """`BYTES`, or `LIST` of items that are packed already."""
    size: int
    """Bytes of the payload."""
    chunks: Callable[[], Iterable[bytes]]
    """Returns the payload; called once."""


@dataclass(frozen=True, slots=True)
class Packed:
    """A value as a tnetstring."""

    size: int
    """Bytes, those of `Streamed` values included."""
    parts: Sequence[bytes | Streamed]

    def chunks(self) -> Iterator[bytes]:
        """The bytes, in order."""
        for part in self.parts:
            if isinstance(part, Streamed):
                yield from part.chunks()
            else:
                yield part


def pack(value: Any) -> Packed:
    """A value, which may be or contain `Streamed` ones. Raises `ValueError` if mitmproxy has no form for it."""
    if isinstance(value, Streamed):
        return _wrapped(value.size, [value], value.kind)
    if not _is_streamed(value):
        plain = tnetstring.dumps(value)
        return Packed(len(plain), [plain])
    if isinstance(value, dict):
        return _joined([pack(one) for field in value.items() for one in field], _DICT)
    return _joined(list(map(pack, value)), LIST)


def _is_streamed(value: Any) -> bool:
    """Whether it is, or contains, a `Streamed` value."""
    if isinstance(value, dict):
        return any(map(_is_streamed, value.values()))
    return any(map(_is_streamed, value)) if isinstance(value, list | tuple) else isinstance(value, Streamed)


def pairs(values: Iterable[tuple[int, int]]) -> bytes:
    """The payload of a list of pairs of numbers."""
    packed = [b"%d:%d#%d:%d#" % (len(str(one)), one, len(str(other)), other) for one, other in values]
    return b"".join([b"%d:%b]" % (len(pair), pair) for pair in packed])


def numbers(runs: Callable[[], Iterable[range]]) -> Streamed:
    """A list of the numbers in all runs. `runs` is called twice: they may be many."""
    return Streamed(LIST, sum(map(len, _numbers(runs()))), lambda: _numbers(runs()))


def _numbers(runs: Iterable[range]) -> Iterator[bytes]:
    together = batched(chain.from_iterable(runs), _TOGETHER)
    return (b"".join([b"%d:%d#" % (len(str(number)), number) for number in batch]) for batch in together)


def _joined(values: Sequence[Packed], kind: bytes) -> Packed:
    return _wrapped(sum(one.size for one in values), [part for one in values for part in one.parts], kind)


def _wrapped(size: int, parts: Sequence[bytes | Streamed], kind: bytes) -> Packed:
    head = b"%d:" % size
    return Packed(len(head) + size + len(kind), [head, *parts, kind])
