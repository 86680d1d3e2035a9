"""Joins the strings of a stream's events by key, to find a secret that is split over deltas."""

from __future__ import annotations

import enum
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from operator import itemgetter
from typing import Final

from toolstream_core.redaction.finder import SecretFinder, filled
from toolstream_core.redaction.strings import Edit, Leaf, Unescaped, by_segment

APART: Final = b"\n\x01\n"
"""Separates two texts; no expression for secrets matches across it."""
_TAIL: Final = 8192
"""Bytes of a channel that are kept for later leaves."""
REPEATED: Final = 16
"""The minimum length, in bytes, of a repeated value that is not a part of a longer one."""


class Channel:
    """Leaves that belong together: parts of one text, or all texts of one document."""

    def __init__(self, tail: bytes, event: int = -1) -> None:
        """`tail` is the end of the earlier text, and `event` the number of its event, if that is not finished."""
        self._parts = [tail]
        self._size = len(tail)
        self._text: bytes | None = None
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._leaves: list[tuple[int, Unescaped | None]] = []
        self._last = b""
        self._event = event
        self._copies: dict[int, list[int]] = {}

    def add(self, text: bytes, position: int, event: int) -> None:
        """Add the raw text of a leaf, whose place is `position`. Two leaves of one event are independent.

        A leaf at 0 continues the previous window, because no quote precedes it.
        """
        if text == self._last and len(text) >= REPEATED:
            self._copies.setdefault(len(self._leaves) - 1, []).append(position)
            return
        self._last = text
        if event == self._event and position:
            self.part(APART)
        self._event = event
        self.append(text, position)

    def append(self, text: bytes, position: int, *, raw: bool = True) -> None:
        """The same, also if it repeats the last text, or has no escapes."""
        plain = None
        if raw and b"\\" in text:
            plain = Unescaped(text)
            text = plain.text
        self._starts.append(self._size)
        self._leaves.append((position, plain))
        self._parts.append(text)
        self._size += len(text)
        self._ends.append(self._size)

    def part(self, between: bytes) -> None:
        self._parts.append(between)
        self._size += len(between)

    @property
    def text(self) -> bytes:
        """The complete text, from the tail on; called at the end."""
        if self._text is None:
            self._text = b"".join(self._parts)
        return self._text

    def edits(self, finder: SecretFinder) -> Iterator[Edit]:
        """Edits that overwrite the secrets, at the places of the leaves."""
        for edit in finder.edits(self.text, depth=1):
            yield from self.on_leaves(edit)

    def alone(self, finder: SecretFinder) -> Iterator[Edit]:
        """Keys after escapes that hide where they begin; each leaf is searched by itself."""
        for leaf, (place, plain) in enumerate(self._leaves):
            if plain is None or not plain.hides:
                continue
            for start, end in finder.find_by_themselves(plain.text):
                for moved in plain.on_raw(Edit(start, filled(plain.text[start:end]))):
                    for each in (place, *self._copies.get(leaf, ())):
                        yield Edit(each + moved.start, moved.data)

    def begun(self, finder: SecretFinder) -> int | None:
        """The place of the first byte of a secret that may continue in the next leaf, or the place of its leaf."""
        before = max(0, len(self.text) - _TAIL)
        position = finder.begun(self.text[before:])
        if position is None or not self._leaves:
            return None
        leaf = bisect_right(self._starts, before + position) - 1
        if leaf < 0:
            return 0
        return next((edit.start for edit in self.on_leaves(Edit(before + position, b"*"))), self._leaves[leaf][0])

    def on_leaves(self, edit: Edit) -> Iterator[Edit]:
        """An edit of `text` as edits of the window; bytes between two leaves belong to neither."""
        for leaf, offset, data in by_segment([*self._starts, self._size], edit) if self._starts else ():
            place, plain = self._leaves[leaf]
            part = Edit(offset, data[: max(0, self._ends[leaf] - self._starts[leaf] - offset)])
            for moved in () if not part.data else [part] if plain is None else plain.on_raw(part):
                for each in (place, *self._copies.get(leaf, ())):
                    yield Edit(each + moved.start, moved.data)

    def tail(self, before: int) -> bytes:
        """The end of the bytes before a place."""
        kept = bisect_left(self._leaves, before, key=itemgetter(0))
        end = self._ends[kept - 1] if kept else len(self._parts[0])
        return self.text[max(0, end - _TAIL) : end]


class JsonLayout(enum.Enum):
    """How a body holds JSON."""

    LINES = enum.auto()
    """Each line may be a document: an event."""
    ARRAY = enum.auto()
    """Each item may be one."""
    DOCUMENT = enum.auto()
    """The body is one document: no text in it continues in another."""


_BEGIN: Final = re.compile(rb"(?:\xef\xbb\xbf)?\s*+([\[{])([^\n]*+)")
_FLAG: Final = re.compile(rb"--?[A-Za-z][\w-]*+(?:=.*)?+", re.DOTALL)
_NEXT: Final = re.compile(rb'"\s*+,\s*+')
# A client of Gemini repeats each chunk of an answer as a separate entry.
_MODEL_FIRST: Final = re.compile(rb'"role"\s*:\s*"model"\s*,\s*"parts"\s*:\s*\[\s*\{\s*\Z')
_MODEL_LAST: Final = re.compile(rb'"\s*\}\s*\]\s*,\s*"role"\s*:\s*"model"')
_MODEL: Final = re.compile(rb'"role"\s*:\s*"model"')
_BEFORE: Final = 128


def json_layout(text: bytes) -> JsonLayout:
    """The layout of a body with this beginning."""
    begin = _BEGIN.match(text)
    if begin is None:
        return JsonLayout.LINES
    if begin[1] == b"[":
        return JsonLayout.ARRAY
    if not begin[2].rstrip().endswith(b"}"):
        return JsonLayout.DOCUMENT
    return JsonLayout.LINES if text[begin.end() :].strip() else JsonLayout.DOCUMENT


def lines(text: bytes, found: Sequence[Leaf]) -> list[int]:
    """The number of each leaf's line; the first line is 0."""
    numbers: list[int] = []
    begins_before = found and b"\n" not in text[: found[0].start]
    number, end = -1 if begins_before else 0, -1
    for leaf in found:
        if leaf.start > end:
            end = text.find(b"\n", leaf.start)
            if end < 0:
                end = len(text)
            number += 1
        numbers.append(number)
    return numbers


def arrays(text: bytes, found: Sequence[Leaf]) -> Iterator[Channel]:
    """Arrays of strings that are one text: the words of a command, lines."""
    strings = [leaf for leaf in found if not leaf.key]
    for array in _runs(strings, lambda leaf, after: _NEXT.fullmatch(text, leaf.end, after.outset) is not None):
        texts = [text[leaf.start : leaf.end] for leaf in array]
        if any(map(_FLAG.fullmatch, texts)):
            yield _channel(text, array, b" ")
        elif any(b" " in line or b"\\" in line or b"<" in line for line in texts):
            yield _channel(text, array, b"\n")


def chunks(text: bytes, found: Sequence[Leaf]) -> Iterator[Channel]:
    """The text that a model sent in chunks, repeated in a request."""
    if _MODEL.search(text):
        models = {leaf for leaf in found if _is_models(text, leaf)}
        for run in _runs(found, lambda leaf, after: leaf in models and after in models and leaf.key == after.key):
            yield _channel(text, run, b"")


def _runs(found: Sequence[Leaf], goes_on: Callable[[Leaf, Leaf], bool]) -> Iterator[list[Leaf]]:
    """Two leaves or more, each of which continues in the next."""
    run: list[Leaf] = []
    for leaf, after in pairwise(found):
        if goes_on(leaf, after):
            run += [after] if run else [leaf, after]
        elif run:
            yield run
            run = []
    if run:
        yield run


def _is_models(text: bytes, leaf: Leaf) -> bool:
    if _MODEL_LAST.match(text, leaf.end):
        return True
    return _MODEL_FIRST.search(text, max(0, leaf.outset - _BEFORE), leaf.outset) is not None


def _channel(text: bytes, run: Sequence[Leaf], between: bytes) -> Channel:
    channel = Channel(b"")
    for leaf in run:
        channel.part(between)
        channel.append(text[leaf.start : leaf.end], leaf.start)
    return channel


_MOST: Final = 256
_PARTS: Final = 32
"""Up to this number, each part of a response is also searched by itself."""
# Each begins with the bytes that a search in C tries first.
_ADDRESSES: Final = (
    re.compile(rb'ndex"\s*+:\s*+"?([0-9]++)'),
    re.compile(rb'_id"(?<!event_id")\s*+:\s*+"([^"\\\r\n]*+)'),
    re.compile(rb'UseId"\s*+:\s*+"([^"\\\r\n]*+)'),
)
# Parts of an answer that differ only in this field.
_PARTED: Final = (
    re.compile(rb'hought"\s*+:\s*+(true)'),
    re.compile(rb'putTranscription(?<=(n|t)putTranscription)"\s*+:'),
)
# Lines that hold only JSON, or nothing: their strings are searched one by one.
_JSON_LINES: Final = re.compile(
    rb"""(?:(?:(?:data:\ ?)?[ \t]*+(?:\{"|\[\{|["}\],]|[\[{]?\r?(?=\n|\Z))|event:\ ?[\w.-]*+\r?(?=\n))"""
    rb"[^\n]*+(?:\n|\Z))*+"
)
_LINE: Final = re.compile(rb"[^\n]*+\n?+")
type Address = tuple[int, bytes]
"""The key by which leaves are joined, and their call."""
type Name = tuple[Address, bytes]
"""The name of a channel: an address, and a key."""

_LINES: Final[Name] = ((-1, b""), b"")
_DOCUMENT: Final[Name] = ((-2, b""), b"")


class Channels:
    """All channels of a body, from one window to the next."""

    def __init__(self, finder: SecretFinder) -> None:
        self._finder = finder
        self._tails: dict[Name, bytes] = {}
        self._amid = False
        """Whether the event in which the window begins began before it."""

    def edits(
        self, text: bytes, found: Sequence[Leaf], flushed: int, layout: JsonLayout, begun: list[int] | None = None
    ) -> list[Edit]:
        """Edits that overwrite secrets in the leaves of a window, whose first `flushed` bytes will not be passed again.

        `layout` is the body's. `begun` receives the place of each leaf from which on a secret may continue after the
        window.
        """
        open_: dict[Name, Channel] = {}
        for names, events in _groupings(text, found, layout):
            for leaf, name, event in zip(found, names, events, strict=True):
                channel = open_.get(name)
                if channel is None:
                    channel = open_[name] = Channel(self._tails.get(name, b""), 0 if self._amid else -1)
                channel.add(text[leaf.start : leaf.end], leaf.start, event)
        other = open_[_LINES] = Channel(self._tails.get(_LINES, b""))
        for position, line in other_lines(text):
            other.append(line, position, raw=False)
        if flushed < len(text):
            self._keep({name: channel.tail(flushed) for name, channel in open_.items()})
        self._amid = layout is not JsonLayout.LINES or text[flushed - 1 : flushed] != b"\n"
        channels = [*open_.values(), *arrays(text, found)]
        if layout is JsonLayout.DOCUMENT:
            channels += chunks(text, found)
        if begun is not None:
            begun += [place for channel in channels if (place := channel.begun(self._finder)) is not None]
        alone = [edit for channel in channels for edit in channel.alone(self._finder)]
        return alone + [edit for channel in channels for edit in channel.edits(self._finder)]

    def _keep(self, tails: dict[Name, bytes]) -> None:
        for name, tail in tails.items():
            self._tails.pop(name, None)
            self._tails[name] = tail
        for name in list(self._tails)[:-_MOST]:
            del self._tails[name]


def _groupings(
    text: bytes, found: Sequence[Leaf], layout: JsonLayout
) -> Iterator[tuple[Iterable[Name], Sequence[int]]]:
    """Each way to mark which leaves belong together, and the event of each."""
    if layout is not JsonLayout.LINES:
        # Together, but not joined.
        yield [_DOCUMENT] * len(found), [0] * len(found)
    if layout is JsonLayout.DOCUMENT:
        return
    events = lines(text, found) if layout is JsonLayout.LINES else range(1, len(found) + 1)
    for addresses in _addresses(text, found):
        yield zip(addresses, [leaf.key for leaf in found], strict=True), events


def _addresses(text: bytes, found: Sequence[Leaf]) -> Iterator[list[Address]]:
    """The addresses of the events of a stream: by key alone, and by the indexes and ids of their calls."""
    yield [(0, b"")] * len(found)
    addresses = [address.findall(text) for address in _ADDRESSES]
    if not any(map(_interleaved, addresses)):
        if any(mark.search(text) for mark in _PARTED) or any(1 < len(set(values)) <= _PARTS for values in addresses):
            # Where one part ends and the next begins, two words would be one, and hide a key's beginning or end.
            yield from _by_lines(text, found, call_marks(text))
        return
    may_leak = call_marks(text)
    places = [position for position, _ in may_leak]
    values = [b"", *(value for _, value in may_leak), b""]
    after = [bisect_left(places, leaf.start) for leaf in found]
    yield [(1, values[position]) for position in after]
    yield [(2, values[position + 1]) for position in after]
    yield from _by_lines(text, found, may_leak)


def _by_lines(text: bytes, found: Sequence[Leaf], may_leak: Sequence[tuple[int, bytes]]) -> Iterator[list[Address]]:
    """By all fields of an event's call; some servers write the fields of each event in another order."""
    in_lines = list(_of_lines(text, found, may_leak))
    yield [(3, b",".join(values)) for values in in_lines]
    if len(set(in_lines)) > len({tuple(sorted(values)) for values in set(in_lines)}):
        yield [(4, b",".join(sorted(values))) for values in in_lines]


def call_marks(text: bytes) -> list[tuple[int, bytes]]:
    """The indexes and ids of calls, the marks of thoughts and of speakers, with their places."""
    marks = (*_ADDRESSES, *_PARTED)
    return sorted((match.start(), match[1]) for address in marks for match in address.finditer(text))


def index_marks(text: bytes) -> list[tuple[int, bytes]]:
    """The indexes alone."""
    return [(match.start(), match[1]) for match in _ADDRESSES[0].finditer(text)]


def id_marks(text: bytes) -> list[tuple[int, bytes]]:
    """The ids alone."""
    return sorted((match.start(), match[1]) for address in _ADDRESSES[1:] for match in address.finditer(text))


def other_lines(text: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines that are not JSON, with their places."""
    position = _JSON_LINES.match(text).end()  # type: ignore[union-attr]
    while position < len(text):
        line = _LINE.match(text, position)[0]  # type: ignore[index]
        yield position, line
        position = _JSON_LINES.match(text, position + len(line)).end()  # type: ignore[union-attr]


def _interleaved(values: Sequence[bytes]) -> bool:
    """Whether a value recurs after another one; calls in sequence are joined correctly by their keys alone."""
    changes = sum(value != before for before, value in pairwise(values))
    return changes >= len(set(values)) > 1


def _of_lines(text: bytes, found: Sequence[Leaf], may_leak: Sequence[tuple[int, bytes]]) -> Iterator[tuple[bytes, ...]]:
    """All indexes and ids of a leaf's line."""
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
