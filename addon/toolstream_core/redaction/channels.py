"""What the events of a stream say piece by piece, joined, so that a secret cut into deltas shows."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.escapes import Edit, Unescaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.redaction.finder import SecretFinder
    from toolstream_core.redaction.leaves import Leaf

_TAIL: Final = 8192
"""Bytes of a channel that are kept for what comes later."""
_MOST: Final = 256
_REPEATED: Final = 16
"""Bytes from which on a value that comes again is no piece of a longer one."""
_ADDRESS: Final = re.compile(rb'"(?:\w*index|item_id|call_id|tool_call_id|toolUseId)"\s*+:\s*+"?([\w.:-]++)')

type Address = tuple[int, bytes]
"""How leaves are joined, and of which call they are."""


class Channel:
    """The leaves of one key, of one call where several are open at once."""

    def __init__(self, tail: bytes) -> None:
        """`tail` is the end of what was said before."""
        self._parts = [tail]
        self._size = len(tail)
        self._starts: list[int] = []
        self._leaves: list[tuple[int, Unescaped | None]] = []
        self._escaped = False
        self._last = b""

    def add(self, text: bytes, at: int) -> None:
        """A leaf's raw text, which stands at `at`."""
        if text == self._last and len(text) >= _REPEATED:
            return
        self._last = text
        plain = None
        if b"\\" in text:
            plain = Unescaped(text)
            self._escaped = True
            text = plain.text
        self._starts.append(self._size)
        self._leaves.append((at, plain))
        self._parts.append(text)
        self._size += len(text)

    def edits(self, finder: SecretFinder) -> Iterator[Edit]:
        """What overwrites the secrets, where the leaves stand."""
        if not self._escaped and len(self._leaves) + bool(self._parts[0]) == 1:
            # Looked at as it stands.
            return
        for edit in finder.edits(b"".join(self._parts), depth=1):
            yield from self._on_leaves(edit)

    def _on_leaves(self, edit: Edit) -> Iterator[Edit]:
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
                yield Edit(place + moved.at, moved.data)

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
        edits = [edit for channel in open_.values() for edit in channel.edits(self._finder)]
        self._keep({name: channel.tail(flushed) for name, channel in open_.items()})
        return edits

    def _keep(self, tails: dict[tuple[Address, bytes], bytes]) -> None:
        for name, tail in tails.items():
            self._tails.pop(name, None)
            self._tails[name] = tail
        for name in list(self._tails)[:-_MOST]:
            del self._tails[name]

    def _groupings(self, text: bytes, found: Sequence[Leaf]) -> Iterator[list[Address]]:
        """Each way to say which leaves belong together: by key alone, and by what the events say of their calls."""
        yield [(0, b"")] * len(found)
        marks = [(match.start(), match[1]) for match in _ADDRESS.finditer(text)]
        if len({value for _, value in marks}) < 2:  # noqa: PLR2004
            return
        places = [at for at, _ in marks]
        values = [b"", *(value for _, value in marks), b""]
        after = [bisect_left(places, leaf.start) for leaf in found]
        yield [(1, values[at]) for at in after]
        yield [(2, values[at + 1]) for at in after]
        yield [(3, address) for address in _of_lines(text, found, marks)]


def _of_lines(text: bytes, found: Sequence[Leaf], marks: Sequence[tuple[int, bytes]]) -> Iterator[bytes]:
    """All that a leaf's line says of indexes and ids."""
    mark, line_end, address = 0, -1, b""
    for leaf in found:
        if leaf.start > line_end:
            line_end = text.find(b"\n", leaf.start)
            if line_end < 0:
                line_end = len(text)
            values = []
            while mark < len(marks) and marks[mark][0] < line_end:
                values.append(marks[mark][1])
                mark += 1
            address = b",".join(values)
        yield address
