"""Tnetstrings whose long values are not in memory: mitmproxy's flow format, written piece by piece.

https://tnetstrings.info, and `mitmproxy.io.tnetstring`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from mitmproxy.io import tnetstring

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

BYTES = b","
LIST = b"]"
_WORD = 64
"""Characters below which a packed text is remembered."""
_LAST: Final = 4
_THOUSAND: Final = 1000
_ENDS: Final = tuple(b"%03d#" % number for number in range(_THOUSAND))
"""The last digits of numbers that have at least as many as `_LAST`, and what stands behind them."""


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
    packed = _packed(value)
    if isinstance(packed, bytes):
        return Packed(len(packed), [packed])
    parts: list[bytes | Streamed] = []
    plain: list[bytes] = []
    for part in packed.parts:
        if isinstance(part, Streamed):
            parts += [b"".join(plain), part]
            plain.clear()
        else:
            plain.append(part)
    parts.append(b"".join(plain))
    return Packed(packed.size, parts)


def _packed(value: object) -> bytes | Packed:
    if (plain := _PLAIN.get(type(value))) is not None:
        return plain(value)
    if isinstance(value, Streamed):
        return _wrapped(value.size, [value], value.kind)
    if isinstance(value, dict):
        fields: list[bytes | Packed] = []
        for key, one in value.items():
            plain = _PLAIN.get(type(one))
            fields += (_word(key) if type(key) is str else _packed(key), _packed(one) if plain is None else plain(one))
        return _joined(fields, b"}")
    if isinstance(value, list | tuple):
        return _joined(list(map(_packed, value)), LIST)
    return tnetstring.dumps(value)  # type: ignore[arg-type]  # checked there


def _text(value: str) -> bytes:
    return _word(value) if len(value) < _WORD else tnetstring.dumps(value)


def _data(value: bytes) -> bytes:
    return b"%d:%b," % (len(value), value)


@lru_cache(maxsize=1024)
def _word(text: str) -> bytes:
    """A short text; the names of fields come again in every flow."""
    return tnetstring.dumps(text)


@lru_cache(maxsize=256)
def _head(size: int) -> bytes:
    return b"%d:" % size


@lru_cache(maxsize=4096)
def pack_number(number: int) -> bytes:
    """A whole number; most of those that are packed are the same few."""
    digits = b"%d" % number
    return b"%d:%b#" % (len(digits), digits)


def packed_cuts(whens: Iterable[int], counts: Iterable[int], sizes: Sequence[int]) -> bytes:
    """The items `[when, size]` of a list, none of its numbers below zero: to each `when` belong so many sizes."""
    packed: list[bytes] = []
    at = 0
    for when, count in zip(whens, counts, strict=True):
        digits = b"%d" % when
        head = b"%d:%b#" % (len(digits), digits)
        if count == 1:
            packed.append(_pair(head, pack_number(sizes[at])))
        else:
            some = sizes[at : at + count]
            items = {size: _pair(head, pack_number(size)) for size in set(some)}
            packed.append(b"".join(map(items.__getitem__, some)))
        at += count
    return b"".join(packed)


def _pair(first: bytes, second: bytes) -> bytes:
    return b"%b%b%b]" % (_head(len(first) + len(second)), first, second)


def numbers(runs: Callable[[], Iterable[range]]) -> Streamed:
    """A list of the numbers in all runs, none below zero. `runs` is called twice: they may be many."""
    return Streamed(LIST, sum(map(_size, runs())), lambda: chain.from_iterable(map(_pieces, runs())))


def _size(run: range) -> int:
    return sum(len(part) * len(pack_number(part.start)) for part in _of_one_width(run))


def _pieces(run: range) -> Iterator[bytes]:
    if len(run) == 1:
        yield pack_number(run.start)
        return
    for part in _of_one_width(run):
        width = len(str(part.start))
        head = _head(width)
        if width < _LAST:
            yield head + head.join([b"%d#" % number for number in part])
            continue
        for some in _of_one_thousand(part):
            begin = head + b"%d" % (some.start // _THOUSAND)
            first = some.start % _THOUSAND
            yield begin + begin.join(_ENDS[first : first + len(some)])


def _of_one_thousand(run: range) -> Iterator[range]:
    """The parts of a run whose numbers differ in their last digits alone."""
    start = run.start
    while start < run.stop:
        stop = min(run.stop, start - start % _THOUSAND + _THOUSAND)
        yield range(start, stop)
        start = stop


def _of_one_width(run: range) -> Iterator[range]:
    """The parts of a run whose numbers have equally many digits."""
    start = run.start
    while start < run.stop:
        stop = min(run.stop, 10 ** len(str(start)))
        yield range(start, stop)
        start = stop


def _joined(values: Sequence[bytes | Packed], kind: bytes) -> bytes | Packed:
    try:
        payload = b"".join(values)  # type: ignore[arg-type]  # mostly it is no other
    except TypeError:
        parts: list[bytes | Streamed] = []
        for one in values:
            parts += [one] if isinstance(one, bytes) else one.parts
        sizes = (len(one) if isinstance(one, bytes) else one.size for one in values)
        return _wrapped(sum(sizes), parts, kind)
    return _head(len(payload)) + payload + kind


def _wrapped(size: int, parts: Sequence[bytes | Streamed], kind: bytes) -> Packed:
    head = _head(size)
    return Packed(len(head) + size + len(kind), [head, *parts, kind])


_NOTHING: Final = tnetstring.dumps(None)
_PLAIN: Final[Mapping[type, Callable[[Any], bytes]]] = {
    str: _text,
    bytes: _data,
    int: pack_number,
    float: tnetstring.dumps,
    bool: {one: tnetstring.dumps(one) for one in (False, True)}.__getitem__,
    type(None): lambda _: _NOTHING,
}
"""By their exact types: a flow has some two hundred such values."""
