"""The arguments of one Responses item, as the client has been given them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.arguments import MAX_TEXT
from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.defects.arguments import (
    MISSING_DELTAS,
    OBJECT_ARGUMENTS,
    PREFILLED_ARGUMENTS,
    SHORT_CLOSING,
    SHORT_DELTAS,
)
from toolstream_core.protocols.responses.evidence import goes_on
from toolstream_core.stages.repair.arguments import ArgumentRepair
from toolstream_core.wire.frame import parse
from toolstream_core.wire.json_access import argument_delta
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.calls.arguments import ArgumentText
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.state import RepairState
    from toolstream_core.stages.repair.emitted import Emitted


_NO_ARGUMENTS: Final = "the event says no whole arguments, those before it do"


class ClientArguments:
    """What deltas brought, and what the events with the whole arguments have to say in agreement with them."""

    def __init__(self, state: RepairState, call: OpenCall) -> None:
        """Nothing yet."""
        self._state = state
        self._call = call
        self._given: list[str] = []
        """The deltas that the client got, as far as they are kept."""
        self._size = 0
        """Characters of all deltas that the client got."""
        self._keeps = True
        """Whether all of them are kept."""
        self.repair = ArgumentRepair(state.on, call.arguments.room)
        self._dropped = False
        """Whether text that was held back is left out, because an event behind it has the whole arguments."""
        self.prefilled = ""
        """Arguments that the item was added with, and that the client has not been given."""
        self._with_gap: ArgumentText | None = None
        """The arguments as the deltas brought them, where an event that closes an item has a part that is not there."""
        self.completed = False
        """Whether the client was given what the deltas lacked."""
        self.joins: bool | None = None
        """Whether deltas under no output_index go on with the others; `None` before one came."""

    @property
    def given(self) -> str:
        """The deltas that the client got, joined."""
        return "".join(self._given)

    def judge(self, row: Row, message: str) -> bool:
        """Report a defect of the call at the event at hand; whether it is to be repaired."""
        return self._state.report(row, message, self._call)

    def _repaired(self, text: str) -> str:
        """Whole arguments, with their defects repaired."""
        repair = ArgumentRepair(self._state.on)
        return repair.take(text, self.judge, may_wait=False).text + repair.rest()

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        if self.repair.whole:
            return True
        return self._call.whole(may_be_empty=self._state.context.may_be_empty(self._call.name))

    @property
    def whole_by_itself(self) -> bool:
        """Whether they are a whole object and no placeholder for one, although no event said that they are over."""
        if self._has_gap:
            return False
        value = parse(self._call.arguments.reading(may_be_empty=False)[0].encode("utf-8", "replace"))
        return isinstance(value, dict) and (bool(value) or self._call.name in self._state.context.parameterless)

    @property
    def _has_gap(self) -> bool:
        """Whether a part of the arguments is lacking, and nothing has said them whole since."""
        return self._with_gap is self._call.arguments

    @property
    def joinable(self) -> bool:
        """Whether the deltas are the begin of arguments, and nothing of them came elsewhere: parts may follow."""
        first = next((text.lstrip() for text in self._given if text.strip()), "{")
        return first.startswith(("{", '"')) and not (self._has_gap or self._state.has_stray_arguments)

    @property
    def meant(self) -> str:
        """The arguments as they were meant; behind an error nothing at all is not `{}`."""
        may_be_empty = not self._state.failed and self._state.context.may_be_empty(self._call.name)
        text = self._call.arguments.reading(may_be_empty=may_be_empty)[0]
        return self._repaired(text)

    def begin_anew(self) -> None:
        """Deltas under no index are no part of what the client has."""
        self.repair, self.joins = ArgumentRepair(self._state.on, self._call.arguments.room), False

    def joins_with(self, delta: Json) -> bool:
        """Whether a delta under no index goes on with those that came; the first of them decides for all."""
        if self.joins is None and delta and isinstance(delta, str):
            self.joins = not self.repair.is_broken_by(delta)
        return self.joins is not False

    def take(self, delta: Json, *, may_wait: bool = False) -> Emitted | None:
        """What the client is to get for a delta; `None` for one without text.

        Hand its text to `give` when it is sent: until then it may still change.
        """
        text = delta if isinstance(delta, str) else self.as_text(delta)
        if text is None or not (isinstance(delta, str) or argument_delta(delta)[0] is not None):
            return None
        may_wait = may_wait and self._call.name not in self._state.context.parameterless
        return self.repair.take(text, self.judge, may_wait=may_wait)

    def settle(self) -> None:
        """No delta follows that could change the one that waits."""
        self.repair.settle(self.judge)

    def prefill(self, arguments: Json) -> None:
        """The item was added with arguments."""
        self.prefilled = self.as_text(arguments) or ""

    def prefill_again(self, arguments: Json) -> None:
        """The item was added once more: its arguments are the next part, unless they are the same."""
        text = arguments if isinstance(arguments, str) else ""
        if not text or is_object(self.prefilled) or text == self.prefilled:
            return
        if self.judge(PREFILLED_ARGUMENTS, "the item is added again with arguments"):
            self.prefilled += text

    def prefill_before(self, delta: str) -> str:
        """What is sent of the arguments that the item was added with; nothing if `delta` starts them anew."""
        prefill, self.prefilled = self.prefilled, ""
        if not prefill or (delta and not goes_on(prefill, delta)):
            return ""
        self._state.because(PREFILLED_ARGUMENTS)
        return self.repair.take(prefill, self.judge, may_wait=False).text

    def rest(self, whole: str | None = None) -> str:
        """What was held back; nothing if `whole`, the arguments in the event at hand, stands for it."""
        rest = self.repair.rest()
        if whole is None or not rest or not self._keeps:
            return rest
        given = "".join(self._given)
        self._dropped = whole.startswith(given) and given + rest != whole
        return "" if self._dropped else rest

    def give(self, text: str) -> None:
        """The client gets a delta."""
        count, room = len(text), self._call.arguments.room
        self._size += count
        self._keeps = self._keeps and self._size <= MAX_TEXT and count <= room.left
        if self._keeps:
            room.left -= count
            self._given.append(text)

    def on_skipped(self, text: str, last: str) -> None:
        """Deltas without brackets were sent unseen; see `ArgumentRepair.on_skipped`."""
        self.give(self.repair.on_skipped(text, last))

    def on_skipped_piece(self, piece: str) -> None:
        """A delta of any text was sent unseen, while none waited."""
        emitted = self.take(piece, may_wait=True)
        if emitted is not None:
            self.give(emitted.text)

    def missing(self, whole: str) -> str:
        """What the deltas lack of the whole arguments, and the client is to get."""
        given = "".join(self._given)
        if given == whole or not whole or not self._keeps:
            return ""
        if whole.startswith(given):
            row, message = SHORT_DELTAS, "the deltas lack the end of the arguments"
            if not (given or self._dropped):
                row, message = MISSING_DELTAS, "no delta brought the arguments"
            self.completed = self.judge(row, message)
            return whole[len(given) :] if self.completed else ""
        if not same_arguments(whole, given):
            self._with_gap = None if is_object(whole) else self._call.arguments
            self.judge(SHORT_DELTAS, "the deltas say other arguments than the event behind them")
        return ""

    def lose_order(self) -> None:
        """The pieces do not follow each other: nobody knows what else is lacking."""
        self._with_gap = self._call.arguments

    def compare_piece(self, piece: Json) -> None:
        """Another item of the call closes with this piece of the arguments; it may also be all of them, and garbage."""
        if not isinstance(piece, str) or is_object(piece) or (self.repair.whole and piece.startswith(self.given)):
            return
        if not self._call.arguments.text().endswith(piece):
            self._with_gap = self._call.arguments

    def as_meant(self, arguments: Json) -> str | None:
        """Whole arguments as an event is to have them; `None` where it has none."""
        given = "".join(self._given) if self._keeps else ""
        text = "" if arguments is None else self.as_text(arguments)
        if text is None or text == given or self._has_gap:
            return None if arguments is None else text
        if given.startswith(text) and is_json(given) and not is_json(text) and not self._denies(given):
            message = "the event says less of the arguments than the deltas before it"
            return given if self.judge(SHORT_CLOSING, message) else None if arguments is None else text
        if arguments is None:
            return before if is_object(before := self.meant) and self.judge(SHORT_CLOSING, _NO_ARGUMENTS) else None
        repaired = self._repaired(text)
        if not text.strip(WHITE) and self._call.arguments.empty:
            return text
        if not is_object(text) and is_object(before := self.meant) and not same_arguments(repaired, before):
            return before if self.judge(SHORT_CLOSING, _NO_ARGUMENTS) else repaired
        return repaired

    def _denies(self, given: str) -> bool:
        """Whether what came last says other whole arguments than the deltas before it."""
        said, whole = self._call.arguments.reading()
        return whole and is_object(said) and not same_arguments(said, given)

    def as_text(self, arguments: Json) -> str | None:
        """Arguments as text; `None` for what is neither text nor repaired to be text."""
        if isinstance(arguments, str):
            return arguments
        if arguments is None:
            return None
        if not self.judge(OBJECT_ARGUMENTS, f"the arguments are no text, but {type(arguments).__name__}"):
            return None
        return encoded(arguments).decode()
