"""Converse blocks under the id of an earlier call: each waits for its stop, and goes where it is that call again."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.protocols.bedrock.converse_event import BLOCK_START, BLOCK_STOP, INPUT, event_of
from toolstream_core.protocols.bedrock.repair.client_block import meaning_of
from toolstream_core.protocols.bedrock.repair.unknown_blocks import UnknownBlockRepairer
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.protocols.bedrock.converse_event import ConverseEvent
    from toolstream_core.protocols.bedrock.repair.client_block import Block
    from toolstream_core.protocols.bedrock.repair.held import Waited
    from toolstream_core.stages.context import Context


class DoubledCallRepairer(UnknownBlockRepairer):
    """Drops calls that say earlier ones again."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._again: list[Waited] = []
        """The events since the start of a block that may be an earlier call again."""
        self._doubled: list[Waited] = []
        """Those of the last call that was dropped."""
        self._dropped: set[int] = set()
        """Calls that say earlier ones again and were let go, by `id(call)`."""

    def _one(self, one: Waited, event: ConverseEvent) -> None:
        """Deal with an event."""
        raise NotImplementedError

    def _of_candidate(self, one: Waited, event: ConverseEvent) -> None:
        """An event while a block may be an earlier call again."""
        candidate = self._again[0].call
        if event.kind == BLOCK_START and one.call is not candidate:
            self._decide()
            self._one(one, event)
            return
        self._again.append(one)
        if event.kind == BLOCK_STOP and one.call is candidate:
            self._decide()

    def _decide(self, *, more: bool = False) -> None:
        """Whether the block that waits is an earlier call again: then it goes; if `more` may follow it keeps its id."""
        waited, self._again = self._again, []
        first = waited[0]
        call, start = first.call, event_of(first.event.frame)
        assert call is not None
        assert start is not None
        again = self._is_again(call)
        number, self.message.number = self.message.number, first.event.frame.number
        drop = again and self.report(DOUBLED_CALL, self.message.number, f"{call.name} was called so before", call)
        if drop:
            self._doubled = [one for one in waited if one.call is call]
        else:
            self._begin(first, start, again=again or more)
        for one in waited[1:]:
            event = event_of(one.event.frame)
            if event is not None and not (drop and one.call is call):
                self.message.number = one.event.frame.number
                self._one(one, event)
        self.message.number = number

    def _may_be_again(self, event: ConverseEvent) -> bool:
        identity = (event.tool or {}).get("toolUseId")
        same = isinstance(identity, str) and identity in self.by_id
        return same and (self.on(DOUBLED_CALL) or self.on(DUPLICATE_ID))

    def _is_again(self, call: OpenCall) -> bool:
        if not call.whole(may_be_empty=self.context.may_be_empty(call.name)):
            return False
        return any(one.says(call.name, meaning_of(call)) for one in self.by_id.get(call.id, ()))

    def _is_dropped(self, one: Waited, event: ConverseEvent) -> bool:
        """Whether an event is let go that is of an earlier call again."""
        if one.call is None:
            return False
        if id(one.call) in self._dropped:
            self._doubled += [one] if self._is_doubled(one.call) else []
            return True
        new = event.kind == BLOCK_START and id(one.call) not in self._by_call
        again = new and self._may_be_again(event) and self._is_again(one.call)
        message = f"{one.call.name} was called so before"
        if again and self.report(DOUBLED_CALL, one.event.frame.number, message, one.call):
            self._dropped.add(id(one.call))
            self._doubled = [one]
            return True
        return False

    def _is_doubled(self, call: OpenCall) -> bool:
        return bool(self._doubled) and self._doubled[0].call is call

    @override
    def _delta_of_unknown(self, one: Waited, event: ConverseEvent) -> None:
        if one.call is not None and self._is_doubled(one.call) and json_access.get(event.body, *INPUT):
            self._bring_back()
            self._delta(one, event)
        else:
            super()._delta_of_unknown(one, event)

    @override
    def _spoilt(self, block: Block) -> None:
        """A block that only said this one again is sent: it alone may be whole now."""
        first = self._doubled[0].call if self._doubled else None
        if first is not None and first.id == block.given_id:
            self._bring_back()

    def _bring_back(self) -> None:
        """Send a block that was dropped: arguments came behind a stop, so it does not say the earlier call again."""
        (first, *rest), self._doubled = self._doubled, []
        self._dropped.discard(id(first.call))
        number, start = self.message.number, event_of(first.event.frame)
        if start is not None:
            self._begin(first, start, again=False)
        for one in rest:
            event = event_of(one.event.frame)
            if event is not None:
                self.message.number = one.event.frame.number
                self._one(one, event)
        self.message.number = number
