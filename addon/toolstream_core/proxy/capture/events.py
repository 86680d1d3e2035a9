"""What the events of a stream have in common, and what differs. Knows JSON's strings and numbers."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

_STRING: Final = rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+'
_NUMBER: Final = rb"-?[0-9][0-9.eE+-]*+"
_A_STRING: Final = re.compile(_STRING)
_A_NUMBER: Final = re.compile(_NUMBER)
_VALUE: Final = re.compile(rb'"(' + _STRING + rb')"\s*+:\s*+(?:"(' + _STRING + rb')"|(' + _NUMBER + rb"))")
_ADDRESS: Final = re.compile(rb"\w*index|item_id|call_id|tool_call_id|toolUseId|id")
"""Keys that say which call a line is of: lines of several calls are of several forms."""
_DELTAS: Final = frozenset(
    (b"content", b"text", b"arguments", b"partial_json", b"delta", b"thinking", b"reasoning", b"reasoning_content")
)
"""Keys whose values differ, though those of two lines may be equal."""


_FORMS: Final = 200
"""Events of new forms beyond which those of a window are not alike."""
_MANY: Final = 12
"""Events below which there is nothing to condense."""
_LONG: Final = 16
"""Bytes from which on a piece may be a secret that does not show where it is joined to what stands before it."""
_CANARY: Final = b"Zq8vT1xYw3Lk9RmPa7Bd"
"""Looks like a key, and is one only where what stands around it says so."""


class Value(NamedTuple):
    """A string or a number that is the value of a key."""

    key: bytes
    start: int
    end: int
    text: bool


def values(line: bytes) -> list[Value]:
    """Those of a line, in order."""
    found: list[Value] = []
    for match in _VALUE.finditer(line):
        group = 2 if match[3] is None else 3
        found.append(Value(match[1], *match.span(group), group == 2))  # noqa: PLR2004 - the group of strings
    return found


class Form:
    """Lines that are alike but for some values."""

    def __init__(self, line: bytes, found: Sequence[Value]) -> None:
        """The first line."""
        self.line = line
        self.found = found
        self.keys: list[bytes] = []
        """Of the values that differ, in order."""
        self._head = b""
        """What stands before the first of them."""
        self._parts: list[tuple[bytes, int, Callable[[bytes, int, int], re.Match[bytes] | None]]] = []
        """What stands behind each, how long that is, and what the value has to be."""
        self._differ: set[int] = set()

    def widen(self, line: bytes, found: Sequence[Value]) -> None:
        """Let the form fit another line, which differs in values alone."""
        for at, (mine, other) in enumerate(zip(self.found, found, strict=True)):
            if self.line[mine.start : mine.end] != line[other.start : other.end] or mine.key in _DELTAS:
                self._differ.add(at)
        differ = [self.found[number] for number in sorted(self._differ)]
        self.keys = [value.key for value in differ]
        ends = [*(value.start for value in differ[1:]), len(self.line)]
        behind = [self.line[value.end : end] for value, end in zip(differ, ends, strict=False)]
        self._head = self.line[: differ[0].start] if differ else self.line
        self._parts = [
            (fixed, len(fixed), (_A_STRING if value.text else _A_NUMBER).fullmatch)
            for value, fixed in zip(differ, behind, strict=True)
        ]

    def match(self, line: bytes) -> list[bytes] | None:
        """The values that differ, of a line of this form."""
        if not self._parts or not line.startswith(self._head):
            return None
        said: list[bytes] = []
        at = len(self._head)
        for fixed, size, is_value in self._parts:
            end = line.find(fixed, at)
            if end < 0 or is_value(line, at, end) is None:
                return None
            said.append(line[at:end])
            at = end + size
        return said if at == len(line) else None

    def with_texts(self, text: bytes) -> bytes:
        """The first line with `text` wherever a string differs."""
        parts, at = [], 0
        for value in (self.found[number] for number in sorted(self._differ)):
            if value.text:
                parts += [self.line[at : value.start], text]
                at = value.end
        return b"".join([*parts, self.line[at:]])


def outline(line: bytes, found: Iterable[Value]) -> bytes:
    """A line without the values that may differ: equal for lines of one form."""
    parts, at = [], 0
    for value in found:
        if _ADDRESS.fullmatch(value.key) is None:
            parts.append(line[at : value.start])
            at = value.end
    return b"\0".join([*parts, line[at:]])


class Condensed(NamedTuple):
    """What holds whatever a window of events says, and is much shorter."""

    events: bytes
    """One of each form, and what is like no other."""
    texts: list[tuple[bytes, bytes]]
    """The strings that differ, joined, each with its key."""


def condensed(window: bytes) -> Condensed | None:
    """The short form of a window; `None` where its events are not alike."""
    events = window.split(_border(window))
    if len(events) < _MANY:
        return None
    condenser = _Condenser()
    return Condensed(condenser.events(), list(condenser.texts())) if condenser.take(events) else None


def _border(window: bytes) -> bytes:
    """What stands between two events."""
    return next((border for border in (b"\r\n\r\n", b"\n\n") if border in window), b"\n")


class _Condenser:
    """Sorts events by their forms, and gathers what differs."""

    def __init__(self) -> None:
        self._forms: dict[bytes, Form] = {}
        self._rare: dict[bytes, None] = {}
        self._learned = 0
        self._runs: list[tuple[Form, Sequence[bytes], list[Sequence[bytes]]]] = []
        """Events of one form in a row: the keys of what differs, and that, event by event."""

    def take(self, events: Iterable[bytes]) -> bool:
        """Take all events; `False` where they are not alike."""
        match: Callable[[bytes], Sequence[bytes] | None] = _nothing
        rows: list[Sequence[bytes]] = []
        for event in events:
            if (found := match(event)) is not None:
                rows.append(found)
                continue
            form = next((one for one in self._forms.values() if one.match(event) is not None), None)
            if form is None:
                form, rows = self._learn(event), []
            else:
                rows = [form.match(event) or ()]
            match = form.match
            self._runs.append((form, form.keys, rows))
            if self._learned > _FORMS:
                return False
        return True

    def events(self) -> bytes:
        """One event of each form, as it came and with what might be a secret, and those that made a form wider."""
        forms = [one for form in self._forms.values() for one in (form.line, form.with_texts(_CANARY))]
        return b"\n\n".join([*forms, *self._rare])

    def texts(self) -> Iterator[tuple[bytes, bytes]]:
        """What differs, joined key by key, for each form where that is something else; long pieces by themselves."""
        keys: defaultdict[bytes, list[bytes]] = defaultdict(list)
        calls: defaultdict[tuple[int, bytes], list[bytes]] = defaultdict(list)
        for form, names, rows in self._runs:
            for key, column in zip(names, zip(*rows, strict=True), strict=False):
                keys[key] += column
                calls[id(form), key] += column
        whole = {key: b"".join(said) for key, said in keys.items()}
        yield from whole.items()
        for (_, key), said in calls.items():
            if (text := b"".join(said)) not in whole[key]:
                yield key, text
        for key, said in keys.items():
            yield from ((key, text) for text in said if len(text) >= _LONG)

    def _learn(self, event: bytes) -> Form:
        """The form of an event, which is new, or wider than was known."""
        self._learned += 1
        found = values(event)
        form = self._forms.setdefault(outline(event, found), Form(event, found))
        if form.line is not event:
            form.widen(event, found)
            self._rare[event] = None
        strings = [value for value in found if value.text]
        self._runs.append(
            (form, [value.key for value in strings], [tuple(event[value.start : value.end] for value in strings)])
        )
        return form


def _nothing(event: bytes) -> None:
    """No form is known."""
