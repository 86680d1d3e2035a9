"""One block with a call, as the client is told it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_object, meaning, says_nothing
from toolstream_core.calls.open_call import nonblank
from toolstream_core.defects.arguments import LOST_ARGUMENTS, OBJECT_ARGUMENTS, PREFILLED_ARGUMENTS
from toolstream_core.model import ABSENT, Kind
from toolstream_core.protocols.bedrock.converse_event import INDEX, index_of, with_input
from toolstream_core.protocols.bedrock.repair.identity import Identity, identify
from toolstream_core.stages.repair.arguments import ArgumentRepair
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Json
    from toolstream_core.protocols.bedrock.converse_event import ConverseEvent, Payload
    from toolstream_core.protocols.bedrock.repair.client_message import ClientMessage
    from toolstream_core.stages.repair.emitted import Told


class Block:
    """A block that is a call; `place` is the index under which the client gets it."""

    def __init__(
        self, message: ClientMessage, event: ConverseEvent, call: OpenCall, place: Json, *, again: bool
    ) -> None:
        """`event` starts it; `again`: whether it only says an earlier call once more."""
        self._message = message
        self._tool = event.tool or {}
        self.call = call
        self.index = event.index
        self.place = place
        self.moved = place is not event.body.get(INDEX)
        self.again = again
        self.open = True
        self.closed_early = False
        """Whether it was stopped before its own stop came."""
        self.adopted = False
        """Whether deltas of an index that no block has were taken for its own."""
        self.late = False
        """Whether arguments came behind its stop."""
        self.texts: list[str] = []
        """Text that came inside it although it is a call."""
        self.is_call = call.kind is Kind.FUNCTION
        self.given_id = nonblank(self._tool.get("toolUseId"))
        """The id that the provider gave it."""
        self.name = nonblank(self._tool.get("name"))
        self._arguments = ArgumentRepair(message.reporter.on)
        self._changed = False
        """Whether the client was told anything else of its arguments than what came."""
        self.told: Told | None = None
        """What the client is to be told for the last delta; may still change while that waits."""
        self._given = False
        """Whether the client has been given anything of the arguments."""
        self._prefilled: str | None = None
        """Arguments that its start said, and that were left to a delta."""

    def judge(self, row: Row, message: str) -> bool:
        """Tell a defect of this call at the event that is looked at; whether it is to be repaired."""
        return self._message.reporter.report(row, self._message.number, message, self.call)

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of it but its stop."""
        may_be_empty = self._message.context.may_be_empty(self.call.name)
        return self._arguments.whole or self.call.whole(may_be_empty=may_be_empty)

    @property
    def finished(self) -> bool:
        """Whether its arguments have come and are whole, so that it can be stopped without more ado."""
        return not self.call.arguments.empty and self.whole

    @property
    def prefilled(self) -> bool:
        """Whether its start said the arguments, and no delta has."""
        return self.call.start_input is not None and self.call.arguments.empty

    @property
    def runnable(self) -> bool:
        """Whether it is whole, and its arguments are an object; costs as much as they are long."""
        call = self.call
        if self.late or not self.whole or self._arguments.spoilt:
            return False
        if call.arguments.empty:
            return True
        if self._changed and self._arguments.whole:
            return call.closed or call.whole()
        text = call.arguments.reading()[0]
        if says_nothing(text) and not call.over:
            return self._message.context.takes_none(call.name)
        return is_object(text)

    @property
    def waiting(self) -> bool:
        """Whether a first `{}` may turn out to stand for what follows."""
        return self._arguments.waiting

    @property
    def placeholder(self) -> bool:
        """Whether it is a first `{}` that waits so."""
        return self._arguments.placeholder

    def settle(self) -> None:
        """Nothing follows that could change what waits."""
        self._arguments.settle(self.judge)

    def says(self, name: str, means: str) -> bool:
        """Whether it is this very call, with arguments that mean this, and whole."""
        if self.name != name or self.late:
            return False
        return self.call.whole(may_be_empty=self._message.context.may_be_empty(name)) and self.means == means

    @property
    def means(self) -> str:
        """Its arguments, equal where they mean the same."""
        return meaning_of(self.call)

    def at_place(self, body: Payload) -> Payload:
        """An event of it under the index that the client knows."""
        named = not self.moved and index_of(body) == self.index
        return body if named or body.get(INDEX) == self.place else {**body, INDEX: self.place}

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
        said = tool.get("input")
        if said in (None, "", {}):
            return
        if self.judge(PREFILLED_ARGUMENTS, "the block starts with its arguments"):
            del tool["input"]
            self._prefilled = said if isinstance(said, str) else encoded(said).decode()

    def delta(self, body: Payload) -> Payload:
        """An argument delta as the client is to get it."""
        changed = self.at_place(body)
        said = body["delta"]["toolUse"].get("input", ABSENT)
        if not self.is_call or said is ABSENT:
            return changed
        if not isinstance(said, str):
            message = f"input is not text, but {type(said).__name__}"
            if said is None or not self.judge(OBJECT_ARGUMENTS, message) or not isinstance(said, dict):
                return changed
        text = self._take(said if isinstance(said, str) else encoded(said).decode())
        return changed if text == said else with_input(changed, text)

    def _take(self, text: str) -> str:
        may_wait = not self._message.context.takes_none(self.call.name)
        self.told = self._arguments.take(text, self.judge, may_wait=may_wait)
        self._given = self._given or bool(self.told.text.strip())
        self._changed = self._changed or self.told.text != text
        return self.told.text

    def rest(self) -> str:
        """What is still to be said of the arguments before the stop."""
        rest = self.kept()
        if rest or self._given or not self.is_call:
            return rest
        nothing = self.call.arguments.empty and self.call.start_input is None
        if nothing and not self._message.context.may_be_empty(self.call.name):
            self.judge(LOST_ARGUMENTS, f"{self.call.name} has required parameters and got no arguments")
        return ""

    def kept(self) -> str:
        """What was kept back of the arguments, at every end."""
        rest = self._arguments.rest() if self.is_call else ""
        if not (rest or self._given) and self._prefilled is not None:
            rest, self._prefilled = self._prefilled, None
        self._given = self._given or bool(rest)
        return rest


def meaning_of(call: OpenCall) -> str:
    """A call's arguments, equal where they mean the same."""
    arguments = call.arguments
    return arguments.meaning if arguments.whole else meaning(call.meant()[0])
