"""Output items under the `call_id` of an earlier one: that call again, or another one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from toolstream_core.calls import nonblank
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.model import Kind, Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Fragment
    from toolstream_core.protocols.responses.repair.client_item import Item
    from toolstream_core.protocols.responses.repair.item_sequence import ItemRepairer

# Only its arguments tell which of the two it is. So the event that adds it waits, and everything behind it in order,
# until both are closed; then it is dropped, or goes on under an id of its own.

MAX_TWINS = 64
"""Calls of one id among which another is looked for."""
MAX_WAITING = 4096
"""Events that wait before all are let go."""

type Waiting = tuple[Event, Sequence[ResolvedFragment]]


class Repeats:
    """What waits in one response, and which calls only say an earlier one again."""

    def __init__(self, repairer: ItemRepairer) -> None:
        """For one stream."""
        self._repairer = repairer
        self._queue: deque[Waiting] = deque()
        self._again: set[int] = set()
        self._hurries = False

    @property
    def waiting(self) -> list[Waiting]:
        """What waits, in order."""
        return list(self._queue)

    @property
    def any_wait(self) -> bool:
        """Whether frames wait."""
        return bool(self._queue)

    def waits(self, event: Event, resolved: Sequence[ResolvedFragment]) -> bool:
        """Whether an event is kept, behind those that wait or as the first of them."""
        if not self._queue and not self._may_repeat(resolved):
            return False
        self._queue.append((event, resolved))
        said = event.content
        self._hurries = bool(said.finishes or said.error) or len(self._queue) > MAX_WAITING
        return True

    def ready(self, *, ended: bool = False) -> Iterator[Waiting]:
        """What need not wait any longer, in order; all of it where the body has `ended`."""
        while self._queue and (ended or self._hurries or self._decided(self._queue[0][1])):
            yield self._queue.popleft()

    def drops(self, fragment: Fragment, call: OpenCall) -> bool:
        """Whether an event is of a call that is an earlier one again, and is not to go on."""
        repairer = self._repairer
        begins = fragment.phase is Phase.OPEN and not repairer.knows(call)
        if begins and self._says_again(call):
            self._again.add(id(call))
        if self.repeats(call) and fragment.phase is Phase.CLOSE and not self._says_again(call):
            self._again.discard(id(call))
            repairer.item_of(call).dropped = True
        return self.repeats(call) and repairer.report(DOUBLED_CALL, repairer.number, "the call was said before", call)

    def drops_closed(self, item: Item) -> bool:
        """Whether a call of which the closing event is the first that has its id is an earlier one again."""
        repairer, call = self._repairer, item.call
        if self._says_again(call):
            self._again.add(id(call))
        item.known = self.repeats(call) and repairer.report(
            DOUBLED_CALL, repairer.number, "the call was said before", call
        )
        return item.known

    def repeats(self, call: OpenCall) -> bool:
        """Whether a call has been found to say an earlier one again."""
        return id(call) in self._again

    def _says_again(self, call: OpenCall) -> bool:
        """Whether a call says an earlier one again."""
        return any(self._same(call, one) for one in self._twins(call))

    def _same(self, call: OpenCall, other: OpenCall) -> bool:
        """Whether two calls say the same, and both are whole: of two halves nobody knows."""
        may_be_empty = self._repairer.context.may_be_empty(call.name)
        if not (call.whole(may_be_empty=may_be_empty) and other.whole(may_be_empty=may_be_empty)):
            return False
        return call.arguments.meaning == other.arguments.meaning

    def _may_repeat(self, resolved: Sequence[ResolvedFragment]) -> bool:
        repairer = self._repairer
        if not resolved or resolved[0].fragment.phase is not Phase.OPEN or repairer.knows(resolved[0].call):
            return False
        if repairer.as_it_comes:
            return False
        return (repairer.on(DOUBLED_CALL) or repairer.on(DUPLICATE_ID)) and bool(self._twins(resolved[0].call))

    def _decided(self, resolved: Sequence[ResolvedFragment]) -> bool:
        return not self._may_repeat(resolved) or all(
            one.closed for one in (resolved[0].call, *self._twins(resolved[0].call))
        )

    def _twins(self, call: OpenCall) -> list[OpenCall]:
        """Earlier calls of this one's id, and of its name as far as it has one."""
        if not nonblank(call.id) or call.kind is not Kind.FUNCTION:
            return []
        earlier = (item.call for item in self._repairer.of_id(call.id)[-MAX_TWINS:])
        return [one for one in earlier if one is not call and call.name in {"", one.name}]
