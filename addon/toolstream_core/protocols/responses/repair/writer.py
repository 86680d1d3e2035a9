"""Events of one call, laid over as they came, or sent on unchanged; each difference is reported under its name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.calls import nonblank
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.identity import ITEM_PER_FRAGMENT
from toolstream_core.defects.row import WARNING
from toolstream_core.protocols.responses.repair.event_types import ADDED
from toolstream_core.protocols.responses.repair.rows import MESSAGES, of_field
from toolstream_core.repair.fields import TOP, laid_over
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls.arguments import ArgumentText
    from toolstream_core.defects.row import Row
    from toolstream_core.protocols.responses.repair.answer import Answer
    from toolstream_core.protocols.responses.repair.truth import Meant
    from toolstream_core.repair.fields import Deviation, Paths, Payload
    from toolstream_core.wire.frame import Frame

_LATER: Final = frozenset({"late-name", "placeholder-arguments", "cumulative-arguments", "item-per-fragment"})
"""Differences that only a later event shows."""


class Came(NamedTuple):
    """An event of a call, and how far the call was then."""

    frame: Frame
    payload: Payload
    kind: str
    meant: Meant
    own: str
    """The id of its item."""
    piece: str
    """The arguments that it brings, as text."""
    letter: ArgumentText
    """What the pieces of the call mean, as far as they came by then; `size` characters, of which it brought `more`."""
    size: int
    more: int

    @property
    def has_place(self) -> bool:
        """Whether it has an `output_index`."""
        return isinstance(json_access.integer(self.payload.get("output_index")), int)

    @property
    def passes(self) -> bool:
        """Whether it goes as it came: nobody can say whose it is, and it begins no item."""
        return self.meant.passes and not (self.kind == ADDED and self.meant.has is None)


class ItemWriter:
    """Sends the events of calls."""

    def __init__(self, answer: Answer) -> None:
        """For one stream."""
        self._answer = answer

    def told(self, row: Row, meant: Meant, message: str = "") -> bool:
        severity = WARNING if row.name == "empty-name" else None
        message = message or MESSAGES.get(row.name, row.meaning)
        return self._answer.report(row, message, meant.call, severity=severity, now=row.name in _LATER)

    def mended(self, came: Came, wanted: Payload, paths: Paths = TOP) -> Payload:
        wanted = {key: value for key, value in wanted.items() if key != "type"}
        if paths is TOP and "call_id" in wanted and "call_id" not in came.payload and nonblank(came.meant.call.id):
            del wanted["call_id"]
        return laid_over(came.payload, wanted, lambda one: self.mends(one, came.kind, came.meant), paths)

    def mends(self, one: Deviation, kind: str, meant: Meant) -> bool:
        if one.field == "arguments" and kind != ADDED and _says_the_same(one, meant):
            return False
        row = of_field(one, kind, meant, self._answer.client)
        mends = row is not None and self.told(row, meant)
        if mends and one.field == "call_id":
            self._note_own_id(meant)
        return mends

    def _note_own_id(self, meant: Meant) -> None:
        """The provider has an id of its own for a call for which one was made up, unless another call has that."""
        has, own, made = meant.has, meant.call.id, self._answer.context.ids
        others = (one for one in self._answer.truth.calls.values() if one is not meant)
        taken = any(own in (one.call.id, one.has.call_id if one.has is not None else "") for one in others)
        if has is not None and made.made(has.call_id) and not taken:
            made.stands_for(has.call_id, own, has.name)

    def as_it_came(self, came: Came) -> None:
        """Nobody can say what is meant; but it does not go to another item than the provider means."""
        answer, meant, payload = self._answer, came.meant, came.payload
        if (start := meant.dropped.pop(came.own, None)) is not None:
            answer.because(ITEM_PER_FRAGMENT)
            answer.put(self._elsewhere(start, meant) | {"type": ADDED})
        answer.send(came.frame, self._elsewhere(payload, meant))

    def _elsewhere(self, payload: Payload, meant: Meant) -> Payload:
        client, place = self._answer.client, payload.get("output_index")
        own = meant.has is not None and meant.has.place == place and meant.call.index == place
        if not isinstance(place, int) or own or place not in client.moved:
            return payload
        self._answer.because(client.moved[place])
        return {**payload, "output_index": client.instead_of(place)}


def _says_the_same(one: Deviation, meant: Meant) -> bool:
    """Whether the arguments of an event mean what is intended, however they are written."""
    if not isinstance(one.came, str):
        return False
    return same_arguments(one.came, str(one.meant)) or (not one.came.strip() and meant.call.arguments.empty)
