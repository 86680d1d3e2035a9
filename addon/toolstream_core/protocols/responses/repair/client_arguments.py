"""The arguments of one Responses item, as the client has been told them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.arguments import MAX_TEXT
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
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.responses.repair.item_sequence import ItemRepairer
    from toolstream_core.stages.repair.emitted import Told


class EventContent:
    """What deltas have said, and what the events that say arguments whole have to say with them."""

    def __init__(self, repairer: ItemRepairer, call: OpenCall) -> None:
        """Nothing yet."""
        self._repairer = repairer
        self._call = call
        self._told: list[str] = []
        self._size = 0
        self._spelling = ArgumentRepair(repairer.on)
        self._dropped = False
        """Whether deltas were kept back that an event behind them stands for."""
        self._head = ""
        """Arguments that the item was added with, and that the client has not been given."""
        self.completed = False
        """Whether the client was given what the deltas lacked."""

    def judge(self, row: Row, message: str) -> bool:
        """Tell a defect of the call at the event that is looked at."""
        return self._repairer.report(row, self._repairer.number, message, self._call)

    def _at_once(self, text: str) -> str:
        """Arguments that are said at once, as they are meant."""
        spelling = ArgumentRepair(self._repairer.on)
        return spelling.take(text, self.judge, may_wait=False).text + spelling.rest()

    @property
    def whole(self) -> bool:
        """Whether nothing is missing."""
        may_be_empty = self._repairer.context.may_be_empty(self._call.name)
        return self._spelling.whole or self._call.whole(may_be_empty=may_be_empty)

    @property
    def whole_by_itself(self) -> bool:
        """Whether they are a whole object, and no placeholder of one, where nothing said that they are over."""
        value = parse(self._call.arguments.reading(may_be_empty=False)[0].encode("utf-8", "replace"))
        return isinstance(value, dict) and (bool(value) or self._repairer.context.takes_none(self._call.name))

    @property
    def meant(self) -> str:
        """The arguments as they were meant."""
        may_be_empty = self._repairer.context.may_be_empty(self._call.name)
        text = self._call.arguments.reading(may_be_empty=may_be_empty)[0]
        return self._at_once(text)

    @property
    def inside_value(self) -> bool:
        """As `ArgumentRepair.inside_value`."""
        return self._spelling.inside_value

    @property
    def decided(self) -> bool:
        """As `ArgumentRepair.decided`."""
        return self._spelling.decided

    @property
    def waiting(self) -> bool:
        """Whether the delta taken last may still change."""
        return self._spelling.waiting

    def take(self, said: Json, *, may_wait: bool = False) -> Told | None:
        """What goes on for a delta, to be handed to `report` when it does; `None` for one that says nothing."""
        text = self.as_text(said)
        if text is None or not isinstance(said, str | dict):
            return None
        may_wait = may_wait and not self._repairer.context.takes_none(self._call.name)
        return self._spelling.take(text, self.judge, may_wait=may_wait)

    def settle(self) -> None:
        """No delta follows that could change the one that waits."""
        self._spelling.settle(self.judge)

    def begun(self, said: Json) -> None:
        """The item was added with these arguments."""
        self._head = self.as_text(said) or ""

    def begun_again(self, said: Json) -> None:
        """The item was added once more, with these: the next part, unless they are the same."""
        text = said if isinstance(said, str) else ""
        if not text or is_object(self._head) or text == self._head:
            return
        if self.judge(PREFILLED_ARGUMENTS, "the item is added again with arguments"):
            self._head += text

    def head(self, delta: str) -> str:
        """What goes on of the arguments that the item was added with; none before a `delta` that says others."""
        head, self._head = self._head, ""
        if not head or (delta and not goes_on(head, delta)):
            return ""
        self._repairer.because(PREFILLED_ARGUMENTS)
        return self._spelling.take(head, self.judge, may_wait=False).text

    def rest(self, meant: str | None = None) -> str:
        """As `ArgumentRepair.rest`; nothing where `meant`, the arguments as an event says them whole, stand for it."""
        rest = self._spelling.rest()
        if meant is None or not rest:
            return rest
        given = "".join(self._told)
        self._dropped = meant.startswith(given) and given + rest != meant
        return "" if self._dropped else rest

    def report(self, text: str) -> None:
        """The client gets a delta."""
        self._size += len(text)
        if self._size <= MAX_TEXT:
            self._told.append(text)

    def on_skipped(self, text: str, last: str) -> None:
        """Take fragments that went on as they are; as `ArgumentRepair.on_skipped`."""
        self.report(self._spelling.on_skipped(text, last))

    def went_by_itself(self, piece: str) -> None:
        """Take a fragment, whatever it says, that nothing waits for."""
        told = self.take(piece, may_wait=True)
        if told is not None:
            self.report(told.text)

    def lacking(self, text: str) -> str:
        """What the deltas lack of the arguments, and are to be given."""
        given = "".join(self._told)
        if given == text or not text or self._size > MAX_TEXT:
            return ""
        if text.startswith(given):
            row, message = SHORT_DELTAS, "the deltas lack the end of the arguments"
            if not (given or self._dropped):
                row, message = MISSING_DELTAS, "no delta brought the arguments"
            self.completed = self.judge(row, message)
            return text[len(given) :] if self.completed else ""
        if not same_arguments(text, given):
            self.judge(SHORT_DELTAS, "the deltas say other arguments than the event behind them")
        return ""

    def cleaned(self, said: Json) -> str | None:
        """Arguments that are said whole, as they were meant; `None` where nothing is said."""
        given = "".join(self._told) if self._size <= MAX_TEXT else ""
        text = "" if said is None else self.as_text(said)
        if text is None or text == given:
            return None if said is None else text
        if given.startswith(text) and is_json(given) and not is_json(text):
            message = "the event says less of the arguments than the deltas before it"
            return given if self.judge(SHORT_CLOSING, message) else None if said is None else text
        if said is None:
            return None
        meant = self._at_once(text)
        if not is_object(meant) and is_object(before := self.meant):
            message = "the event says no whole arguments, those before it do"
            return before if self.judge(SHORT_CLOSING, message) else meant
        return meant

    def as_text(self, said: Json) -> str | None:
        """Arguments as text; an object is one where it is to be mended."""
        if isinstance(said, str):
            return said
        if said is None or not self.judge(OBJECT_ARGUMENTS, f"the arguments are no text, but {type(said).__name__}"):
            return None
        return encoded(said).decode()
