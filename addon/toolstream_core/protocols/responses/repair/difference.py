"""What the client lacks of the arguments of one function call, sent with the event at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.arguments import LOST_ARGUMENTS, REPLAYED_ARGUMENTS, SHORT_DELTAS
from toolstream_core.defects.finish import REPEATED_STOP
from toolstream_core.defects.identity import (
    CUSTOM_AS_FUNCTION,
    DOUBLED_CALL,
    ITEM_PER_FRAGMENT,
    MISSING_INDEX,
    MISSING_START,
)
from toolstream_core.model import ABSENT
from toolstream_core.protocols.responses.repair import events
from toolstream_core.protocols.responses.repair.event_types import ADDED, CLOSED, DELTA, DONE
from toolstream_core.protocols.responses.repair.identity import Identities
from toolstream_core.protocols.responses.repair.rows import of_rest
from toolstream_core.protocols.responses.repair.writer import ItemWriter
from toolstream_core.repair.fields import laid_over
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls.arguments import ArgumentText
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.answer import Answer
    from toolstream_core.protocols.responses.repair.client import ClientItem
    from toolstream_core.protocols.responses.repair.truth import Meant
    from toolstream_core.protocols.responses.repair.writer import Came
    from toolstream_core.repair.fields import Payload


class Difference:
    """Takes the client of one answer, call by call, to the intended calls."""

    def __init__(self, answer: Answer) -> None:
        """For one stream."""
        self._answer = answer
        self._writer = writer = ItemWriter(answer)
        self.identities = Identities(answer, writer)

    def says(self, came: Came, *, last: bool, closes_again: bool, is_added_later: bool) -> None:
        """Send what the client lacks of a call, with an event of it.

        `last`: no later one of the call waits; `closes_again`: the next one closes it; `is_added_later`: one adds it.
        """
        meant, kind, told = came.meant, came.kind, self._writer.told
        in_disorder = meant.in_pieces and (self._answer.truth.has_strays or not told(ITEM_PER_FRAGMENT, meant))
        if in_disorder or came.passes:
            if came.payload.get("output_index", ABSENT) is ABSENT:
                told(MISSING_INDEX, meant)
            self._writer.as_it_came(came)
        elif kind == ADDED:
            self._says_added(came)
        elif (meant.has is not None or self._adds(came, is_added_later=is_added_later)) and not self._is_dropped(came):
            if kind == DELTA:
                self._delta(came, last=last)
            elif kind == DONE:
                self._done(came)
            elif not (closes_again and told(REPEATED_STOP, meant)):
                self._close(came)

    def _says_added(self, came: Came) -> None:
        if came.meant.has is None:
            self._answer.send(came.frame, self.identities.added(came))
            self._say_early(came.meant)
        else:
            self.identities.added_again(came)

    def _adds(self, came: Came, *, is_added_later: bool) -> bool:
        """Whether an item that no event added before is added now; else nothing is left to send."""
        meant = came.meant
        if not self._writer.told(MISSING_START, meant):
            meant.passed = True
            self._writer.as_it_came(came)
            return False
        if came.kind == DELTA and is_added_later:
            meant.early += came.piece
            return False
        self.identities.put_added(meant, json_access.get(came.payload, "item"), MISSING_START, came)
        return True

    def _is_dropped(self, came: Came) -> bool:
        """Whether an event is of an item that only repeats the call, or of one that was sent as a custom tool's."""
        meant = came.meant
        assert meant.has is not None
        if came.own in meant.copies and self._writer.told(DOUBLED_CALL, meant):
            return True
        is_custom = meant.has.content.get("type") == "custom_tool_call"
        return is_custom and self._writer.told(CUSTOM_AS_FUNCTION, meant)

    def _say_early(self, meant: Meant) -> None:
        """Behind the event that adds an item, what its deltas before that said."""
        has, early = meant.has, meant.early
        if early and has is not None and self.reading(meant).startswith(early):
            self._answer.because(MISSING_START)
            self._answer.put(events.delta(has, early, self._answer.form))
            has.text.add(early, meant.letter)
            meant.early = ""

    # -- what it says

    def reading(self, meant: Meant, *, over: bool = False) -> str:
        """The arguments that are meant so far, but for what rows say that are switched off."""
        reading = self._answer.truth.reading(meant, over=over)
        meant.text_row = None
        if reading.row is None:
            return reading.text
        raw = meant.call.arguments.text()
        repairs = self._writer.told(reading.row, meant)
        if not repairs or reading.text == raw:
            return raw
        meant.text_row = reading.row
        return reading.text

    def _delta(self, came: Came, *, last: bool) -> None:
        """A piece of the arguments: what they are by now, without what the client has."""
        meant, has, form = came.meant, came.meant.has, self._answer.form
        assert has is not None
        if has.closed or has.said:
            self._after_end(came, has)
        elif self._is_next_part(came, has):
            has.text.grow(came.more)
            self._answer.send(came.frame, self._writer.mended(came, events.delta(has, came.piece, form)))
        elif not (came.piece or isinstance(came.payload.get("delta"), str)):
            self._writer.as_it_came(came)
        elif (text := self._intended(came, has)) is None:
            self._spoilt(came, has)
        else:
            more = self._more(came, has, text, last=last)
            if not more and came.piece:
                meant.text_row = meant.text_row or _dropped(meant)
                more = "" if self._writer.told(meant.text_row, meant) else came.piece
            self._put_delta(came, has, more)

    def _is_next_part(self, came: Came, has: ClientItem) -> bool:
        """Whether the client has all before a piece, and the piece says what is meant."""
        meant, letter = came.meant, came.meant.letter
        if came.more <= 0 or came.letter is not letter or came.more != len(came.piece) or has.text.free:
            return False
        if not has.text.is_in_step(letter, came.size - came.more):
            return False
        return meant.is_inside or (meant.call.start_input is None and meant.says_letter)

    def _intended(self, came: Came, has: ClientItem) -> str | None:
        """The intended arguments so far; `None` where they are not known, or contradict what the client has."""
        meant = came.meant
        if has.text.free or meant.is_too_long:
            has.text.free = True
            return None
        text, given = self.reading(meant), has.text.text
        if not came.has_place:
            if isinstance(meant.call.index, int) and not text.startswith(came.piece, len(given)):
                meant.disordered = True  # to a client that goes by the index it is no part of this call
                return None
            has.text.free = meant.call.arguments.spilled and text == meant.call.arguments.text()
        has.text.free = has.text.free or not text.startswith(given)
        return None if has.text.free else text

    @staticmethod
    def _more(came: Came, has: ClientItem, text: str, *, last: bool) -> str:
        """What an event sends: its own share of the intended text, or the rest if no event of the call waits."""
        if text.startswith(came.piece, has.text.size):
            return came.piece
        return text[has.text.size :] if last else ""

    def _put_delta(self, came: Came, has: ClientItem, more: str) -> None:
        meant, said = came.meant, came.payload.get("delta")
        out = self._writer.mended(came, events.delta(has, more, self._answer.form))
        told = out.get("delta") == more or meant.text_row is not None or "arguments" in has.why
        has.text.add(more if told or not isinstance(said, str) else said, meant.letter)
        self._answer.send(came.frame, out)

    def _spoilt(self, came: Came, has: ClientItem) -> None:
        """A delta of a call of which the client has something else than what is meant, or that is nobody's."""
        if came.own != has.id or not came.has_place:
            self._writer.as_it_came(came)
            return
        wanted = events.delta(has, "", self._answer.form)
        del wanted["delta"]
        self._answer.send(came.frame, self._writer.mended(came, wanted))
        if not came.meant.is_too_long:
            has.text.add(came.piece, came.meant.call.arguments)

    def _after_end(self, came: Came, has: ClientItem) -> None:
        """A delta after the event that has the complete arguments."""
        meant = came.meant
        known = same_arguments(has.text.text, self._answer.truth.reading(meant, over=True).text)
        message = "a delta follows the event that says the arguments whole"
        again = (meant.call.over or known) and bool(came.payload.get("delta"))
        if not (again and self._writer.told(REPLAYED_ARGUMENTS, meant, message)):
            self._writer.as_it_came(came)

    @staticmethod
    def give(has: ClientItem, text: str, letter: ArgumentText) -> None:
        """The client has `text` from now on, of which it had the beginning."""
        has.text.add(text[has.text.size :], letter)

    def rest(self, meant: Meant, text: str, why: Row | None = None) -> bool:
        """A delta with what the client lacks of the whole arguments; whether there is one."""
        has, letter = meant.has, meant.letter
        assert has is not None
        given = has.text.text
        if given == text or has.closed or has.said or meant.is_too_long:
            return False
        if has.text.free or not text.startswith(given):
            has.text.free = True
            if not same_arguments(text, given):
                self._writer.told(SHORT_DELTAS, meant, "the deltas say other arguments than the event behind them")
            return False
        if (prefilled := has.why.get("arguments")) is not None:
            self._answer.because(prefilled)
        if (held := meant.text_row or why) is not None:
            self._answer.because(held)
        elif not self._writer.told(of_rest(meant), meant):
            self.give(has, text, letter)
            return False
        self._answer.put(events.delta(has, text[len(given) :], self._answer.form))
        self.give(has, text, letter)
        return True

    def _whole(self, meant: Meant, came: object) -> str:
        """The whole arguments that are meant; nothing at all is what it came as."""
        if meant.call.arguments.empty or meant.is_too_long:
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
            self._writer.as_it_came(came)
            return
        if meant.in_pieces and not self._answer.truth.whole(meant) and self._writer.told(ITEM_PER_FRAGMENT, meant):
            return
        self.rest(meant, text)
        has.said, has.whole = True, text
        wanted = events.done(has, text, self._answer.form)
        if "name" in wanted and "name" not in came.payload:
            del wanted["name"]
        self._answer.send(came.frame, self._writer.mended(came, wanted))

    def _close(self, came: Came) -> None:
        """The event that closes the item."""
        answer, meant, payload = self._answer, came.meant, came.payload
        has, item = meant.has, payload.get("item")
        assert has is not None
        said = json_access.get(item, "arguments")
        if has.closed and (not said or same_arguments(str(said), has.whole) or not is_object(str(said))):
            if not self._writer.told(REPEATED_STOP, meant):
                answer.send(came.frame, payload)
            return
        if has.closed:
            self._writer.as_it_came(came)
            return
        if meant.in_pieces and not answer.truth.whole(meant) and not meant.call.over:
            if not self._writer.told(ITEM_PER_FRAGMENT, meant):
                answer.send(came.frame, payload)
            return
        text = self._whole(meant, said)
        lacks_whole = self.rest(meant, text) or meant.in_pieces  # that of a piece had the piece
        if lacks_whole and not has.said and is_json(text):
            answer.put(events.done(has, text, answer.form))
            has.said = True
        if meant.call.arguments.empty and not answer.context.may_be_empty(meant.call.name):
            self._writer.told(LOST_ARGUMENTS, meant, f"{meant.call.name} has required parameters and got no arguments")
        wanted: Payload = {"output_index": has.place, **events.whole_item(has, text)}
        if not has.name:
            del wanted["name"]
        out = self._writer.mended(came, wanted, events.OF_ITEM)
        self.closes(meant, out.get("item"), text)
        answer.send(came.frame, out)

    def closes(self, meant: Meant, item: Json, text: str) -> None:
        """The client is sent the event that closes a call."""
        has = meant.has
        assert has is not None
        has.content = dict(item) if isinstance(item, dict) else {}
        if meant.is_too_long:  # nothing that long is kept
            text = has.content["arguments"] = ""
        has.closed, has.whole = True, text
        self._answer.client.closed[has.place] = has.content if isinstance(item, dict) else item

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
        if meant.is_too_long:
            del wanted["arguments"]
        return laid_over(item, wanted, lambda one: self._writer.mends(one, CLOSED, meant))


def _dropped(meant: Meant) -> Row:
    return ITEM_PER_FRAGMENT if meant.in_pieces else REPLAYED_ARGUMENTS
