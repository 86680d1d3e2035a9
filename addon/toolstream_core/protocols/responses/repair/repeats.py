"""Output items under the `call_id` of an earlier one: that call again, or another one."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from toolstream_core.calls import known
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.model import Kind, Phase

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.model import Event, Fragment
    from toolstream_core.protocols.responses.repair.client_item import Item
    from toolstream_core.protocols.responses.repair.item_sequence import ItemsMender

# Only its arguments tell which of the two it is. So the event that adds it waits, and everything behind it in order,
# until both are closed; then it is dropped, or goes on under an id of its own.

MAX_TWINS = 64
"""Calls of one id among which another is looked for."""
MAX_WAITING = 4096
"""Events that wait before all are let go."""

type Waiting = tuple[Event, Sequence[Heard]]


class Repeats:
    """What waits in one response, and which calls only say an earlier one again."""

    def __init__(self, mender: ItemsMender) -> None:
        """For one stream."""
        self._mender = mender
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

    def waits(self, event: Event, heard: Sequence[Heard]) -> bool:
        """Whether an event is kept, behind those that wait or as the first of them."""
        if not self._queue and not self._may_repeat(heard):
            return False
        self._queue.append((event, heard))
        said = event.said
        self._hurries = bool(said.finishes or said.error) or len(self._queue) > MAX_WAITING
        return True

    def ready(self, *, ended: bool = False) -> Iterator[Waiting]:
        """What need not wait any longer, in order; all of it where the body has `ended`."""
        while self._queue and (ended or self._hurries or self._decided(self._queue[0][1])):
            yield self._queue.popleft()

    def drops(self, fragment: Fragment, call: OpenCall) -> bool:
        """Whether an event is of a call that is an earlier one again, and is not to go on."""
        mender = self._mender
        begins = fragment.phase is Phase.OPEN and not mender.knows(call)
        if begins and self._says_again(call):
            self._again.add(id(call))
        if self.repeats(call) and fragment.phase is Phase.CLOSE and not self._says_again(call):
            self._again.discard(id(call))
            mender.item_of(call).dropped = True
        return self.repeats(call) and mender.tell(DOUBLED_CALL, mender.number, "the call was said before", call)

    def drops_closed(self, item: Item) -> bool:
        """Whether a call of which the closing event is the first that has its id is an earlier one again."""
        mender, call = self._mender, item.call
        if self._says_again(call):
            self._again.add(id(call))
        item.known = self.repeats(call) and mender.tell(DOUBLED_CALL, mender.number, "the call was said before", call)
        return item.known

    def repeats(self, call: OpenCall) -> bool:
        """Whether a call has been found to say an earlier one again."""
        return id(call) in self._again

    def _says_again(self, call: OpenCall) -> bool:
        """Whether a call says an earlier one again."""
        return any(self._same(call, one) for one in self._twins(call))

    def _same(self, call: OpenCall, other: OpenCall) -> bool:
        """Whether two calls say the same, and both are whole: of two halves nobody knows."""
        may_be_empty = self._mender.context.may_be_empty(call.name)
        if not (call.whole(may_be_empty=may_be_empty) and other.whole(may_be_empty=may_be_empty)):
            return False
        return call.arguments.meaning == other.arguments.meaning

    def _may_repeat(self, heard: Sequence[Heard]) -> bool:
        mender = self._mender
        if not heard or heard[0].fragment.phase is not Phase.OPEN or mender.knows(heard[0].call):
            return False
        if mender.as_it_comes:
            return False
        return (mender.on(DOUBLED_CALL) or mender.on(DUPLICATE_ID)) and bool(self._twins(heard[0].call))

    def _decided(self, heard: Sequence[Heard]) -> bool:
        return not self._may_repeat(heard) or all(one.closed for one in (heard[0].call, *self._twins(heard[0].call)))

    def _twins(self, call: OpenCall) -> list[OpenCall]:
        """Earlier calls of this one's id, and of its name as far as it has one."""
        if not known(call.id) or call.kind is not Kind.FUNCTION:
            return []
        earlier = (item.call for item in self._mender.of_id(call.id)[-MAX_TWINS:])
        return [one for one in earlier if one is not call and call.name in {"", one.name}]
