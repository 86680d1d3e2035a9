"""How an entry has to read for the call to open with it, or to go on: index, id, name and type.

Each field is first seen for what came (`Came`); the table of rules says what that means and what becomes of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls import nonblank
from toolstream_core.model import ABSENT
from toolstream_core.protocols.chat.repair.edits import DROP, Edits
from toolstream_core.protocols.chat.repair.identity_rules import RULES, Came, Edit, Field, Place
from toolstream_core.stages.repair.identity import USUAL_ID
from toolstream_core.stages.repair.names import plain_name

if TYPE_CHECKING:
    from toolstream_core.model import Fragment, Json
    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.protocols.chat.repair.stream import ChatStream

_INTEGER: Final = frozenset({int, type(ABSENT)})
"""Types of an index as it stands in the payload; where the entry is well formed, it is not looked up there."""


class Identity:
    """Who the calls of one stream are, to the client."""

    def __init__(self, stream: ChatStream) -> None:
        """For one stream."""
        self._stream = stream
        self._report = stream.reporter.report
        self._schemas, self._ids = stream.context.schemas, stream.context.ids

    def drops(self, place: Place, came: Came, known: ClientCall) -> bool:
        """Whether the whole entry goes."""
        rule = RULES[Field.ENTRY, place, came]
        call = None if known.nothing else known.call
        return rule.row is not None and self._report(rule.row, known.event, rule.message, call)

    def header(self, choice: Choice, known: ClientCall, fragment: Fragment, raw: Json) -> Edits:
        """The edits that make the entry a header; the client has none before it. `raw`: the index in the payload."""
        edits: Edits = {}
        known.told = True
        self._open_index(choice, known, fragment, raw, edits)
        self._open_id(choice, known, fragment, edits)
        self._open_name(known, fragment, edits)
        if not (fragment.type and isinstance(fragment.type, str)):
            self._repairs(Field.TYPE, Place.HEADER, Came.NOTHING, known, edits)
        return edits

    def continuation(self, choice: Choice, known: ClientCall, fragment: Fragment, raw: Json) -> Edits:
        """The edits that make the entry a continuation; `raw` as for a header."""
        edits: Edits = {}
        index = fragment.index
        usual = index == known.wire_index == known.index and type(raw) in _INTEGER
        came = None if usual else _index_again(known, fragment, raw)
        if came is not None:
            values = {"raw": raw, "header": known.wire_index, "index": fragment.index}
            self._repairs(Field.INDEX, Place.CONTINUATION, came, known, edits, values)
        if fragment.id is not ABSENT:
            self._go_on_id(choice, known, fragment.id, edits)
        if fragment.name is not ABSENT:
            self._go_on_name(known, fragment.name, edits)
        if fragment.type is not ABSENT and (came := _type_again(fragment.type, edits)) is not None:
            self._repairs(Field.TYPE, Place.CONTINUATION, came, known, edits)
        return edits

    def _open_index(self, choice: Choice, known: ClientCall, fragment: Fragment, raw: Json, edits: Edits) -> None:
        index, expected = fragment.index, choice.free_index
        known.wire_index = index
        known.index = index if isinstance(index, int) else expected
        came = _first_index(choice, fragment, raw)
        if came is not None:
            values = {"raw": raw, "index": index, "next": expected}
            if self._repairs(Field.INDEX, Place.HEADER, came, known, edits, values):
                known.index = edits["index"] = expected
        choice.take(known.index, known)

    def _open_id(self, choice: Choice, known: ClientCall, fragment: Fragment, edits: Edits) -> None:
        identity, came_id = known.call.id, nonblank(fragment.id)
        known.id = identity
        came = _first_id(choice, known, fragment)
        if came is not None and self._repairs(Field.ID, Place.HEADER, came, known, edits, {"id": identity}):
            if came is Came.LATER:
                known.late.add(Field.ID)
            else:
                known.id = edits["id"]
        if known.id and "id" not in edits and came_id != known.id:
            self._repairs(Field.ID, Place.HEADER, Came.UNLIKE_THE_CALLS, known, edits)
        if identity in self._stream.earlier_ids:
            self._repairs(Field.ID, Place.HEADER, Came.EARLIER_TURN, known, edits, {"id": identity})
        if identity and not USUAL_ID.fullmatch(identity):
            self._repairs(Field.ID, Place.HEADER, Came.UNUSUAL, known, edits, {"length": len(identity)})
        choice.ids.setdefault(known.id, known)

    def _open_name(self, known: ClientCall, fragment: Fragment, edits: Edits) -> None:
        name, came_name = known.call.name, nonblank(fragment.name)
        if not name:
            self._repairs(Field.NAME, Place.HEADER, Came.NOTHING, known, edits)
            return
        if came_name != name:
            came = Came.PART if came_name else Came.LATER
            if self._repairs(Field.NAME, Place.HEADER, came, known, edits):
                known.late.update({Field.NAME} if came is Came.LATER else ())
                came_name = name
        known.name = came_name
        tool = plain_name(name, self._schemas)
        if tool != name:
            self._repairs(Field.NAME, Place.HEADER, Came.DECORATED, known, edits, {"name": name, "tool": tool})

    def _go_on_id(self, choice: Choice, known: ClientCall, value: str | None, edits: Edits) -> None:
        key = nonblank(value)
        came = _id_again(known, value, key)
        if came is Came.AWAITED:
            known.late.discard(Field.ID)
        values = {"id": known.call.id, "value": value}
        if self._repairs(Field.ID, Place.CONTINUATION, came, known, edits, values) and key == known.call.id:
            self._comes_late(choice, known, key)
        if came is Came.FIRST:
            known.id = key

    def _go_on_name(self, known: ClientCall, value: str | None, edits: Edits) -> None:
        came = _name_again(known, value)
        if came is Came.AWAITED:
            known.late.discard(Field.NAME)
        self._repairs(Field.NAME, Place.CONTINUATION, came, known, edits, {"value": value})
        if came is Came.FIRST:
            known.name = str(value)

    def _comes_late(self, choice: Choice, known: ClientCall, identity: str) -> None:
        """An id that comes when the client has a made-up one already; no other call may have it."""
        if not self._ids.made(known.id):
            return
        if choice.ids.setdefault(identity, known) is known:
            self._ids.stands_for(known.id, identity, plain_name(known.call.name, self._schemas))

    def _repairs(
        self,
        field: Field,
        place: Place,
        came: Came,
        known: ClientCall,
        edits: Edits,
        values: dict[str, Json] | None = None,
    ) -> bool:
        """Report what the table says, and edit the field where it is to be repaired: whether it was edited."""
        rule = RULES[field, place, came]
        if rule.row is not None:
            message = rule.message.format_map(values) if values else rule.message
            if not self._report(rule.row, known.event, message, known.call, severity=rule.severity):
                return False
        if rule.edit is Edit.KEEP:
            return False
        edits[field] = DROP if rule.edit is Edit.DROP else self._value(rule.edit, known)
        return True

    def _value(self, edit: Edit, known: ClientCall) -> Json:
        """What the field becomes."""
        match edit:
            case Edit.NEXT_INDEX:
                return self._stream.choice_of(known).free_index
            case Edit.CLIENT_INDEX:
                return known.index
            case Edit.NEW_ID:
                return self._ids.make("call_")
            case Edit.CALL_ID:
                return known.id
            case Edit.CALL_NAME:
                return known.call.name
            case Edit.TOOL_NAME:
                return known.tool
            case _:
                return edit.value


def _first_index(choice: Choice, fragment: Fragment, raw: Json) -> Came | None:
    index = fragment.index
    if index is ABSENT or (index is None and raw is None):
        clear = nonblank(fragment.id) or len(choice.known) == 1
        return Came.NOTHING_CLEAR if clear else Came.NOTHING
    if type(raw) not in _INTEGER:
        return Came.OTHER_TYPE
    if not isinstance(index, int) or index < 0:
        return Came.NEGATIVE
    if index in choice.taken:
        return Came.ANOTHER_CALLS
    return Came.OUT_OF_ORDER if index != choice.free_index else None


def _index_again(known: ClientCall, fragment: Fragment, raw: Json) -> Came | None:
    index, header = fragment.index, known.wire_index
    if index is ABSENT or (index is None and raw is None):
        return Came.NOTHING if known.call.guessed else Came.NOTHING_CLEAR
    if not isinstance(index, int) or type(raw) not in _INTEGER:
        return Came.OTHER_TYPE
    if index != header and isinstance(header, int):
        return Came.CHANGED
    return Came.RENUMBERED if index != known.index else None


def _first_id(choice: Choice, known: ClientCall, fragment: Fragment) -> Came | None:
    identity = known.call.id
    if not identity:
        return Came.BLANK if fragment.id == "" else Came.NOTHING
    if choice.ids.get(identity, known) is not known:
        return Came.ANOTHER_CALLS
    return None if nonblank(fragment.id) else Came.LATER


def _id_again(known: ClientCall, value: str | None, key: str) -> Came:
    if not key:
        return Came.NULL if value is None else Came.BLANK
    if not known.id:
        return Came.FIRST
    if key != known.call.id:
        return Came.CHANGED
    return Came.AWAITED if Field.ID in known.late else Came.AGAIN


def _name_again(known: ClientCall, value: str | None) -> Came:
    if not nonblank(value):
        return Came.NULL if value is None else Came.BLANK
    if not known.name:
        return Came.FIRST
    if value == known.call.name:
        return Came.AWAITED if Field.NAME in known.late else Came.AGAIN
    return Came.PART_KNOWN if known.name == known.call.name else Came.PART


def _type_again(value: str | None, edits: Edits) -> Came | None:
    if nonblank(value):
        return Came.BESIDE_DROPPED if DROP in edits.values() else None
    if value is None:
        return Came.NULL
    return Came.BLANK if value == "" else None
