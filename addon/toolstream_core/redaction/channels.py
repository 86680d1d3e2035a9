"""What the events of a stream say piece by piece, joined, so that a secret cut into deltas shows."""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.channel import Channel
from toolstream_core.redaction.documents import Framing, arrays, chunks, framing, lines
from toolstream_core.redaction.joined import are_clean

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.redaction.escapes import Edit
    from toolstream_core.redaction.finder import SecretFinder
    from toolstream_core.redaction.leaves import Leaf

_MOST: Final = 256
_FEW: Final = 32 * 1024
"""Bytes of all channels below which most of a search is what it costs for each of them."""
_PARTS: Final = 32
"""Parts of an answer up to which each is looked through by itself, too."""
# Each begins with what a search in C looks for first.
_ADDRESSES: Final = (
    re.compile(rb'ndex"\s*+:\s*+"?([0-9]++)'),
    re.compile(rb'_id"(?<!event_id")\s*+:\s*+"([^"\\\r\n]*+)'),
    re.compile(rb'UseId"\s*+:\s*+"([^"\\\r\n]*+)'),
)
# Parts of an answer that differ by this alone.
_PARTED: Final = (
    re.compile(rb'hought"\s*+:\s*+(true)'),
    re.compile(rb'putTranscription(?<=(n|t)putTranscription)"\s*+:'),
)
# Lines that hold nothing but JSON, or nothing: their strings are looked at one by one.
_JSON_LINES: Final = re.compile(
    rb"""(?:(?:(?:data:\ ?)?[ \t]*+(?:\{"|\[\{|["}\],]|[\[{]?\r?(?=\n|\Z))|event:\ ?[\w.-]*+\r?(?=\n))"""
    rb"[^\n]*+(?:\n|\Z))*+"
)
_LINE: Final = re.compile(rb"[^\n]*+\n?+")
type Address = tuple[int, bytes]
"""How leaves are joined, and of which call they are."""
type Name = tuple[Address, bytes]
"""Of a channel: an address, and a key."""

_LINES: Final[Name] = ((-1, b""), b"")
_DOCUMENT: Final[Name] = ((-2, b""), b"")


class Channels:
    """All channels of a body, from one window to the next."""

    def __init__(self, finder: SecretFinder) -> None:
        """`finder` looks through what is joined."""
        self._finder = finder
        self._tails: dict[Name, bytes] = {}
        self._framing: Framing | None = None
        """Known when the first window has come."""
        self._amid = False
        """Whether the event in which the window begins began before it."""

    def edits(self, text: bytes, found: Sequence[Leaf], flushed: int) -> list[Edit]:
        """What overwrites secrets in the leaves of a window, whose first `flushed` bytes will not come again."""
        if self._framing is None:
            self._framing = framing(text)
        open_: dict[Name, Channel] = {}
        for names, events in self._groupings(text, found, self._framing):
            for leaf, name, event in zip(found, names, events, strict=True):
                channel = open_.get(name)
                if channel is None:
                    channel = open_[name] = Channel(self._tails.get(name, b""), 0 if self._amid else -1)
                channel.add(text[leaf.start : leaf.end], leaf.start, event)
        other = open_[_LINES] = Channel(self._tails.get(_LINES, b""))
        for at, line in other_lines(text):
            other.append(line, at, raw=False)
        if flushed < len(text):
            self._keep({name: channel.tail(flushed) for name, channel in open_.items()})
        self._amid = self._framing is not Framing.LINES or text[flushed - 1 : flushed] != b"\n"
        channels = [*open_.values(), *arrays(text, found)]
        if self._framing is Framing.DOCUMENT:
            channels += chunks(text, found)
        alone = [edit for channel in channels for edit in channel.alone(self._finder)]
        if self._are_clean([channel.text for channel in channels]):
            return alone
        return alone + [edit for channel in channels for edit in channel.edits(self._finder)]

    def _are_clean(self, texts: Sequence[bytes]) -> bool:
        """Whether it costs little to see that there is nothing to overwrite."""
        few = sum(map(len, texts)) < _FEW
        return few and not self._finder.has_patterns and are_clean(texts, self._finder)

    def _keep(self, tails: dict[Name, bytes]) -> None:
        for name, tail in tails.items():
            self._tails.pop(name, None)
            self._tails[name] = tail
        for name in list(self._tails)[:-_MOST]:
            del self._tails[name]

    @staticmethod
    def _groupings(
        text: bytes, found: Sequence[Leaf], framing: Framing
    ) -> Iterator[tuple[Iterable[Name], Sequence[int]]]:
        """Each way to say which leaves belong together, and in which event each stands."""
        if framing is not Framing.LINES:
            # Side by side, not joined.
            yield [_DOCUMENT] * len(found), [0] * len(found)
        if framing is Framing.DOCUMENT:
            return
        events = lines(text, found) if framing is Framing.LINES else range(1, len(found) + 1)
        for addresses in _addresses(text, found):
            yield zip(addresses, [leaf.key for leaf in found], strict=True), events


def _addresses(text: bytes, found: Sequence[Leaf]) -> Iterator[list[Address]]:
    """Of the events of a stream: by key alone, and by what the events say of their calls."""
    yield [(0, b"")] * len(found)
    said = [address.findall(text) for address in _ADDRESSES]
    if not any(map(_interleaved, said)):
        if any(mark.search(text) for mark in _PARTED) or any(1 < len(set(values)) <= _PARTS for values in said):
            # Where one part ends and the next begins, two words would be one, and hide a key's beginning or end.
            yield from _by_lines(text, found, call_marks(text))
        return
    may_leak = call_marks(text)
    places = [at for at, _ in may_leak]
    values = [b"", *(value for _, value in may_leak), b""]
    after = [bisect_left(places, leaf.start) for leaf in found]
    yield [(1, values[at]) for at in after]
    yield [(2, values[at + 1]) for at in after]
    yield from _by_lines(text, found, may_leak)


def _by_lines(text: bytes, found: Sequence[Leaf], may_leak: Sequence[tuple[int, bytes]]) -> Iterator[list[Address]]:
    """By all that an event says of its call; some servers write the fields of each event in another order."""
    said = list(_of_lines(text, found, may_leak))
    yield [(3, b",".join(values)) for values in said]
    if len(set(said)) > len({tuple(sorted(values)) for values in set(said)}):
        yield [(4, b",".join(sorted(values))) for values in said]


def call_marks(text: bytes) -> list[tuple[int, bytes]]:
    """The indexes and ids of calls, what says that a text is a thought or whose voice it is, and where they stand."""
    marks = (*_ADDRESSES, *_PARTED)
    return sorted((match.start(), match[1]) for address in marks for match in address.finditer(text))


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


def _of_lines(text: bytes, found: Sequence[Leaf], may_leak: Sequence[tuple[int, bytes]]) -> Iterator[tuple[bytes, ...]]:
    """All that a leaf's line says of indexes and ids."""
    mark, line_end = 0, -1
    address: tuple[bytes, ...] = ()
    for leaf in found:
        if leaf.start > line_end:
            line_end = text.find(b"\n", leaf.start)
            if line_end < 0:
                line_end = len(text)
            values = []
            while mark < len(may_leak) and may_leak[mark][0] < line_end:
                values.append(may_leak[mark][1])
                mark += 1
            address = tuple(values)
        yield address
