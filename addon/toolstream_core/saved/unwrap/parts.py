"""Which response of a text an event belongs to: responses follow each other, and their order may be wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from toolstream_core.engine.session import read_body
from toolstream_core.model import ABSENT, Json, StreamFacts
from toolstream_core.protocols.protocol import WireProtocol
from toolstream_core.saved.exchange import UnreadableError
from toolstream_core.saved.unwrap.events import Found
from toolstream_core.saved.unwrap.lines import encoded
from toolstream_core.wire.frame import CONTENT_TYPES, Form

_SETTLED: Final = 2
"""The number of events with the same id after which another id means another response."""


class AfterEnd:
    """Recognises the event after the end of a response that begins another one.

    Other events after the end belong to the response that is over.
    """

    def __init__(self) -> None:
        self.dialect: WireProtocol | None = None
        """The protocol of the response, once an event shows it."""
        self._id: Json = ABSENT
        self._first: Found | None = None
        """The first event of the response."""
        self.finished = False
        """Whether the response has ended or has a finish reason."""
        self._over = False
        """Whether it has ended: then an event with another id begins another one."""

    def __call__(self, found: Found) -> bool:
        """Whether the event begins another response. Takes the events in order."""
        again = self.finished and self._first is not None and found.data == self._first.data
        begins = found.dialect is not None and (again or (self._over and self._is_first(found)))
        if begins:
            self.begin()
        self._first = self._first or found
        self.dialect = self.dialect or found.dialect
        self._id = found.response if self._id is ABSENT else self._id
        self.finished = self.finished or found.ends
        at_finish = found.dialect is not None and found.dialect.ends_with_finish and found.ends
        self._over = self._over or at_finish or (found.content is not None and found.content.end)
        return begins

    def begin(self) -> None:
        self.dialect, self._id, self._first = None, ABSENT, None
        self.finished = self._over = False

    def _is_first(self, found: Found) -> bool:
        """Whether an event after the end begins a response: a provider may also send events too late."""
        if found.dialect is not self.dialect:
            return True
        if self._first is not None and self._first.starts:
            return found.starts
        if found.response is ABSENT:
            return self._id is ABSENT and found.has_content
        return found.response != self._id and found.has_parts


class Parts:
    """Counts responses that follow one another."""

    def __init__(self) -> None:
        self._number = 0
        self._stream = 0
        self._after_end = AfterEnd()
        self._id: Json = ABSENT
        self._seen = 0
        """Events that name no other response since the id changed."""
        self._block = 0
        self._opened: set[Json] = set()
        """The indexes of the calls that parts of chunks opened."""

    def __call__(self, found: Found) -> int:
        """The number of the response that an event belongs to."""
        other = found.dialect is not None and self._is_other(found)
        if other or found.is_complete or found.stream != self._stream:
            self._after_end.begin()
            self._number += 1
        self._number += self._after_end(found)
        self._stream = found.stream
        return self._number

    def _is_other(self, found: Found) -> bool:
        """Whether an event begins another response.

        A provider may give each event a separate id, and the id of the usage often differs.
        """
        name = found.response
        if found.is_part:
            return self._opens_again(found)
        if name in (ABSENT, self._id):
            self._seen += 1
            return False
        other = self._id is not ABSENT and (
            found.block != self._block
            or (self._after_end.finished and found.has_content)
            or (self._seen >= _SETTLED and not found.ends and found.has_parts)
        )
        self._id, self._seen, self._block = name, 1, found.block
        return other

    def _opens_again(self, found: Found) -> bool:
        """Whether a part of a chunk, in a separate fence, opens a call at an index that has one."""
        fragments = found.content.fragments if found.content is not None else ()
        opened = {one.index for one in fragments if one.name}
        again = found.block != self._block and not opened.isdisjoint(self._opened)
        self._block = found.block
        self._opened = opened if again else self._opened | opened
        return again


def check_order(events: Sequence[Found]) -> None:
    """Raise `UnreadableError` if the events of several responses are mixed, or in reverse order."""
    runs = [key for key, _ in groupby(_keys(events))]
    mixed = [key for key in dict.fromkeys(runs) if runs.count(key) > 1]
    ends = [place for place, one in enumerate(events) if one.content is not None and one.content.end]
    begun = {one.response for one in events[: ends[0] if ends else 0]} - {ABSENT}
    if len(mixed) > 1 or (len(ends) > 1 and len(begun) > 1):
        raise UnreadableError(
            "holds the events of several responses mixed with each other. Keep the lines of one of them"
        )
    if _is_reversed([one for one in events if one.dialect is not None]):
        raise UnreadableError("holds the events in reverse order. Sort the lines by time, for example with `tac FILE`")


def _is_reversed(order: Sequence[Found]) -> bool:
    """Whether a response ends in the first half, and begins at the end or has fewer findings from there."""
    ended = [place for place, one in enumerate(order) if one.ends]
    if not ended or ended[-1] >= len(order) // 2:
        return False
    if order[0].starts or any(one.has_content for one in order[: ended[0]]):
        return False
    if order[-1].starts:
        return not any(one.starts for one in order[: ended[-1]])
    return _findings(order[::-1]) < _findings(order)


def _keys(events: Sequence[Found]) -> Iterator[tuple[str, Json]]:
    """The protocol of each event and its response, as far as they are known."""
    names: dict[str, Json] = {}
    for one in events:
        if one.dialect is not None:
            if one.response is not ABSENT:
                names[one.dialect.name] = one.response
            yield one.dialect.name, names.get(one.dialect.name, ABSENT)


def _findings(events: Sequence[Found]) -> int:
    """The number of findings of events as one response, without its end."""
    body = "".join(f"data: {one.data}\n\n" for one in events if one.content is not None and not one.content.end)
    record = read_body([encoded(body)], StreamFacts(content_type=CONTENT_TYPES[Form.EVENTS]))
    return len(record.findings) if record is not None else 0
