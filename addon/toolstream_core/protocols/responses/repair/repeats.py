"""Output items under the `call_id` of an earlier one: the same call again, or another call."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.responses.repair.item_start import Start
from toolstream_core.protocols.responses.repair.state import Mode

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Fragment
    from toolstream_core.protocols.responses.repair.client_item import ClientItem
    from toolstream_core.protocols.responses.repair.client_items import ClientItems
    from toolstream_core.protocols.responses.repair.state import RepairState

# Only the arguments tell whether it is the same call. So the event that adds the item waits, and everything behind it
# in order, until both calls are closed. Then it is dropped, or goes on under an id of its own.

MAX_COMPARED = 64
"""Calls of one id with which another is compared."""
MAX_WAITING = 4096
"""Events that wait before all of them go on."""

type Waiting = tuple[Event, Sequence[ResolvedFragment]]


class Repeats:
    """The events that wait in one answer, and the calls that repeat an earlier one."""

    def __init__(self, state: RepairState, items: ClientItems) -> None:
        """For one stream."""
        self._state = state
        self._items = items
        self.queue: deque[Waiting] = deque()
        """The events that wait, in order."""
        self._flushing = False

    def queues(self, event: Event, resolved: Sequence[ResolvedFragment]) -> bool:
        """Whether an event waits, behind those that do or as the first of them, which opens an item."""
        if not self.queue and not self._may_repeat(resolved):
            return False
        self.queue.append((event, resolved))
        content = event.content
        self._flushing = bool(content.finishes or content.error) or len(self.queue) > MAX_WAITING
        return True

    def ready(self, *, ended: bool = False) -> Iterator[Waiting]:
        """The events that need not wait any longer, in order; all of them where the body has `ended`."""
        while self.queue and (ended or self._flushing or self._decided(self.queue[0][1])):
            yield self.queue.popleft()

    def drops(self, fragment: Fragment, call: OpenCall) -> bool:
        """Whether an event is of a call that repeats an earlier one, and is dropped."""
        state = self._state
        if fragment.phase is Phase.OPEN and not self._is_given(call) and self._repeats_earlier(call):
            state.set_repeated(call, repeated=True)
            if (item := self._items.find(call)) is not None and state.on(DOUBLED_CALL):
                state.replaced.append(item.kept)
                item.start = Start.REPEATED
        repeated = id(call) in state.repeated
        if repeated and fragment.phase is Phase.CLOSE and not self._repeats_earlier(call):
            repeated = False
            state.set_repeated(call, repeated=False)
            item = self._items.of(call)
            item.start = Start.DROPPED if item.start is Start.NEW else item.start
        return repeated and state.report(DOUBLED_CALL, "the call was said before", call)

    def drops_closed(self, item: ClientItem) -> bool:
        """Whether a call repeats an earlier one, where only the event that closes it has its id."""
        state, call = self._state, item.call
        if self._repeats_earlier(call):
            state.set_repeated(call, repeated=True)
        dropped = id(call) in state.repeated and state.report(DOUBLED_CALL, "the call was said before", call)
        item.start = Start.REPEATED if dropped else item.start
        return dropped

    def _is_given(self, call: OpenCall) -> bool:
        """Whether more of a call was dealt with than events that came before its start, and wait for it."""
        item = self._items.find(call)
        return item is not None and item.start is not Start.NEW

    def _repeats_earlier(self, call: OpenCall) -> bool:
        earlier = self._earlier(call)
        return bool(earlier) and any(self._same(call, other) for other in earlier)

    def _same(self, call: OpenCall, other: OpenCall) -> bool:
        """Whether two calls have the same arguments, and both are whole: two halves cannot be compared."""
        may_be_empty = self._state.context.may_be_empty(call.name)
        if not (call.whole(may_be_empty=may_be_empty) and other.whole(may_be_empty=may_be_empty)):
            return False
        return call.arguments.meaning == other.arguments.meaning

    def _may_repeat(self, resolved: Sequence[ResolvedFragment]) -> bool:
        if not resolved or resolved[0].fragment.phase is not Phase.OPEN or self._state.mode is Mode.PASSED_ON:
            return False
        if self._is_given(resolved[0].call):
            return False
        repairs = self._state.on(DOUBLED_CALL) or self._state.on(DUPLICATE_ID)
        return repairs and bool(self._earlier(resolved[0].call))

    def _decided(self, resolved: Sequence[ResolvedFragment]) -> bool:
        return not self._may_repeat(resolved) or all(
            call.closed for call in (resolved[0].call, *self._earlier(resolved[0].call))
        )

    def _earlier(self, call: OpenCall) -> list[OpenCall]:
        """Earlier calls with this one's id, and its name as far as it has one."""
        if not call.id or call.kind is not Kind.FUNCTION:
            return []
        earlier = [item.call for item in self._items.with_id(call.id)[-MAX_COMPARED:]]
        return [one for one in earlier if one is not call and call.name in {"", one.name}]
