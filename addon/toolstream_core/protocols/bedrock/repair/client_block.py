"""One block with a call, as the client gets it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.calls.json_grammar import WHITE
from toolstream_core.calls.json_text import meaning
from toolstream_core.calls.open_call import nonblank
from toolstream_core.defects.arguments import NULL_ARGUMENTS, OBJECT_ARGUMENTS, PREFILLED_ARGUMENTS, TRAILING_GARBAGE
from toolstream_core.defects.identity import MISSING_INDEX, ODD_INDEX
from toolstream_core.model import ABSENT, Kind
from toolstream_core.protocols.bedrock.converse_event import INDEX, with_input
from toolstream_core.protocols.bedrock.repair.identity import Identity, identify
from toolstream_core.stages.repair.streamed_call import StreamedCall
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.bedrock.converse_event import ConverseEvent, Payload
    from toolstream_core.protocols.bedrock.repair.client_message import ClientMessage

_BEGINS: Final = frozenset('{"n')
"""How arguments begin: as an object, as text that holds one, or as `null`."""


class Block(StreamedCall):
    """A block that is a call; `place` is the index under which the client gets it."""

    def __init__(
        self, message: ClientMessage, event: ConverseEvent, call: OpenCall, place: Json, *, again: bool
    ) -> None:
        """`event` starts it; `again`: whether it only says an earlier call once more."""
        super().__init__(message.context, message.reporter.on, call)
        self._message = message
        self._tool = event.tool or {}
        self.index = event.index
        self._given_index: Json = event.body.get(INDEX)
        self.indexed = False
        """Whether a delta came under the index as its start spells it, or under a number."""
        self.place = place
        self.moved = place is not event.body.get(INDEX)
        self.again = again
        self.open = True
        self.closed_early = False
        """Whether it was stopped before its own stop came."""
        self.adopted = False
        """Whether deltas of an index that no block has were taken for its own."""
        self._adopts = False
        """The same of deltas without an index: those that follow are its own, too."""
        self.texts: list[str] = []
        """Text that came inside it although it is a call."""
        self.is_call = call.kind is Kind.FUNCTION
        self.given_id = nonblank(self._tool.get("toolUseId"))
        """The id that the provider gave it."""
        self.name = nonblank(self._tool.get("name"))
        self._prefilled: str | None = None
        """Arguments that its start said, and that were left to a delta."""

    @override
    def judge(self, row: Row, message: str) -> bool:
        repair = self._message.reporter.report(row, self._message.number, message, self.call)
        return repair and not (self.torn and row is TRAILING_GARBAGE)

    @property
    def keeps(self) -> bool:
        """Whether anything of it is kept: text that came inside it, or a start that came again."""
        return bool(self.texts) or self.left_out is not None

    @property
    def prefilled(self) -> bool:
        """Whether its start said the arguments, and no delta has."""
        return self.call.start_input is not None and self.call.arguments.empty

    def is_started_by(self, event: ConverseEvent) -> bool:
        """Whether an event that starts the block again says what its start did."""
        return event.tool == self._tool

    def says(self, name: str, means: str) -> bool:
        """Whether it is this very call, with arguments that mean this, and whole."""
        if self.name != name or not self.given_whole:
            return False
        return self.call.whole(may_be_empty=self._message.context.may_be_empty(name)) and self.means == means

    @property
    def means(self) -> str:
        """Its arguments, equal where they mean the same."""
        return meaning_of(self.call)

    def at_place(self, body: Payload) -> Payload:
        """An event of it under the index that the client knows."""
        given = body.get(INDEX)
        if type(given) is int:
            known = given == self.place or (not self.moved and given == self.index)
            return body if known else {**body, INDEX: self.place}
        return {**body, INDEX: self.place} if self.judge_index(given) or self.moved else body

    def judge_index(self, given: Json) -> bool:
        """Report that an event of it does not carry its index; whether that is to be repaired."""
        if given is None:
            return self.judge(MISSING_INDEX, "an event of the call has no index")
        return self.judge(ODD_INDEX, f"the index is {given!r}")

    def header(self, body: Payload) -> Payload:
        """The start as the client is to get it."""
        tool = dict(self._tool)
        if self.is_call:
            identify(Identity(self.given_id, self.name, again=self.again), self._message, self.judge, tool)
            self._without_input(tool)
        if tool == self._tool:
            return self.at_place(body)
        return self.at_place({**body, "start": {**body["start"], "toolUse": tool}})

    def _without_input(self, tool: Payload) -> None:
        """What a start says of the arguments comes in a delta: clients pass over members that it does not have."""
        arguments = tool.get("input")
        if arguments in (None, "", {}):
            return
        if self.judge(PREFILLED_ARGUMENTS, "the block starts with its arguments"):
            del tool["input"]
            self._prefilled = arguments if isinstance(arguments, str) else encoded(arguments).decode()

    def delta(self, body: Payload) -> Payload:
        """An argument delta as the client is to get it."""
        changed = self.at_place(body)
        self.emitted = None
        arguments = body["delta"]["toolUse"].get("input", ABSENT)
        if not self.is_call or arguments is ABSENT:
            return changed
        if arguments is None:
            return with_input(changed, "") if self.judge(NULL_ARGUMENTS, "input is null") else changed
        if not isinstance(arguments, str):
            message = f"input is not text, but {type(arguments).__name__}"
            amid = self._arguments.begun and not self._arguments.whole
            if not self.judge(OBJECT_ARGUMENTS, message) or not isinstance(arguments, dict) or amid:
                return changed
        text = self.take(arguments if isinstance(arguments, str) else encoded(arguments).decode())
        return changed if text == arguments else with_input(changed, text)

    def may_be_anybodys(self, event: ConverseEvent) -> bool:
        """Whether a delta without a number as its index brings the first arguments of a block whose start has one."""
        return event.body.get(INDEX) != self._given_index and not (self.indexed or self._arguments.begun)

    def may_be_own(self, event: ConverseEvent) -> bool:
        """Whether a delta that does not carry its index can be its own: it begins its arguments, or goes on with them.

        What first comes so behind others that carried the index is not, as no provider leaves it out of some; nor what
        first comes so behind an event that nobody could read, nor what comes behind whole ones, where any carried it.
        """
        if event.body.get(INDEX) == self._given_index or event.index is not None:
            self.indexed = True
            return True
        piece = (event.tool or {}).get("input")
        if piece and (self.torn or self.indexed) and not self._adopts:
            return False
        if not isinstance(piece, str) or not piece.strip():
            return True
        if self._arguments.whole:
            return not self.indexed
        self._adopts = self._arguments.begun or piece.lstrip(WHITE)[:1] in _BEGINS
        return self._adopts

    def rest(self) -> str:
        """What is still to be said of the arguments before the stop."""
        rest = self.kept()
        if not rest and not self.given and self.is_call and self.call.start_input is None:
            self.check_lost()
        return rest

    def kept(self) -> str:
        """What was kept back of the arguments, at every end."""
        rest = self._arguments.rest() if self.is_call else ""
        if not (rest or self.given) and self._prefilled is not None:
            rest, self._prefilled = self._prefilled, None
        self.given = self.given or bool(rest)
        return rest


def meaning_of(call: OpenCall) -> str:
    """A call's arguments, equal where they mean the same."""
    arguments = call.arguments
    return arguments.meaning if arguments.whole else meaning(call.meant()[0])
