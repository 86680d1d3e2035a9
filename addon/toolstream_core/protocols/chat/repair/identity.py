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

    def drops(self, place: Place, came: Came, client_call: ClientCall) -> bool:
        """Whether the whole entry goes."""
        rule = RULES[Field.ENTRY, place, came]
        call = None if client_call.nothing else client_call.call
        return rule.row is not None and self._report(rule.row, client_call.event, rule.message, call)

    def header(self, choice: Choice, client_call: ClientCall, fragment: Fragment, raw: Json) -> Edits:
        """The edits that make the entry a header; the client has none before it. `raw`: the index in the payload."""
        edits: Edits = {}
        client_call.has_header = True
        self._open_index(choice, client_call, fragment, raw, edits)
        self._open_id(choice, client_call, fragment, edits)
        self._open_name(client_call, fragment, edits)
        if not (fragment.type and isinstance(fragment.type, str)):
            self._repairs(Field.TYPE, Place.HEADER, Came.NOTHING, client_call, edits)
        return edits

    def go_on_index(self, client_call: ClientCall, fragment: Fragment, raw: Json, edits: Edits) -> None:
        """The index of a continuation, as the client is to get it; `raw` as for a header."""
        came = _index_again(client_call, fragment, raw)
        if came is not None:
            values = {"raw": raw, "header": client_call.wire_index, "index": fragment.index}
            self._repairs(Field.INDEX, Place.CONTINUATION, came, client_call, edits, values)

    def continuation(self, choice: Choice, client_call: ClientCall, fragment: Fragment, raw: Json) -> Edits:
        """The edits that make the entry a continuation; `raw` as for a header."""
        edits: Edits = {}
        index = fragment.index
        if not (index == client_call.wire_index == client_call.index and type(raw) in _INTEGER):
            self.go_on_index(client_call, fragment, raw, edits)
        if fragment.id is not ABSENT:
            self._go_on_id(choice, client_call, fragment.id, edits)
        if fragment.name is not ABSENT:
            self._go_on_name(client_call, fragment.name, edits)
        if fragment.type is not ABSENT and (came := _type_again(fragment.type, edits)) is not None:
            self._repairs(Field.TYPE, Place.CONTINUATION, came, client_call, edits)
        return edits

    def _open_index(self, choice: Choice, client_call: ClientCall, fragment: Fragment, raw: Json, edits: Edits) -> None:
        index, expected = fragment.index, choice.indexes.free
        client_call.wire_index = index
        client_call.index = index if isinstance(index, int) else expected
        came = _first_index(choice, fragment, raw)
        if came is not None:
            values = {"raw": raw, "index": index, "next": expected}
            if self._repairs(Field.INDEX, Place.HEADER, came, client_call, edits, values):
                client_call.index = edits["index"] = choice.indexes.unused
        choice.indexes.take(client_call.index, client_call)

    def _open_id(self, choice: Choice, client_call: ClientCall, fragment: Fragment, edits: Edits) -> None:
        identity, came_id = client_call.call.id, nonblank(fragment.id)
        client_call.id = identity
        came = _first_id(choice, client_call, fragment)
        if came is not None and self._repairs(Field.ID, Place.HEADER, came, client_call, edits, {"id": identity}):
            if came is Came.LATER:
                client_call.late.add(Field.ID)
            else:
                client_call.id = edits["id"]
        if client_call.id and "id" not in edits and came_id != client_call.id:
            self._repairs(Field.ID, Place.HEADER, Came.UNLIKE_THE_CALLS, client_call, edits)
        if identity in self._stream.earlier_ids:
            self._repairs(Field.ID, Place.HEADER, Came.EARLIER_TURN, client_call, edits, {"id": identity})
        if identity and not USUAL_ID.fullmatch(identity):
            self._repairs(Field.ID, Place.HEADER, Came.UNUSUAL, client_call, edits, {"length": len(identity)})
        choice.ids.setdefault(client_call.id, client_call)

    def _open_name(self, client_call: ClientCall, fragment: Fragment, edits: Edits) -> None:
        name, came_name = client_call.call.name, nonblank(fragment.name)
        if not name:
            self._repairs(Field.NAME, Place.HEADER, Came.NOTHING, client_call, edits)
            return
        if came_name != name:
            came = Came.PART if came_name else Came.LATER
            if self._repairs(Field.NAME, Place.HEADER, came, client_call, edits):
                client_call.late.update({Field.NAME} if came is Came.LATER else ())
                came_name = name
        client_call.name = came_name
        tool = name if name in self._schemas else plain_name(name, self._schemas)
        if tool != name:
            self._repairs(Field.NAME, Place.HEADER, Came.DECORATED, client_call, edits, {"name": name, "tool": tool})

    def _go_on_id(self, choice: Choice, client_call: ClientCall, value: str | None, edits: Edits) -> None:
        key = nonblank(value)
        came = _id_again(client_call, value, key)
        if came is Came.AWAITED:
            client_call.late.discard(Field.ID)
        values = {"id": client_call.call.id, "value": value}
        if self._repairs(Field.ID, Place.CONTINUATION, came, client_call, edits, values) and key == client_call.call.id:
            self._comes_late(choice, client_call, key)
        if came is Came.FIRST:
            client_call.id = key

    def _go_on_name(self, client_call: ClientCall, value: str | None, edits: Edits) -> None:
        came = _name_again(client_call, value)
        if came is Came.AWAITED:
            client_call.late.discard(Field.NAME)
        self._repairs(Field.NAME, Place.CONTINUATION, came, client_call, edits, {"value": value})
        if came is Came.FIRST:
            client_call.name = str(value)

    def _comes_late(self, choice: Choice, client_call: ClientCall, identity: str) -> None:
        """An id that comes when the client has a made-up one already; no other call may have it."""
        if not self._ids.made(client_call.id):
            return
        if choice.ids.setdefault(identity, client_call) is client_call:
            self._ids.stands_for(client_call.id, identity, plain_name(client_call.call.name, self._schemas))

    def _repairs(
        self,
        field: Field,
        place: Place,
        came: Came,
        client_call: ClientCall,
        edits: Edits,
        values: dict[str, Json] | None = None,
    ) -> bool:
        """Report what the table says, and edit the field where it is to be repaired: whether it was edited."""
        rule = RULES[field, place, came]
        if rule.row is not None:
            message = rule.message.format_map(values) if values else rule.message
            if not self._report(rule.row, client_call.event, message, client_call.call, severity=rule.severity):
                return False
        if rule.edit is Edit.KEEP:
            return False
        edits[field] = DROP if rule.edit is Edit.DROP else self._value(rule.edit, client_call)
        return True

    def _value(self, edit: Edit, client_call: ClientCall) -> Json:
        """What the field becomes."""
        match edit:
            case Edit.NEXT_INDEX:
                return self._stream.choice_of(client_call).indexes.unused
            case Edit.CLIENT_INDEX:
                return client_call.index
            case Edit.NEW_ID:
                return self._ids.make("call_")
            case Edit.CALL_ID:
                return client_call.id
            case Edit.CALL_NAME:
                return client_call.call.name
            case Edit.TOOL_NAME:
                return client_call.tool
            case _:
                return edit.value


def _first_index(choice: Choice, fragment: Fragment, raw: Json) -> Came | None:
    index = fragment.index
    if index is ABSENT or (index is None and raw is None):
        clear = nonblank(fragment.id) or len(choice.calls) == 1
        return Came.NOTHING_CLEAR if clear else Came.NOTHING
    if type(raw) not in _INTEGER:
        return Came.OTHER_TYPE
    if not isinstance(index, int) or index < 0:
        return Came.NEGATIVE
    if index in choice.indexes.taken:
        return Came.ANOTHER_CALLS
    if index != choice.indexes.free:
        return Came.OUT_OF_ORDER
    return Came.NOBODYS if choice.indexes.is_nobodys(index) else None


def _index_again(client_call: ClientCall, fragment: Fragment, raw: Json) -> Came | None:
    index, header = fragment.index, client_call.wire_index
    if index is ABSENT or (index is None and raw is None):
        return Came.NOTHING if client_call.call.guessed else Came.NOTHING_CLEAR
    if not isinstance(index, int) or type(raw) not in _INTEGER:
        return Came.OTHER_TYPE
    if index != header and isinstance(header, int):
        return Came.CHANGED
    return Came.RENUMBERED if index != client_call.index else None


def _first_id(choice: Choice, client_call: ClientCall, fragment: Fragment) -> Came | None:
    identity = client_call.call.id
    if not identity:
        return Came.BLANK if fragment.id == "" else Came.NOTHING
    if choice.ids.get(identity, client_call) is not client_call:
        return Came.ANOTHER_CALLS
    return None if nonblank(fragment.id) else Came.LATER


def _id_again(client_call: ClientCall, value: str | None, key: str) -> Came:
    if not key:
        return Came.NULL if value is None else Came.BLANK
    if not client_call.id:
        return Came.FIRST
    if key != client_call.call.id:
        return Came.CHANGED
    return Came.AWAITED if Field.ID in client_call.late else Came.AGAIN


def _name_again(client_call: ClientCall, value: str | None) -> Came:
    if not nonblank(value):
        return Came.NULL if value is None else Came.BLANK
    if not client_call.name:
        return Came.FIRST
    if value == client_call.call.name:
        return Came.AWAITED if Field.NAME in client_call.late else Came.AGAIN
    return Came.PART_KNOWN if client_call.name == client_call.call.name else Came.PART


def _type_again(value: str | None, edits: Edits) -> Came | None:
    if nonblank(value):
        return Came.BESIDE_DROPPED if DROP in edits.values() else None
    if value is None:
        return Came.NULL
    return Came.BLANK if value == "" else None
