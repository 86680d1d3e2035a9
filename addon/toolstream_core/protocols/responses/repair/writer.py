"""Overlays the events of calls with intended fields, and reports each difference as a defect."""

from __future__ import annotations

from collections.abc import Callable

from toolstream_core.calls import nonblank
from toolstream_core.calls.arguments import read
from toolstream_core.calls.json_text import is_object, same_arguments
from toolstream_core.defects.arguments import (
    EMPTY_ARGUMENTS,
    OBJECT_ARGUMENTS,
    PREFILLED_ARGUMENTS,
    SHORT_CLOSING,
)
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.identity import (
    CHANGING_CALL_ID,
    CHANGING_INDEX,
    DECORATED_NAME,
    DUPLICATE_ID,
    EMPTY_NAME,
    ITEM_PER_FRAGMENT,
    LATE_NAME,
    MISSING_ID,
    MISSING_INDEX,
    MISSING_NAMESPACE,
    REUSED_INDEX,
    ROTATING_ITEM_ID,
)
from toolstream_core.model import ABSENT, Kind
from toolstream_core.protocols.responses.repair.events import ADDED, CLOSED
from toolstream_core.protocols.responses.repair.intended import CallEvent, IntendedCall
from toolstream_core.protocols.responses.repair.stream import Stream
from toolstream_core.repair.fields import TOP, Deviation, Paths, overlaid
from toolstream_core.wire import json_access
from toolstream_core.wire.json_value import Payload


class ItemWriter:
    """Sends the events of calls."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self._namers: dict[str, Callable[[Deviation, str, IntendedCall], Defect | None]] = {
            "output_index": self._index,
            "item_id": self._item_id,
            "id": self._item_id,
            "call_id": self._call_id,
            "name": self._name,
            "namespace": self._namespace,
            "delta": self._delta,
            "arguments": self._arguments,
        }
        """Functions that return the defect of a deviating field; `None` for an unknown deviation."""

    def send(self, received: CallEvent, wanted: Payload) -> None:
        """Send an event with these fields."""
        self._stream.send_for(received, self.written(received, wanted))

    def written(self, received: CallEvent, wanted: Payload, paths: Paths = TOP) -> Payload:
        """The event with these fields. Events with arguments may lack the call's name and its known id."""
        optional = {"name", "call_id"} if nonblank(received.intended.call.id) else {"name"}
        left_out = {"type"} if paths is not TOP else {"type", *(optional - received.payload.keys())}
        wanted = {key: value for key, value in wanted.items() if key not in left_out}
        return overlaid(
            received.payload, wanted, lambda one: self.repairs_field(one, received.kind, received.intended), paths
        )

    def repairs_field(self, deviation: Deviation, kind: str, intended: IntendedCall) -> bool:
        defect = self._namers[deviation.field](deviation, kind, intended)
        repairs = defect is not None and self._stream.repairs(defect, intended)
        if repairs and deviation.field == "call_id":
            self._note_own_id(intended)
        return repairs

    def _note_own_id(self, intended: IntendedCall) -> None:
        """Map a generated id to the provider's own id, unless another call has that."""
        sent, own, ids = intended.sent, intended.call.id, self._stream.context.ids
        others = (one for one in self._stream.calls.by_key.values() if one is not intended)
        taken = any(own in (one.call.id, one.sent.call_id if one.sent is not None else "") for one in others)
        if sent is not None and ids.is_generated(sent.call_id) and not taken:
            ids.map_to(sent.call_id, own, sent.name)

    def forward(self, received: CallEvent) -> None:
        """Forward an event whose intended fields are unknown."""
        self._stream.send_for(received, received.payload)

    # -- the defect of a field

    def _index(self, deviation: Deviation, kind: str, intended: IntendedCall) -> Defect | None:
        if not isinstance(json_access.integer(deviation.received), int):
            return MISSING_INDEX
        if intended.sent is not None and (why := intended.sent.why.get("output_index")):
            return why
        if intended.is_split:
            return ITEM_PER_FRAGMENT
        is_taken = deviation.received in self._stream.client.calls_by_place
        if kind == CLOSED:
            return REUSED_INDEX if is_taken else None
        return None if is_taken else CHANGING_INDEX

    def _item_id(self, deviation: Deviation, kind: str, intended: IntendedCall) -> Defect | None:
        return ITEM_PER_FRAGMENT if intended.is_split else ROTATING_ITEM_ID

    def _call_id(self, deviation: Deviation, kind: str, intended: IntendedCall) -> Defect | None:
        given = intended.call.id
        if kind == ADDED:
            return DUPLICATE_ID if isinstance(deviation.received, str) and nonblank(deviation.received) else MISSING_ID
        if deviation.received == given and intended.sent is not None:
            return intended.sent.why.get("call_id")
        blank = not (isinstance(deviation.received, str) and nonblank(deviation.received))
        return MISSING_ID if blank and not nonblank(given) else CHANGING_CALL_ID

    def _name(self, deviation: Deviation, kind: str, intended: IntendedCall) -> Defect | None:
        if not (isinstance(deviation.received, str) and nonblank(deviation.received)):
            return LATE_NAME if kind == ADDED else EMPTY_NAME
        if deviation.received != intended.call.name:
            return None
        return DECORATED_NAME if intended.sent is None else intended.sent.why.get("name", DECORATED_NAME)

    def _namespace(self, deviation: Deviation, kind: str, intended: IntendedCall) -> Defect | None:
        return MISSING_NAMESPACE if deviation.received in ("", None, ABSENT) or deviation.intended is ABSENT else None

    def _delta(self, deviation: Deviation, kind: str, intended: IntendedCall) -> Defect | None:
        if not isinstance(deviation.received, str):
            return OBJECT_ARGUMENTS
        prefilled = intended.sent.why.get("arguments") if intended.sent is not None else None
        return intended.defect or prefilled

    def _arguments(self, deviation: Deviation, kind: str, intended: IntendedCall) -> Defect | None:
        """The defect of complete arguments."""
        received, text = deviation.received, deviation.intended
        assert isinstance(text, str)
        if kind == ADDED:
            return (
                PREFILLED_ARGUMENTS if received not in ("", None, ABSENT) and isinstance(received, str | dict) else None
            )
        custom = intended.call.kind is Kind.CUSTOM
        if received is ABSENT or received is None:
            return SHORT_CLOSING if custom or is_object(text) else None
        if not isinstance(received, str):
            return OBJECT_ARGUMENTS
        if custom:
            return None if received else SHORT_CLOSING
        if intended.is_split and text.endswith(received):
            return ITEM_PER_FRAGMENT
        if not received and intended.call.arguments.empty:
            return EMPTY_ARGUMENTS if text == "{}" else None
        reading = read(intended.call.arguments.beside(received), final=True)
        if reading.defect is not None and reading.text != received and same_arguments(reading.text, text):
            return reading.defect
        return SHORT_CLOSING if is_object(text) and not is_object(received) else None
