"""Writes the intended fields over the events of a call, or forwards them; reports each difference as a defect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_equality import same_arguments
from toolstream_core.defects.identity import ITEM_PER_FRAGMENT
from toolstream_core.defects.row import WARNING
from toolstream_core.protocols.responses.repair.events import ADDED
from toolstream_core.protocols.responses.repair.naming import MESSAGES, of_field
from toolstream_core.repair.fields import TOP, laid_over

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row
    from toolstream_core.protocols.responses.repair.intended import CallEvent, IntendedCall
    from toolstream_core.protocols.responses.repair.stream import Stream
    from toolstream_core.repair.fields import Deviation, Paths, Payload

_LATER: Final = frozenset({"late-name", "placeholder-arguments", "cumulative-arguments", "item-per-fragment"})
"""Defects that only a later event reveals."""


class ItemWriter:
    """Sends the events of calls."""

    def __init__(self, stream: Stream) -> None:
        """For one stream."""
        self._stream = stream

    def repairs(self, row: Row, intended: IntendedCall, message: str = "") -> bool:
        severity = WARNING if row.name == "empty-name" else None
        message = message or MESSAGES.get(row.name, row.meaning)
        return self._stream.report(row, message, intended.call, severity=severity, now=row.name in _LATER)

    def written(self, came: CallEvent, wanted: Payload, paths: Paths = TOP) -> Payload:
        wanted = {key: value for key, value in wanted.items() if key != "type"}
        if paths is TOP and "call_id" in wanted and "call_id" not in came.payload and nonblank(came.intended.call.id):
            del wanted["call_id"]
        return laid_over(came.payload, wanted, lambda one: self.repairs_field(one, came.kind, came.intended), paths)

    def repairs_field(self, one: Deviation, kind: str, intended: IntendedCall) -> bool:
        if one.field == "arguments" and kind != ADDED and _says_the_same(one, intended):
            return False
        row = of_field(one, kind, intended, self._stream.client)
        repairs = row is not None and self.repairs(row, intended)
        if repairs and one.field == "call_id":
            self._note_own_id(intended)
        return repairs

    def _note_own_id(self, intended: IntendedCall) -> None:
        """Map a made-up id to the provider's own id, unless another call has that."""
        has, own, made = intended.has, intended.call.id, self._stream.context.ids
        others = (one for one in self._stream.calls.by_key.values() if one is not intended)
        taken = any(own in (one.call.id, one.has.call_id if one.has is not None else "") for one in others)
        if has is not None and made.made(has.call_id) and not taken:
            made.stands_for(has.call_id, own, has.name)

    def forward(self, came: CallEvent) -> None:
        """Forward an event whose intention is unknown, but never to another item than the provider's."""
        stream, intended, payload = self._stream, came.intended, came.payload
        if (start := intended.dropped.pop(came.own, None)) is not None:
            stream.because(ITEM_PER_FRAGMENT)
            stream.put(self._at_free_place(start, intended) | {"type": ADDED}, intended.call)
        stream.send_for(came, self._at_free_place(payload, intended))

    def _at_free_place(self, payload: Payload, intended: IntendedCall) -> Payload:
        client, place = self._stream.client, payload.get("output_index")
        own = intended.has is not None and intended.has.place == place and intended.call.index == place
        if not isinstance(place, int) or own or place not in client.moved:
            return payload
        self._stream.because(client.moved[place])
        return {**payload, "output_index": client.instead_of(place)}


def _says_the_same(one: Deviation, intended: IntendedCall) -> bool:
    """Whether the arguments of an event equal the intended ones as JSON."""
    if not isinstance(one.came, str):
        return False
    return same_arguments(one.came, str(one.meant)) or (not one.came.strip() and intended.call.arguments.empty)
