"""Texts looked through as one, and what is overwritten in it, where each of them stands."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.escapes import Edit, Unescaped
from toolstream_core.redaction.finder import filled
from toolstream_core.redaction.joined import APART

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.redaction.finder import SecretFinder

_TAIL: Final = 8192
"""Bytes of a channel that are kept for what comes later."""
_REPEATED: Final = 16
"""Bytes from which on a value that comes again is no piece of a longer one."""


class Channel:
    """Leaves that belong together: pieces of one text, or the texts of one document side by side."""

    def __init__(self, tail: bytes, event: int = -1) -> None:
        """`tail` is the end of what was said before, and `event` the one that it is of, if that still goes on."""
        self._parts = [tail]
        self._size = len(tail)
        self._text: bytes | None = None
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._leaves: list[tuple[int, Unescaped | None]] = []
        self._last = b""
        self._event = event
        self._copies: dict[int, list[int]] = {}

    def add(self, text: bytes, at: int, event: int) -> None:
        """A leaf's raw text, which stands at `at`. Two of one event have nothing to do with each other.

        One that stands at 0 goes on from what came before, since no quote is before it.
        """
        if text == self._last and len(text) >= _REPEATED:
            self._copies.setdefault(len(self._leaves) - 1, []).append(at)
            return
        self._last = text
        if event == self._event and at:
            self.part(APART)
        self._event = event
        self.append(text, at)

    def append(self, text: bytes, at: int, *, raw: bool = True) -> None:
        """The same, also where it is what was just said, or is said without escapes."""
        plain = None
        if raw and b"\\" in text:
            plain = Unescaped(text)
            text = plain.text
        self._starts.append(self._size)
        self._leaves.append((at, plain))
        self._parts.append(text)
        self._size += len(text)
        self._ends.append(self._size)

    def part(self, between: bytes) -> None:
        """Put something between what was said and what comes next."""
        self._parts.append(between)
        self._size += len(between)

    @property
    def text(self) -> bytes:
        """All that was said, from the tail on; to be asked for when nothing more comes."""
        if self._text is None:
            self._text = b"".join(self._parts)
        return self._text

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
        """An edit of `text` as edits of the window; what stands between two leaves is of neither."""
        at, end = edit.at, edit.at + len(edit.data)
        for leaf in range(max(0, bisect_right(self._starts, at) - 1), len(self._starts)):
            start = self._starts[leaf]
            if start >= end:
                return
            low, high = max(at, start), min(end, self._ends[leaf])
            if low >= high:
                continue
            place, plain = self._leaves[leaf]
            part = Edit(low - start, edit.data[low - at : high - at])
            for moved in [part] if plain is None else plain.on_raw(part):
                for each in (place, *self._copies.get(leaf, ())):
                    yield Edit(each + moved.at, moved.data)

    def tail(self, before: int) -> bytes:
        """The end of what stands before a place."""
        kept = bisect_left(self._leaves, before, key=itemgetter(0))
        end = self._ends[kept - 1] if kept else len(self._parts[0])
        return self.text[max(0, end - _TAIL) : end]
