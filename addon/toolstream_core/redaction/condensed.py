"""Events that differ in their texts alone, read as one event: less to search, and the same secrets in it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, chain, repeat, takewhile
from operator import eq
from typing import Final, NamedTuple

from toolstream_core.redaction.channels import REPEATED, call_marks, other_lines
from toolstream_core.redaction.finder import AROUND
from toolstream_core.redaction.strings import Edit, by_segment, leaves

# Bytes that JSON does not have: each stands for a literal between two values.
_MARKS: Final = tuple(b"%c" % byte for byte in range(9))
_TO_FIRST_MARK: Final = bytes.maketrans(b"".join(_MARKS), bytes(len(_MARKS)))
_NUMBER: Final = rb"-?[0-9][0-9.eE+-]*+"
_NUMBERS: Final = re.compile(rb'((?<=":)' + _NUMBER + rb'|(?<=": )' + _NUMBER + rb")")
_NUMBER_KEY: Final = re.compile(rb'"([^"]*+)": ?\Z')
# A string with `\/` or `\u`, which may stand for a character of a key, is searched alone, too.
_TEXT: Final = rb'[^"\\\r\n\x00-\x08]*+(?:\\[^\r\nu/\x00-\x08][^"\\\r\n\x00-\x08]*+)*+'
_FEWEST: Final = 6
"""Similar events from which on they are read as one."""
_WINDOWS: Final = (1 << 12, 1 << 16)
"""Bytes in which the end of a run is looked for."""
_EVENT_ENDS: Final = (b"\n\n", b"\r\n\r\n", b"\n")


class _Template(NamedTuple):
    """What similar events have in common."""

    literals: list[bytes]
    """The bytes before, between and after the values."""
    are_texts: list[bool]
    """Whether each value is a text; else it is a number."""

    def reads(self, part: bytes, other: bytes, is_special: Callable[[bytes], bool]) -> bool:
        """Append a part without texts of two events; return whether it differs in numbers alone."""
        parts, others = _NUMBERS.split(part), _NUMBERS.split(other)
        if parts[::2] != others[::2]:
            return False
        self.literals[-1] += parts[0]
        for number, other_number, after in zip(parts[1::2], others[1::2], parts[2::2], strict=True):
            if number == other_number:
                self.literals[-1] += number + after
                continue
            key = _NUMBER_KEY.search(self.literals[-1])
            if key is None or is_special(key[1]):
                return False
            self.add(after, is_text=False)
        return True

    def add(self, literal: bytes, *, is_text: bool) -> None:
        self.are_texts.append(is_text)
        self.literals.append(literal)

    def values(self, raw: bytes, at: int, end: int) -> list[bytes]:
        """The values of the similar events from `at` on, in one list."""
        first, *inner, last = self.literals
        marks = dict(zip(inner, _MARKS[1:], strict=False))
        values: list[bytes] = []
        for room in _WINDOWS if len(marks) == len(inner) else ():
            events = raw[at : min(at + room, end)].split(last)[:-1]
            similar = [event[len(first) :] for event in takewhile(lambda event: event.startswith(first), events)]
            flat = _MARKS[0].join((*similar, b""))
            for literal in sorted(marks, key=len, reverse=True):
                flat = flat.replace(literal, marks[literal])
            found = _values(tuple(self.are_texts)).match(flat)
            values = found[0].translate(_TO_FIRST_MARK).split(_MARKS[0])[:-1] if found else []
            if len(values) < len(events) * len(self.are_texts):
                break
        return values

    def parts(self, values: Iterable[bytes]) -> list[bytes]:
        parts = [self.literals[0]]
        for value, literal in zip(values, self.literals[1:], strict=True):
            parts += (value, literal)
        return parts


@lru_cache(64)
def _values(are_texts: tuple[bool, ...]) -> re.Pattern[bytes]:
    """Matches the values of similar events, each with the mark of the literal after it."""
    marks = (*_MARKS[1 : len(are_texts)], _MARKS[0])
    values = [(_TEXT if is_text else _NUMBER) + mark for is_text, mark in zip(are_texts, marks, strict=True)]
    return re.compile(rb"(?:" + b"".join(values) + rb")++")


class _Run(NamedTuple):
    """Similar events that are read as one."""

    at: int
    end: int
    """Where they are in the raw text."""
    template: _Template
    columns: Sequence[Sequence[bytes]]
    """For each value, those of all events."""

    def merged(self) -> bytes:
        """The one event: texts are joined, and numbers are those of the first event."""
        pairs = zip(self.columns, self.template.are_texts, strict=True)
        return b"".join(self.template.parts(b"".join(column) if is_text else column[0] for column, is_text in pairs))

    def around_values(self) -> bytes:
        """The events without the middle of long literals."""
        first, *others = (
            literal if len(literal) < 2 * AROUND else literal[:AROUND] + literal[-AROUND:]
            for literal in self.template.literals
        )
        parts: list[Iterable[bytes]] = [repeat(first)]
        for column, literal in zip(self.columns, others, strict=True):
            parts += (column, repeat(literal))
        return b"".join(chain.from_iterable(zip(*parts, strict=False)))

    def segments(self) -> Iterator[tuple[int, Sequence[int]]]:
        """The parts of the one event, in order: the size of each, and its places in the raw text."""
        events = [self.template.parts(values) for values in zip(*self.columns, strict=True)]
        begins = [*accumulate((len(part) for parts in events for part in parts), initial=self.at)]
        count = len(events[0])
        for number, parts in enumerate(zip(*events, strict=True)):
            places = begins[number:-1:count]
            if number % 2 and self.template.are_texts[number // 2]:
                yield from ((len(part), (place,)) for part, place in zip(parts, places, strict=True))
            else:
                yield len(parts[0]), places


class Condensed:
    """A stream of JSON lines in which each run of similar events is one event.

    `Channels` joins the texts of a run anyway. The first and the last event of a run stay as they are: there it is seen
    whether a text is that of the event before.
    """

    def __init__(self, raw: bytes, flushed: int, is_special: Callable[[bytes], bool]) -> None:
        """No run crosses `flushed`; where it is 0, there are none. `is_special`: as `Fields.is_special`."""
        self._raw = raw
        self._is_special = is_special
        self._parts: list[range | _Run] = []
        self._outs: list[int] = []
        self._places: list[Sequence[int]] = []
        texts: list[bytes] = []
        self._flushed = 0
        for begin, end in ((0, flushed), (flushed, len(raw))) if flushed else ():
            self._flushed = sum(map(len, texts))
            for part in self._read(begin, end):
                texts.append(raw[part.start : part.stop] if isinstance(part, range) else part.merged())
                self._parts.append(part)
        self.text = b"".join(texts) if self._parts else raw
        """The stream with one event for each run."""

    def around_values(self) -> bytes:
        """The raw text without bytes that are far from all values of a run, and the same in its first event."""
        parts = (self._raw[p.start : p.stop] if isinstance(p, range) else p.around_values() for p in self._parts)
        return b"".join(parts) if self._parts else self._raw

    def place(self, flushed: int) -> int:
        """Where the bytes that stood at `flushed` stand in `text`."""
        return self._flushed if self._parts else flushed

    def on_raw(self, edits: Iterable[Edit]) -> Iterator[Edit]:
        """Edits of `text` as edits of the raw text: what all events of a run have is edited in each."""
        if not self._parts:
            yield from edits
            return
        for edit in edits:
            if not self._outs:
                self._locate()
            for segment, offset, data in by_segment(self._outs, edit):
                yield from (Edit(place + offset, data) for place in self._places[segment])

    def _locate(self) -> None:
        size = 0
        for part in self._parts:
            for length, places in [(len(part), (part.start,))] if isinstance(part, range) else part.segments():
                self._outs.append(size)
                self._places.append(places)
                size += length
        self._outs.append(size)

    def _read(self, begin: int, end: int) -> Iterator[range | _Run]:
        """The parts. The more attempts fail, the more events are passed over before the next one."""
        raw, at, kept, failures = self._raw, begin, begin, 0
        event_end = next((mark for mark in _EVENT_ENDS if raw.find(mark, begin, end) >= 0), None)
        if event_end is not None and all(raw.find(mark, begin, end) < 0 for mark in _MARKS):
            while (stop := _after(raw, event_end, at, end)) < end:
                template = _template(raw[at:stop], raw[stop : _after(raw, event_end, stop, end)], self._is_special)
                run = _run(raw, at, end, template) if template is not None else None
                if run is not None:
                    yield range(kept, run.at)
                    yield run
                    at = kept = run.end
                    failures = 0
                else:
                    failures += 1
                    for _ in range(failures):
                        at = _after(raw, event_end, at, end)
        yield range(kept, end)


def _after(raw: bytes, event_end: bytes, at: int, end: int) -> int:
    """Where the event ends that begins at `at`."""
    found = raw.find(event_end, at, end)
    return found + len(event_end) if found >= 0 else end


def _template(first: bytes, second: bytes, is_special: Callable[[bytes], bool]) -> _Template | None:
    """What two events have in common, if they differ in texts and numbers alone."""
    one, two = [*leaves(first)], [*leaves(second)]
    keys = [leaf.key for leaf in one]
    if keys != [leaf.key for leaf in two] or len({*keys}) < len(keys) or any(map(is_special, keys)):
        return None
    template = _Template([b""], [])
    at = other_at = 0
    for leaf, other in zip(one, two, strict=True):
        text = first[leaf.start : leaf.end]
        if len(text) >= REPEATED and text == second[other.start : other.end]:
            continue
        if first[leaf.end : leaf.end + 1] != b'"' or not template.reads(
            first[at : leaf.start], second[other_at : other.start], is_special
        ):
            return None
        template.add(b"", is_text=True)
        at, other_at = leaf.end, other.end
    alike = template.reads(first[at:], second[other_at:], is_special) and not any(other_lines(first))
    return template if alike and template.are_texts else None


def _run(raw: bytes, at: int, end: int, template: _Template) -> _Run | None:
    """The events after the first and before the last of the similar ones, if they can be read as one."""
    values, count = template.values(raw, at, end), len(template.are_texts)
    if len(values) < _FEWEST * count:
        return None
    first = b"".join(template.parts(values[:count]))
    columns = [values[number::count] for number in range(count)]
    texts = [column for column, is_text in zip(columns, template.are_texts, strict=True) if is_text]
    if any(map(_repeats, texts)):
        return None
    within = values[count:-count]
    size = (len(columns[0]) - 2) * sum(map(len, template.literals)) + sum(map(len, within))
    run = _Run(at + len(first), at + len(first) + size, template, [column[1:-1] for column in columns])
    calls = [[value for _, value in call_marks(event)] for event in (first, run.merged())]
    return run if calls[0] == calls[1] else None


def _repeats(texts: Sequence[bytes]) -> bool:
    """Whether a long text comes again in the next event, which `Channel.add` then leaves out."""
    if sum(map(len, texts)) < REPEATED:
        return False
    merged = b"".join(texts[1:-1])
    return merged in {texts[0], texts[-1]} or (max(map(len, texts)) >= REPEATED and any(map(eq, texts, texts[1:])))
