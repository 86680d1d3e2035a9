"""What the events of a stream have in common, and what differs."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.proxy.capture.forms import Form, outline, values

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_FORMS: Final = 200
"""Events of new forms beyond which those of a window are not alike."""
_MANY: Final = 12
"""Events below which there is nothing to condense."""
_FEW: Final = 64 * 1024
"""Bytes of the last events of a body, which may be less than many."""
_LONG: Final = 16
"""Bytes from which on a piece may be a secret that does not show where it is joined to what stands before it."""
_DEEPEST: Final = 20
"""How often events of one form may stand between those of another, and those of a third between these."""
_SMALLER: Final = 8
"""By how much fewer events are tried together where so many were not alike."""
_MOST: Final = 512
"""Keys and forms of which the end of what they said is remembered."""
_END: Final = 1024
"""Bytes of what a window says that are looked at again with what the next one says."""
_MARK: Final = 24
"""Bytes that tell one place from others in nearly every stream."""


type _Said = bytes | tuple[bytes, Form, int]
"""What is joined: the strings of a key, in all forms, or those of one in a form, the first of its key or another."""


class Condensed(NamedTuple):
    """What holds whatever a window of events says, and is much shorter."""

    forms: list[Form]
    """Those that were not known before."""
    rare: list[bytes]
    """Events that are like no other, or made a form wider."""
    texts: dict[bytes, list[bytes]]
    """The strings that differ, joined, by their keys."""


class Condenser:
    """Sorts the events of a body by their forms, window by window, and gathers what differs."""

    def __init__(self) -> None:
        """No form is known."""
        self._forms: dict[bytes, Form] = {}
        self._ends: dict[_Said, bytes] = {}
        """Of what earlier windows said."""
        self._begin(b"\n")

    def condense(self, window: bytes) -> Condensed | None:
        """The short form of a window; `None` where its events are not alike."""
        border = _border(window)
        if not _has_many(window, border) and (not self._forms or len(window) > _FEW):
            return None
        self._begin(border)
        self._take(window)
        return Condensed([*self._new.values()], [*self._rare], self._texts()) if self._learned <= _FORMS else None

    def _begin(self, border: bytes) -> None:
        if len(self._forms) > _FORMS:
            self._forms.clear()
        self._border = border
        self._new: dict[bytes, Form] = {}
        self._rare: dict[bytes, None] = {}
        self._learned = 0
        self._last: Form | None = None
        self._runs: list[tuple[Form, Sequence[bytes], Sequence[Sequence[bytes]]]] = []
        """Events of one form in a row: the keys of what differs, and that, key by key."""

    def _take(self, text: bytes, depth: int = 0) -> None:
        """Take the events of a text."""
        at = 0
        while at < len(text) and self._learned <= _FORMS:
            end = text.find(self._border, at)
            if end < 0:
                self._take_one(text[at:])
                return
            before = self._last
            self._last = self._take_one(text[at:end])
            at = end + len(self._border)
            if self._last is not None and self._last is before and depth < _DEEPEST:
                text, at = self._take_alike(self._last, text, at, depth), 0

    def _take_one(self, event: bytes) -> Form | None:
        """Take an event; its form, where that was known."""
        known = self._forms.values()
        for form in known if self._last is None else (self._last, *known):
            if (columns := form.match(event)) is not None:
                self._runs.append((form, form.keys, columns))
                return form
        self._learn(event)
        return None

    def _take_alike(self, form: Form, text: bytes, at: int, depth: int) -> bytes:
        """Take the events of a form, many at once, and what stands between them; the rest, which is still to be taken.

        The text is cut where an event of this form follows something that ends like one.
        """
        keys, head, tail = form.keys, form.head, form.tail + self._border
        lines = _split(b"".join((tail, memoryview(text)[at:])), tail, head)
        if len(lines) == 1:
            return text[at:]
        self._take((lines[0] + tail)[len(tail) :], depth + 1)
        last, at, size = lines.pop(), 1, len(lines)
        while at < len(lines) and form.keys is keys:
            if (columns := form.columns(lines[at : at + size])) is not None:
                self._runs.append((form, keys, columns))
                at, size = at + size, size * _SMALLER
            elif size > 1:
                size = max(1, min(size, len(lines) - at) // _SMALLER)
            else:
                self._take(head + lines[at] + tail, depth + 1)
                at += 1
        return head + (tail + head).join([*lines[at:], last])

    def _texts(self) -> dict[bytes, list[bytes]]:
        """What differs, joined key by key, for each text of a form where that is something else; long pieces alone.

        Each is joined to the end of what windows before said.
        """
        keys: defaultdict[bytes, list[bytes]] = defaultdict(list)
        calls: defaultdict[tuple[bytes, Form, int], list[bytes]] = defaultdict(list)
        for form, names, columns in self._runs:
            for at, (key, column) in enumerate(zip(names, columns, strict=True)):
                keys[key] += column
                calls[key, form, names[:at].count(key)] += column
        before = self._ends
        self._ends = {**before} if len(before) < _MOST else {}
        texts = {key: [self._joined(before, key, said)] for key, said in keys.items()}
        for name, said in calls.items():
            key = name[0]
            if len(said) == len(keys[key]) and before.get(name) == before.get(key):
                self._ends[name] = self._ends[key]
            elif (text := self._joined(before, name, said)) not in texts[key][0]:
                texts[key].append(text)
        for key, said in keys.items():
            if max(map(len, said)) >= _LONG:
                texts[key] += dict.fromkeys([text for text in said if len(text) >= _LONG])
        return texts

    def _joined(self, before: Mapping[_Said, bytes], name: _Said, said: Sequence[bytes]) -> bytes:
        text = b"".join((before.get(name, b""), *said))
        self._ends[name] = text[-_END:]
        return text

    def _learn(self, event: bytes) -> None:
        """Know the form of an event, which is new, or wider than was known."""
        self._learned += 1
        found = values(event)
        name = outline(event, found)
        form = self._new[name] = self._forms.setdefault(name, Form(event, found))
        if form.line is not event:
            form.widen(event, found)
            self._rare[event] = None
        strings = [value for value in found if value.text]
        self._runs.append(
            (form, [value.key for value in strings], [[event[value.start : value.end]] for value in strings])
        )


def _split(text: bytes, tail: bytes, head: bytes) -> list[bytes]:
    """A text cut at `tail + head`. Mostly the end of `head` alone tells it, and is found faster."""
    mark = head[-_MARK:]
    before = tail + head[: -len(mark)]
    *parts, last = text.split(mark)
    lines = [part.removesuffix(before) for part in parts]
    if sum(map(len, parts)) - sum(map(len, lines)) < len(before) * len(parts):
        return text.split(tail + head)
    return [*lines, last]


def _border(window: bytes) -> bytes:
    """What stands between two events."""
    if b"\r" in window and b"\r\n\r\n" in window:  # one byte is found many times as fast
        return b"\r\n\r\n"
    return b"\n\n" if b"\n\n" in window else b"\n"


def _has_many(window: bytes, border: bytes) -> bool:
    """Whether a window has so many events that some may be alike. No event behind these is looked for."""
    at = 0
    for _ in range(_MANY - 1):
        at = window.find(border, at) + len(border)
        if at < len(border):
            return False
    return True
