"""What the client lacks of one function call, said with the event at hand."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.arguments import (
    LOST_ARGUMENTS,
    OBJECT_ARGUMENTS,
    PREFILLED_ARGUMENTS,
    REPLAYED_ARGUMENTS,
    SHORT_DELTAS,
)
from toolstream_core.defects.finish import REPEATED_START, REPEATED_STOP
from toolstream_core.defects.identity import (
    CUSTOM_AS_FUNCTION,
    DECORATED_NAME,
    DOUBLED_CALL,
    DUPLICATE_ID,
    ITEM_PER_FRAGMENT,
    MISSING_ID,
    MISSING_INDEX,
    MISSING_NAME,
    MISSING_START,
    ODD_ID,
    REUSED_ID,
    REUSED_INDEX,
)
from toolstream_core.defects.row import WARNING
from toolstream_core.model import ABSENT
from toolstream_core.protocols.responses.repair import events
from toolstream_core.protocols.responses.repair.client import ClientItem
from toolstream_core.protocols.responses.repair.event_types import ADDED, CLOSED, DELTA, DONE
from toolstream_core.protocols.responses.repair.rows import MESSAGES, of_field, of_rest
from toolstream_core.repair.fields import TOP, laid_over
from toolstream_core.stages.repair.names import plain_name
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls.arguments import ArgumentText
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.answer import Answer
    from toolstream_core.protocols.responses.repair.truth import Meant
    from toolstream_core.repair.fields import Deviation, Paths, Payload
    from toolstream_core.wire.frame import Frame

_USUAL_ID: Final = re.compile(r"[\w.:|-]{1,64}", re.ASCII)
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
    letter: ArgumentText
    """What the pieces of the call mean, as far as they came by then; `size` characters, of which it brought `more`."""
    size: int
    more: int

    @property
    def passes(self) -> bool:
        """Whether it goes as it came: nobody can say whose it is, and it begins no item."""
        return self.meant.passes and not (self.kind == ADDED and self.meant.has is None)


class Difference:
    """Takes the client of one answer, call by call, to what is meant."""

    def __init__(self, answer: Answer) -> None:
        """For one stream."""
        self._answer = answer

    def says(self, came: Came, *, last: bool, closes_again: bool, is_added_later: bool) -> None:
        """Send what the client lacks of a call, with an event of it.

        `last`: no later one of the call waits; `closes_again`: the next one closes it; `is_added_later`: one adds it.
        """
        meant, kind = came.meant, came.kind
        in_disorder = meant.in_pieces and (self._answer.truth.has_strays or not self._told(ITEM_PER_FRAGMENT, meant))
        if in_disorder or came.passes:
            if came.payload.get("output_index", ABSENT) is ABSENT:
                self._told(MISSING_INDEX, meant)
            self._as_it_came(came)
            return
        if meant.has is None:
            if kind in (DELTA, DONE, CLOSED) and not self._told(MISSING_START, meant):
                meant.passed = True
                self._as_it_came(came)
                return
            if kind == ADDED:
                self._answer.send(came.frame, self._added(came))
                self._say_early(meant)
                return
            if kind == DELTA and is_added_later:
                meant.early += str(came.payload.get("delta") or "")
                return
            self.put_added(meant, json_access.get(came.payload, "item"), MISSING_START, came)
        elif kind == ADDED:
            self._added_again(came)
            return
        elif came.own in meant.copies and self._told(DOUBLED_CALL, meant):
            return
        elif meant.has.content.get("type") == "custom_tool_call" and self._told(CUSTOM_AS_FUNCTION, meant):
            return
        if kind == DELTA:
            self._delta(came, last=last)
        elif kind == DONE:
            self._done(came)
        elif not (closes_again and self._told(REPEATED_STOP, meant)):
            self._close(came)

    def _say_early(self, meant: Meant) -> None:
        """Behind the event that adds an item, what its deltas before that said."""
        has, early = meant.has, meant.early
        if early and has is not None and self.reading(meant).startswith(early):
            self._answer.because(MISSING_START)
            self._answer.put(events.delta(has, early, self._answer.form))
            has.text.add(early, meant.letter)
            meant.early = ""

    # -- who it is

    def _identity(self, meant: Meant, item: Json, place: int, moved: Row | None) -> ClientItem:
        """Who the call is to the client, from here on."""
        answer, call = self._answer, meant.call
        own = json_access.get(item, "id")
        item_id = own if isinstance(own, str) and own else call.item_id or answer.context.ids.make("fc_")
        has = meant.has = ClientItem(meant.letter, place, item_id, call.id, call.name)
        has.content = dict(item) if isinstance(item, dict) else {}
        others = {one.has.call_id for one in answer.truth.calls.values() if one.has is not None and one is not meant}
        if not nonblank(call.id) or (call.id in others and meant.said_again is not True):
            row = MISSING_ID if not nonblank(call.id) else DUPLICATE_ID
            if self._told(row, meant):
                has.call_id, has.why["call_id"] = answer.context.ids.make("call_"), row
        if call.id in answer.truth.earlier_ids:
            self._told(REUSED_ID, meant, f"call_id {call.id} was that of a call of an earlier turn")
        if call.id and not _USUAL_ID.fullmatch(call.id):
            self._told(ODD_ID, meant, f"the call_id has {len(call.id)} characters, or some that other APIs refuse")
        plain = plain_name(call.name, answer.context.schemas)
        if plain != call.name and self._told(DECORATED_NAME, meant, f"the name is {call.name!r}, the tool is {plain}"):
            has.name = plain
        if not call.name:
            self._told(MISSING_NAME, meant, "the call has no name")
        answer.client.take_place(place)
        meant.passed = False
        if moved is not None:
            has.why["output_index"] = answer.client.moved[place] = moved
            if isinstance(call.index, int):
                answer.client.moved[call.index] = moved
        return has

    def _place(self, meant: Meant, index: object) -> tuple[int, Row | None]:
        """A place for a new item, and why it is not the one that the event says."""
        client = self._answer.client
        place = json_access.integer(index)
        if not isinstance(place, int):
            return client.free, MISSING_INDEX
        if place in client.taken:
            return client.free, REUSED_INDEX
        joined = any(one.in_pieces for one in self._answer.truth.calls.values())
        return (client.free, ITEM_PER_FRAGMENT) if joined and place > client.free else (place, None)

    def _added(self, came: Came) -> Payload:
        """The event that adds the item, as the client is to get it."""
        meant, payload = came.meant, came.payload
        place, why = self._place(meant, payload.get("output_index"))
        if why is not None and not self._told(why, meant, MESSAGES[why.name]):
            place, why = place if why is MISSING_INDEX else int(payload["output_index"]), None
        item = payload.get("item")
        has = self._identity(meant, item, place, why)
        self._answer.client.open_text.clear()
        wanted = events.whole_item(has, "")
        if not has.name:
            del wanted["name"]
        if not isinstance(item, dict) or item.get("arguments") in ("", None) or "arguments" not in item:
            del wanted["arguments"]
        elif not isinstance(item["arguments"], str | dict):
            self._told(OBJECT_ARGUMENTS, meant)
            del wanted["arguments"]
        out = self._mended(came, {"output_index": place, **wanted}, events.OF_ITEM)
        if "arguments" in wanted and out["item"]["arguments"] == "":
            has.why["arguments"] = PREFILLED_ARGUMENTS
        has.content = dict(out["item"]) if isinstance(out.get("item"), dict) else {}
        return out

    def put_added(self, meant: Meant, item: Json, row: Row, came: Came | None = None) -> None:
        """Add the item with an event of our own, because of `row`."""
        has = self.adopt(meant, item, row)
        meant.text_row = has.why["added"] = row
        if came is not None and came.payload.get("output_index") != has.place:
            has.why.setdefault("output_index", row)
        self._answer.put(events.added(has))

    def adopt(self, meant: Meant, item: Json, row: Row) -> ClientItem:
        """Who a call is that no event added, and where."""
        place, why = self._place(meant, meant.call.index)
        has = self._identity(meant, item, place, None if why is None else row)
        self._answer.client.open_text.clear()
        return has

    def _added_again(self, came: Came) -> None:
        """An event that adds an item of which the client has one."""
        meant, payload = came.meant, came.payload
        has = meant.has
        assert has is not None
        said = json_access.get(payload, "item", "arguments")
        if said and isinstance(said, str) and not (has.said or has.closed) and self._told(PREFILLED_ARGUMENTS, meant):
            has.why["arguments"] = PREFILLED_ARGUMENTS
        own = json_access.get(payload, "item", "id")
        if own == has.id and (why := has.why.pop("added", None)) is not None:
            drop = self._told(why, meant)
        elif own == has.id and not (has.closed or meant.in_pieces):
            drop = self._told(REPEATED_START, meant)
        elif meant.in_pieces:
            drop = self._told(ITEM_PER_FRAGMENT, meant)
            has.closed = False
            if drop and isinstance(own, str):
                meant.dropped[own] = payload
        else:
            drop = self._told(DOUBLED_CALL, meant)
        if not drop:
            self._answer.send(came.frame, payload)

    # -- what it says

    def reading(self, meant: Meant, *, over: bool = False) -> str:
        """The arguments that are meant so far, but for what rows say that are switched off."""
        reading = self._answer.truth.reading(meant, over=over)
        meant.text_row = None
        if reading.row is None:
            return reading.text
        raw = meant.call.arguments.text()
        repairs = self._told(reading.row, meant)
        if not repairs or reading.text == raw:
            return raw
        meant.text_row = reading.row
        return reading.text

    def _delta(self, came: Came, *, last: bool) -> None:
        """A piece of the arguments: what they are by now, without what the client has."""
        meant, piece = came.meant, came.payload.get("delta")
        has, letter = meant.has, meant.letter
        assert has is not None
        if has.closed or has.said:
            self._behind_end(came)
            return
        if self._is_next_part(came, has):
            has.text.grow(came.more)
            self._answer.send(came.frame, self._mended(came, events.delta(has, str(piece), self._answer.form)))
            return
        if not isinstance(piece, str | dict):
            self._as_it_came(came)
            return
        if has.text.free:
            self._spoilt(came, piece)
            return
        text, given = self.reading(meant, over=False), has.text.text
        elsewhere = isinstance(meant.call.index, int) and not isinstance(
            json_access.integer(came.payload.get("output_index")), int
        )
        if elsewhere and not text.startswith(str(piece), len(given)):
            meant.disordered = True  # to a client that goes by the index it is no part of this call
            self._as_it_came(came)
            return
        if not text.startswith(given):
            has.text.free = True
            self._spoilt(came, piece)
            return
        if meant.call.arguments.spilled and "output_index" not in came.payload and text == letter.text():
            has.text.free = True
            self._as_it_came(came)
            return
        if isinstance(piece, str) and text.startswith(piece, len(given)):
            text = given + piece
        elif not last:
            text = given
        more = text[len(given) :]
        if not more and piece:
            if self._told(meant.text_row or _dropped(meant), meant):
                return
            more = str(piece)
        out = self._mended(came, events.delta(has, more, self._answer.form))
        told = out.get("delta") == more or meant.text_row is not None or "arguments" in has.why
        has.text.add(more if told or not isinstance(piece, str) else piece, letter)
        self._answer.send(came.frame, out)

    def _is_next_part(self, came: Came, has: ClientItem) -> bool:
        """Whether the client has all before a piece, and the piece says what is meant."""
        meant, letter = came.meant, came.meant.letter
        if (
            came.more <= 0
            or came.letter is not letter
            or has.text.free
            or not has.text.is_in_step(letter, came.size - came.more)
        ):
            return False
        if came.more != len(str(came.payload.get("delta"))):
            return False
        return meant.is_inside or (meant.call.start_input is None and meant.says_letter)

    def _spoilt(self, came: Came, piece: Json) -> None:
        """A delta of a call of which the client has something else than what is meant, or that is nobody's."""
        has, own = came.meant.has, came.own
        assert has is not None
        if own == has.id and "output_index" in came.payload:
            wanted = events.delta(has, "", self._answer.form)
            del wanted["delta"]
            self._answer.send(came.frame, self._mended(came, wanted))
            if isinstance(piece, str):
                has.text.add(piece, came.meant.call.arguments)
        else:
            self._as_it_came(came)

    def _behind_end(self, came: Came) -> None:
        """A delta behind the event that says the arguments whole."""
        meant = came.meant
        has = meant.has
        assert has is not None
        known = same_arguments(has.text.text, self._answer.truth.reading(meant, over=True).text)
        if (meant.call.over or known) and came.payload.get("delta"):
            if self._told(REPLAYED_ARGUMENTS, meant, "a delta follows the event that says the arguments whole"):
                return
        self._as_it_came(came)

    @staticmethod
    def give(has: ClientItem, text: str, letter: ArgumentText) -> None:
        """The client has `text` from now on, of which it had the beginning."""
        has.text.add(text[has.text.size :], letter)

    def rest(self, meant: Meant, text: str, why: Row | None = None) -> bool:
        """A delta with what the client lacks of the whole arguments; whether there is one."""
        has, letter = meant.has, meant.letter
        assert has is not None
        given = has.text.text
        if given == text or has.closed or has.said:
            return False
        if has.text.free or not text.startswith(given):
            has.text.free = True
            if not same_arguments(text, given):
                self._told(SHORT_DELTAS, meant, "the deltas say other arguments than the event behind them")
            return False
        if (prefilled := has.why.get("arguments")) is not None:
            self._answer.because(prefilled)
        if (held := meant.text_row or why) is not None:
            self._answer.because(held)
        elif not self._told(of_rest(meant), meant):
            self.give(has, text, letter)
            return False
        self._answer.put(events.delta(has, text[len(given) :], self._answer.form))
        self.give(has, text, letter)
        return True

    def _whole(self, meant: Meant, came: object) -> str:
        """The whole arguments that are meant; nothing at all is what it came as."""
        if meant.call.arguments.empty:
            return came if isinstance(came, str) else ""
        held = meant.text_row
        text = self.reading(meant, over=True)
        meant.text_row = meant.text_row or held
        sure = meant.call.over and self._answer.truth.whole(meant)
        if isinstance(came, str) and came and not sure and text.startswith(came) and meant.has is not None:
            return came if came.startswith(meant.has.text.text) else text
        return text

    def _done(self, came: Came) -> None:
        """The event that says the arguments whole."""
        meant, said = came.meant, came.payload.get("arguments")
        has = meant.has
        assert has is not None
        text = self._whole(meant, said)
        if has.closed and isinstance(said, str) and said and not same_arguments(said, has.whole):
            self._as_it_came(came)
            return
        if meant.in_pieces and not self._answer.truth.whole(meant):
            if self._told(ITEM_PER_FRAGMENT, meant):
                return
        self.rest(meant, text)
        has.said, has.whole = True, text
        wanted = events.done(has, text, self._answer.form)
        if "name" in wanted and "name" not in came.payload:
            del wanted["name"]
        self._answer.send(came.frame, self._mended(came, wanted))

    def _close(self, came: Came) -> None:
        """The event that closes the item."""
        answer, meant, payload = self._answer, came.meant, came.payload
        has, item = meant.has, payload.get("item")
        assert has is not None
        said = json_access.get(item, "arguments")
        if has.closed and (not said or same_arguments(str(said), has.whole) or not is_object(str(said))):
            if not self._told(REPEATED_STOP, meant):
                answer.send(came.frame, payload)
            return
        if has.closed:
            self._as_it_came(came)
            return
        if meant.in_pieces and not answer.truth.whole(meant) and not meant.call.over:
            if not self._told(ITEM_PER_FRAGMENT, meant):
                answer.send(came.frame, payload)
            return
        text = self._whole(meant, said)
        if self.rest(meant, text) and not has.said and is_json(text):
            answer.put(events.done(has, text, answer.form))
            has.said = True
        if meant.call.arguments.empty and not answer.context.may_be_empty(meant.call.name):
            self._told(LOST_ARGUMENTS, meant, f"{meant.call.name} has required parameters and got no arguments")
        wanted: Payload = {"output_index": has.place, **events.whole_item(has, text)}
        if not has.name:
            del wanted["name"]
        out = self._mended(came, wanted, events.OF_ITEM)
        self.closes(meant, out.get("item"), text)
        answer.send(came.frame, out)

    def closes(self, meant: Meant, item: Json, text: str) -> None:
        """The client is sent the event that closes a call."""
        has = meant.has
        assert has is not None
        has.closed, has.whole = True, text
        has.content = dict(item) if isinstance(item, dict) else {}
        self._answer.client.closed[has.place] = item

    def put_end(self, meant: Meant, status: Json = "completed") -> None:
        """Send all that the client lacks of a whole call."""
        answer = self._answer
        has = meant.has
        assert has is not None
        text = self._whole(meant, "")
        if meant.call.arguments.empty and not has.said:
            text = meant.call.arguments.reading(may_be_empty=answer.context.may_be_empty(meant.call.name))[0]
        self.rest(meant, text)
        if not has.said:
            answer.put(events.done(has, text, answer.form))
        event = events.closed(has, text, status)
        has.said = True
        self.closes(meant, event["item"], text)
        answer.put(event)

    # -- fields

    def keep(self, meant: Meant, item: Payload) -> Payload:
        """An item of the response, with what the client has."""
        has = meant.has
        assert has is not None
        text = has.whole if has.closed else self._whole(meant, item.get("arguments"))
        wanted = events.whole_item(has, text)
        if not has.name:
            del wanted["name"]
        return laid_over(item, wanted, lambda one: self._mends(one, CLOSED, meant))

    def _mended(self, came: Came, wanted: Payload, paths: Paths = TOP) -> Payload:
        wanted = {key: value for key, value in wanted.items() if key != "type"}
        if paths is TOP and "call_id" in wanted and "call_id" not in came.payload and nonblank(came.meant.call.id):
            del wanted["call_id"]
        return laid_over(came.payload, wanted, lambda one: self._mends(one, came.kind, came.meant), paths)

    def _mends(self, one: Deviation, kind: str, meant: Meant) -> bool:
        if one.field == "arguments" and isinstance(one.came, str) and kind != ADDED:
            if same_arguments(one.came, str(one.meant)) or (not one.came.strip() and meant.call.arguments.empty):
                return False
        row = of_field(one, kind, meant, self._answer.client)
        mends = row is not None and self._told(row, meant)
        if mends and one.field == "call_id":
            self._note_own_id(meant)
        return mends

    def _note_own_id(self, meant: Meant) -> None:
        """The provider has an id of its own for a call for which one was made up, unless another call has that."""
        has, own, made = meant.has, meant.call.id, self._answer.context.ids
        others = (one for one in self._answer.truth.calls.values() if one is not meant)
        if has is not None and made.made(has.call_id):
            if not any(own in (one.call.id, one.has.call_id if one.has is not None else "") for one in others):
                made.stands_for(has.call_id, own, has.name)

    def _told(self, row: Row, meant: Meant, message: str = "") -> bool:
        severity = WARNING if row.name == "empty-name" else None
        message = message or MESSAGES.get(row.name, row.meaning)
        return self._answer.report(row, message, meant.call, severity=severity, now=row.name in _LATER)

    def _as_it_came(self, came: Came) -> None:
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


def _dropped(meant: Meant) -> Row:
    return ITEM_PER_FRAGMENT if meant.in_pieces else REPLAYED_ARGUMENTS
