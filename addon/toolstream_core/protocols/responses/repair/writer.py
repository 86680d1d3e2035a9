"""Writes the intended fields over the events of a call, or forwards them; reports each difference as a defect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_equality import same_arguments
from toolstream_core.calls.json_text import is_object
from toolstream_core.defects.arguments import (
    MISSING_DELTAS,
    OBJECT_ARGUMENTS,
    PREFILLED_ARGUMENTS,
    SHORT_CLOSING,
    SHORT_DELTAS,
)
from toolstream_core.defects.defect import WARNING
from toolstream_core.defects.identity import (
    CHANGING_CALL_ID,
    DECORATED_NAME,
    DUPLICATE_ID,
    EMPTY_NAME,
    ITEM_PER_FRAGMENT,
    LATE_NAME,
    MISSING_ID,
    MISSING_INDEX,
    REUSED_INDEX,
    ROTATING_ITEM_ID,
)
from toolstream_core.model import ABSENT
from toolstream_core.protocols.responses.repair.events import ADDED, CLOSED
from toolstream_core.repair.fields import TOP, laid_over
from toolstream_core.repair.reading import read_text
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.defects.defect import Defect
    from toolstream_core.protocols.responses.repair.client import Client
    from toolstream_core.protocols.responses.repair.intended import CallEvent, IntendedCall
    from toolstream_core.protocols.responses.repair.stream import Stream
    from toolstream_core.repair.fields import Deviation, Paths, Payload


type Namer = Callable[[Deviation, str, IntendedCall, Client], Defect | None]


def of_field(deviation: Deviation, kind: str, intended: IntendedCall, client: Client) -> Defect | None:
    """The defect of a field that deviates; `None` if the deviation is not one that is known."""
    return _FIELDS[deviation.field](deviation, kind, intended, client)


def _index(deviation: Deviation, kind: str, intended: IntendedCall, client: Client) -> Defect | None:
    if not isinstance(json_access.integer(deviation.received), int):
        return MISSING_INDEX
    if intended.has is not None and (why := intended.has.why.get("output_index")):
        return why
    if intended.is_split:
        return ITEM_PER_FRAGMENT
    anothers = isinstance(deviation.received, int) and deviation.received in client.taken
    return REUSED_INDEX if kind == CLOSED and anothers else None


def _item_id(deviation: Deviation, kind: str, intended: IntendedCall, client: Client) -> Defect | None:
    del deviation, client, kind
    return ITEM_PER_FRAGMENT if intended.is_split else ROTATING_ITEM_ID


def _call_id(deviation: Deviation, kind: str, intended: IntendedCall, client: Client) -> Defect | None:
    del client
    given = intended.call.id
    if kind == ADDED:
        return DUPLICATE_ID if isinstance(deviation.received, str) and nonblank(deviation.received) else MISSING_ID
    if deviation.received == given and intended.has is not None:
        return intended.has.why.get("call_id")
    blank = not (isinstance(deviation.received, str) and nonblank(deviation.received))
    return MISSING_ID if blank and not nonblank(given) else CHANGING_CALL_ID


def _name(deviation: Deviation, kind: str, intended: IntendedCall, client: Client) -> Defect | None:
    del client
    if not (isinstance(deviation.received, str) and nonblank(deviation.received)):
        return LATE_NAME if kind == ADDED else EMPTY_NAME
    return DECORATED_NAME if deviation.received == intended.call.name else None


def _delta(deviation: Deviation, kind: str, intended: IntendedCall, client: Client) -> Defect | None:
    del kind, client
    if not isinstance(deviation.received, str):
        return OBJECT_ARGUMENTS
    prefilled = intended.has.why.get("arguments") if intended.has is not None else None
    return intended.defect or prefilled


def _arguments(deviation: Deviation, kind: str, intended: IntendedCall, client: Client) -> Defect | None:
    """In an event with the complete arguments."""
    del client
    received, text = deviation.received, deviation.intended
    assert isinstance(text, str)
    if kind == ADDED:
        return PREFILLED_ARGUMENTS if received not in ("", None, ABSENT) and isinstance(received, str | dict) else None
    if received is ABSENT or received is None:
        return SHORT_CLOSING if is_object(text) else None
    if not isinstance(received, str):
        return OBJECT_ARGUMENTS
    if intended.is_split and text.endswith(received):
        return ITEM_PER_FRAGMENT
    meaning = read_text(received, over=True)
    if meaning.defect is not None and meaning.text != received and same_arguments(meaning.text, text):
        return meaning.defect
    return SHORT_CLOSING if is_object(text) and not is_object(received) else None


_FIELDS: Final[dict[str, Namer]] = {
    "output_index": _index,
    "item_id": _item_id,
    "id": _item_id,
    "call_id": _call_id,
    "name": _name,
    "delta": _delta,
    "arguments": _arguments,
}


def of_missing(intended: IntendedCall) -> Defect:
    """The defect of deltas that lack a part of the complete arguments."""
    assert intended.has is not None
    return SHORT_DELTAS if intended.has.text.size else MISSING_DELTAS


MESSAGES: Final = {
    "missing-index": "an event of the item has no output_index",
    "reused-index": "another item has this output_index",
    "rotating-item-id": "the event has another item id, or none",
    "missing-id": "the item has no call_id",
    "duplicate-id": "another call has this call_id",
    "changing-call-id": "the call_id differs from the one before",
    "late-name": "the name comes later than the event that adds the item",
    "empty-name": "the item that closes the call has no name",
    "decorated-name": "the name contains a tool's name and other characters",
    "item-per-fragment": "a fragment of the call comes in its own item",
    "doubled-call": "the call repeats an earlier one",
    "repeated-start": "the item is added again",
    "repeated-stop": "the item is closed again",
    "missing-start": "the item was not added before",
    "unstreamed-calls": "the call comes in the completed response only",
    "unclosed-call": "no output_item.done came for the call",
    "missing-deltas": "no delta has the arguments",
    "short-deltas": "the deltas lack the end of the arguments",
    "short-closing": "the event has fewer of the arguments than those before it",
    "prefilled-arguments": "the item is added with its arguments",
    "object-arguments": "the arguments are not a string",
    "snapshot-arguments": "a delta is a complete object: a newer state of the arguments, or another call",
    "cumulative-arguments": "a delta carries all arguments so far instead of the next ones",
    "replayed-arguments": "the complete arguments are repeated",
    "placeholder-arguments": "a placeholder precedes the arguments",
    "double-encoded-arguments": "the arguments are JSON within a JSON string",
    "trailing-garbage": "something follows the arguments",
    "merged-calls": "arguments of another call follow complete arguments",
    "split-surrogate": "a delta ends with half of a surrogate pair",
}
"""The message of a finding, by the name of its defect."""


_LATER: Final = frozenset({"late-name", "placeholder-arguments", "cumulative-arguments", "item-per-fragment"})
"""Defects that only a later event reveals."""


class ItemWriter:
    """Sends the events of calls."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream

    def repairs(self, defect: Defect, intended: IntendedCall, message: str = "") -> bool:
        severity = WARNING if defect.name == "empty-name" else None
        message = message or MESSAGES.get(defect.name, defect.meaning)
        return self._stream.report(defect, message, intended.call, severity=severity, now=defect.name in _LATER)

    def written(self, received: CallEvent, wanted: Payload, paths: Paths = TOP) -> Payload:
        wanted = {key: value for key, value in wanted.items() if key != "type"}
        if (
            paths is TOP
            and "call_id" in wanted
            and "call_id" not in received.payload
            and nonblank(received.intended.call.id)
        ):
            del wanted["call_id"]
        return laid_over(
            received.payload, wanted, lambda one: self.repairs_field(one, received.kind, received.intended), paths
        )

    def repairs_field(self, deviation: Deviation, kind: str, intended: IntendedCall) -> bool:
        if deviation.field == "arguments" and kind != ADDED and _has_same_arguments(deviation, intended):
            return False
        defect = of_field(deviation, kind, intended, self._stream.client)
        repairs = defect is not None and self.repairs(defect, intended)
        if repairs and deviation.field == "call_id":
            self._note_own_id(intended)
        return repairs

    def _note_own_id(self, intended: IntendedCall) -> None:
        """Map a made-up id to the provider's own id, unless another call has that."""
        has, own, made = intended.has, intended.call.id, self._stream.context.ids
        others = (one for one in self._stream.calls.by_key.values() if one is not intended)
        taken = any(own in (one.call.id, one.has.call_id if one.has is not None else "") for one in others)
        if has is not None and made.made(has.call_id) and not taken:
            made.stands_for(has.call_id, own, has.name)

    def forward(self, received: CallEvent) -> None:
        """Forward an event whose intention is unknown, but never to another item than the provider's."""
        stream, intended, payload = self._stream, received.intended, received.payload
        if (start := intended.dropped.pop(received.own, None)) is not None:
            stream.because(ITEM_PER_FRAGMENT)
            stream.put(self._at_free_place(start, intended) | {"type": ADDED}, intended.call)
        stream.send_for(received, self._at_free_place(payload, intended))

    def _at_free_place(self, payload: Payload, intended: IntendedCall) -> Payload:
        client, place = self._stream.client, payload.get("output_index")
        own = intended.has is not None and intended.has.place == place and intended.call.index == place
        if not isinstance(place, int) or own or place not in client.moved:
            return payload
        self._stream.because(client.moved[place])
        return {**payload, "output_index": client.instead_of(place)}


def _has_same_arguments(deviation: Deviation, intended: IntendedCall) -> bool:
    """Whether the arguments of an event equal the intended ones as JSON."""
    if not isinstance(deviation.received, str):
        return False
    return same_arguments(deviation.received, str(deviation.intended)) or (
        not deviation.received.strip() and intended.call.arguments.empty
    )
