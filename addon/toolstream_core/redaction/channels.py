"""What the events of a stream say piece by piece, joined, so that a secret cut into deltas shows."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.escapes import Edit, Unescaped
from toolstream_core.redaction.finder import filled
from toolstream_core.redaction.joined import are_clean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.redaction.finder import SecretFinder
    from toolstream_core.redaction.leaves import Leaf

_TAIL: Final = 8192
"""Bytes of a channel that are kept for what comes later."""
_MOST: Final = 256
_FEW: Final = 32 * 1024
"""Bytes of all channels below which most of a search is what it costs for each of them."""
_PARTS: Final = 32
"""Parts of an answer up to which each is looked through by itself, too."""
_REPEATED: Final = 16
"""Bytes from which on a value that comes again is no piece of a longer one."""
# Each begins with what a search in C looks for first.
_ADDRESSES: Final = (
    re.compile(rb'ndex"\s*+:\s*+"?([0-9]++)'),
    re.compile(rb'_id"\s*+:\s*+"([^"\\\r\n]*+)'),
    re.compile(rb'UseId"\s*+:\s*+"([^"\\\r\n]*+)'),
)
# Lines that hold nothing but JSON, or nothing: their strings are looked at one by one.
_JSON_LINES: Final = re.compile(
    rb"""(?:(?:(?:data:\ ?)?[ \t]*+(?:\{"|\[\{|["}\],]|[\[{]?\r?(?=\n|\Z))|event:\ ?[\w.-]*+\r?(?=\n))"""
    rb"[^\n]*+(?:\n|\Z))*+"
)
_LINE: Final = re.compile(rb"[^\n]*+\n?+")
type Address = tuple[int, bytes]
"""How leaves are joined, and of which call they are."""

_LINES: Final[tuple[Address, bytes]] = ((-1, b""), b"")


class Channel:
    """The leaves of one key, of one call where several are open at once."""

    def __init__(self, tail: bytes) -> None:
        """`tail` is the end of what was said before."""
        self._parts = [tail]
        self._size = len(tail)
        self._starts: list[int] = []
        self._leaves: list[tuple[int, Unescaped | None]] = []
        self._last = b""
        self._copies: dict[int, list[int]] = {}

    def add_line(self, text: bytes, at: int) -> None:
        """A line that is no JSON, which stands at `at`."""
        self._starts.append(self._size)
        self._leaves.append((at, None))
        self._parts.append(text)
        self._size += len(text)

    def add(self, text: bytes, at: int) -> None:
        """A leaf's raw text, which stands at `at`."""
        if text == self._last and len(text) >= _REPEATED:
            self._copies.setdefault(len(self._leaves) - 1, []).append(at)
            return
        self._last = text
        self.append(text, at)

    def append(self, text: bytes, at: int) -> None:
        """The same, also where it is what was just said."""
        plain = None
        if b"\\" in text:
            plain = Unescaped(text)
            text = plain.text
        self._starts.append(self._size)
        self._leaves.append((at, plain))
        self._parts.append(text)
        self._size += len(text)

    @property
    def text(self) -> bytes:
        """All that was said, from the tail on."""
        return b"".join(self._parts)

    def edits(self, finder: SecretFinder) -> Iterator[Edit]:
        """What overwrites the secrets, where the leaves stand."""
        for edit in finder.edits(self.text, depth=1):
            yield from self.on_leaves(edit)

    def alone(self, finder: SecretFinder) -> Iterator[Edit]:
        """Keys behind whose escapes nobody sees where they begin, looked for beside no other leaf."""
        for leaf, (place, plain) in enumerate(self._leaves):
            if plain is None or not plain.hides:
                continue
            for found in finder.find_by_themselves(plain.text):
                for moved in plain.on_raw(Edit(found.start, filled(plain.text[found.start : found.end]))):
                    for each in (place, *self._copies.get(leaf, ())):
                        yield Edit(each + moved.at, moved.data)

    def on_leaves(self, edit: Edit) -> Iterator[Edit]:
        """An edit of `text` as edits of the window."""
        at, end = edit.at, edit.at + len(edit.data)
        for leaf in range(max(0, bisect_right(self._starts, at) - 1), len(self._starts)):
            start = self._starts[leaf]
            stop = self._starts[leaf + 1] if leaf + 1 < len(self._starts) else self._size
            if start >= end:
                return
            low, high = max(at, start), min(end, stop)
            if low >= high:
                continue
            place, plain = self._leaves[leaf]
            part = Edit(low - start, edit.data[low - at : high - at])
            for moved in [part] if plain is None else plain.on_raw(part):
                for each in (place, *self._copies.get(leaf, ())):
                    yield Edit(each + moved.at, moved.data)

    def tail(self, before: int) -> bytes:
        """The end of what stands before a place."""
        kept = bisect_left([at for at, _ in self._leaves], before)
        return b"".join(self._parts[: kept + 1])[-_TAIL:]


class Channels:
    """All channels of a body, from one window to the next."""

    def __init__(self, finder: SecretFinder) -> None:
        """`finder` looks through what is joined."""
        self._finder = finder
        self._tails: dict[tuple[Address, bytes], bytes] = {}

    def edits(self, text: bytes, found: Sequence[Leaf], flushed: int) -> list[Edit]:
        """What overwrites secrets in the leaves of a window, whose first `flushed` bytes will not come again."""
        open_: dict[tuple[Address, bytes], Channel] = {}
        for grouping in self._groupings(text, found):
            for leaf, address in zip(found, grouping, strict=True):
                name = (address, leaf.key)
                channel = open_.get(name)
                if channel is None:
                    channel = open_[name] = Channel(self._tails.get(name, b""))
                channel.add(text[leaf.start : leaf.end], leaf.start)
        lines = open_[_LINES] = Channel(self._tails.get(_LINES, b""))
        for at, line in other_lines(text):
            lines.add_line(line, at)
        self._keep({name: channel.tail(flushed) for name, channel in open_.items()})
        alone = [edit for channel in open_.values() for edit in channel.alone(self._finder)]
        if self._are_clean([channel.text for channel in open_.values()]):
            return alone
        return alone + [edit for channel in open_.values() for edit in channel.edits(self._finder)]

    def _are_clean(self, texts: Sequence[bytes]) -> bool:
        """Whether it costs little to see that there is nothing to overwrite."""
        few = sum(map(len, texts)) < _FEW
        return few and not self._finder.has_patterns and are_clean(texts, self._finder)

    def _keep(self, tails: dict[tuple[Address, bytes], bytes]) -> None:
        for name, tail in tails.items():
            self._tails.pop(name, None)
            self._tails[name] = tail
        for name in list(self._tails)[:-_MOST]:
            del self._tails[name]

    def _groupings(self, text: bytes, found: Sequence[Leaf]) -> Iterator[list[Address]]:
        """Each way to say which leaves belong together: by key alone, and by what the events say of their calls."""
        yield [(0, b"")] * len(found)
        said = [address.findall(text) for address in _ADDRESSES]
        if not any(map(_interleaved, said)):
            if any(1 < len(set(values)) <= _PARTS for values in said):
                # Where one part ends and the next begins, two words would be one, and hide a key's beginning or end.
                yield [(3, address) for address in _of_lines(text, found, call_marks(text))]
            return
        may_leak = call_marks(text)
        places = [at for at, _ in may_leak]
        values = [b"", *(value for _, value in may_leak), b""]
        after = [bisect_left(places, leaf.start) for leaf in found]
        yield [(1, values[at]) for at in after]
        yield [(2, values[at + 1]) for at in after]
        yield [(3, address) for address in _of_lines(text, found, may_leak)]


def call_marks(text: bytes) -> list[tuple[int, bytes]]:
    """The indexes and ids of calls, and where they stand."""
    return sorted((match.start(), match[1]) for address in _ADDRESSES for match in address.finditer(text))


def index_marks(text: bytes) -> list[tuple[int, bytes]]:
    """The indexes alone."""
    return [(match.start(), match[1]) for match in _ADDRESSES[0].finditer(text)]


def id_marks(text: bytes) -> list[tuple[int, bytes]]:
    """The ids alone."""
    return sorted((match.start(), match[1]) for address in _ADDRESSES[1:] for match in address.finditer(text))


def other_lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are no JSON, and where they stand."""
    at = _JSON_LINES.match(text).end()  # type: ignore[union-attr]
    while at < len(text):
        line = _LINE.match(text, at)[0]  # type: ignore[index]
        yield at, line
        at = _JSON_LINES.match(text, at + len(line)).end()  # type: ignore[union-attr]


def _interleaved(values: Sequence[bytes]) -> bool:
    """Whether one comes again after another; calls one behind the other are joined rightly by their keys alone."""
    changes = sum(value != before for before, value in pairwise(values))
    return changes >= len(set(values)) > 1


def _of_lines(text: bytes, found: Sequence[Leaf], may_leak: Sequence[tuple[int, bytes]]) -> Iterator[bytes]:
    """All that a leaf's line says of indexes and ids."""
    mark, line_end, address = 0, -1, b""
    for leaf in found:
        if leaf.start > line_end:
            line_end = text.find(b"\n", leaf.start)
            if line_end < 0:
                line_end = len(text)
            values = []
            while mark < len(may_leak) and may_leak[mark][0] < line_end:
                values.append(may_leak[mark][1])
                mark += 1
            address = b",".join(values)
        yield address
