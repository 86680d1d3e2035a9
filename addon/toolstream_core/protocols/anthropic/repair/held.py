"""Anthropic events that wait: those of blocks whose turn has not come, and deltas that the next event decides."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.protocols.anthropic.repair.events import Payload, is_text, says_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event
    from toolstream_core.protocols.anthropic.repair.client_block import ClientBlock
    from toolstream_core.stages.repair.emitted import Emitted
    from toolstream_core.wire.frame import Frame


class Undecided(NamedTuple):
    """A delta for which the next one decides what the client gets; or an event behind it, without payload."""

    frame: Frame
    payload: Payload | None
    emitted: Emitted | None


class Placeholder(NamedTuple):
    """A first `{}` that waits for the next event, and the events behind it that say nothing of calls."""

    block: ClientBlock
    deltas: list[Undecided]

    @property
    def frames(self) -> list[Frame]:
        """The events that wait."""
        return [one.frame for one in self.deltas]


class Waited(NamedTuple):
    """An event of a block that waits."""

    event: Event
    payload: Payload
    call: OpenCall | None
    stops: bool

    @property
    def content(self) -> Payload:
        """The `content_block` of a block's start."""
        content = self.payload.get("content_block")
        return content if isinstance(content, dict) else {}

    def fills(self, call: OpenCall) -> bool:
        """Whether it is a delta of the call's arguments or of text, or the block's stop."""
        return self.stops or is_text(self.payload) or (self.call is call and "delta" in self.payload)


class Queue:
    """The events of one block so far, its start first."""

    __slots__ = ("events", "index", "place", "stopped")

    def __init__(self, index: int | None, start: Waited, place: int) -> None:
        """`index` is the wire's; `place`: how many blocks have waited up to this one."""
        self.index = index
        self.place = place
        self.events = [start]
        self.stopped = False
        """Whether its stop is among them."""

    @property
    def start(self) -> Waited:
        """The event that starts the block."""
        return self.events[0]


class Waiting:
    """The blocks that wait, in the order in which they started. Each event costs the same, however many wait."""

    def __init__(self) -> None:
        """Nothing waits."""
        self._queues: deque[Queue] = deque()
        self._newest: dict[int | None, Queue] = {}
        self._calls: dict[int, Queue] = {}
        """By the call that they are."""
        self.events = 0
        """How many events wait; with each block at least its start."""
        self._begun = 0
        """How many blocks have waited."""
        self._text_at = 0
        """The place of the last of them that has text."""

    @property
    def first(self) -> Queue:
        """The block whose turn comes next."""
        return self._queues[0]

    @property
    def newest(self) -> Queue | None:
        """The block that started last."""
        return self._queues[-1] if self._queues else None

    def of(self, index: int | None) -> Queue | None:
        """The newest block of an index, where it waits."""
        return self._newest.get(index)

    def of_call(self, call: OpenCall) -> Queue | None:
        """The block of a call, where it waits."""
        return self._calls.get(id(call))

    def is_overtaken(self, queue: Queue | None) -> bool:
        """Whether text of this block, or of none that waits, would go on before text that waits and came earlier."""
        waits = self._queues and self._text_at >= self.first.place
        return bool(waits) and (queue is None or queue.place < self._text_at)

    def begin(self, index: int | None, start: Waited) -> None:
        """A block starts, and waits."""
        self._begun += 1
        queue = self._newest[index] = Queue(index, start, self._begun)
        self._queues.append(queue)
        if start.call is not None:
            self._calls[id(start.call)] = queue
        self.events += 1
        self._note_text(queue, start)

    def add(self, queue: Queue, waited: Waited) -> None:
        """One more event of a block that waits."""
        queue.events.append(waited)
        queue.stopped = queue.stopped or waited.stops
        self.events += 1
        self._note_text(queue, waited)

    def _note_text(self, queue: Queue, waited: Waited) -> None:
        if says_text(waited.payload):
            self._text_at = max(self._text_at, queue.place)

    def pop(self) -> Queue:
        """Take out the block whose turn it is."""
        queue = self._queues.popleft()
        if self._newest.get(queue.index) is queue:
            del self._newest[queue.index]
        self._calls.pop(id(queue.start.call), None)
        self.events -= len(queue.events)
        return queue

    def frames(self) -> Iterator[Frame]:
        """The frames of all events that wait."""
        return (waited.event.frame for queue in self._queues for waited in queue.events)
