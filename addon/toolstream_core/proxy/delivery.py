"""One answer's way to the client in time: what is sent, when, and how it ends. Knows asyncio's clock."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from typing import TYPE_CHECKING, Final, Protocol, override

from toolstream_core.proxy.flow_facts import Provided
from toolstream_core.proxy.live_response import pieces
from toolstream_core.sockets.saved import close_code
from toolstream_core.transit import Ask, BreakKind, Cut, EventPlace, Finish, Hold, Send, Wait, repair_cut
from toolstream_core.wire.form import CONTENT_TYPES, Form

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Sequence
    from typing import Any

    from toolstream_core.delivery.schedule import Schedule
    from toolstream_core.proxy.live_response import Watch
    from toolstream_core.shrinking.candidate import Chunk
    from toolstream_core.transit import Action


NOWHERE = EventPlace(0, 0, has_data=False)
"""The place of bytes that are no event of the stream."""
HEARTBEAT = Send(b": keep-alive\n\n", NOWHERE)
"""A comment, which clients skip."""
_ACTION: Final = 256
"""Bytes that an action takes beside its data, about."""


class ActionQueue:
    """The actions that are still to be taken for one answer."""

    def __init__(self, watch: Watch, schedule: Schedule | None) -> None:
        """`schedule` has the faults of time and transport; without it each piece is simply sent."""
        self._watch = watch
        self._schedule = schedule
        self._actions: deque[Action] = deque()
        self.waiting = 0
        """Bytes that the actions take."""

    def __bool__(self) -> bool:
        """Whether an action is left."""
        return bool(self._actions)

    def pop(self) -> Action:
        """The next action."""
        action = self._actions.popleft()
        self.waiting -= _size(action)
        return action

    def add(self, *actions: Action) -> None:
        """Take actions behind all others."""
        self._actions.extend(actions)
        self.waiting += sum(map(_size, actions))

    def add_first(self, action: Action) -> None:
        """Take an action before all others."""
        self._actions.appendleft(action)
        self.waiting += _size(action)

    def take_bytes(self) -> list[bytes]:
        """What is still to be sent, without the faults, which are over."""
        held = () if self._schedule is None else self._schedule.release()
        left = [one for one in (*self._actions, *held) if isinstance(one, Send | Ask)]
        self._schedule = None
        self.clear()
        return [one.raw if isinstance(one, Send) else one.event.frame.raw for one in left]

    def clear(self) -> None:
        """Nothing is to be done any more."""
        self._actions.clear()
        self.waiting = 0

    def hold(self, hold: Hold) -> float | None:
        """Put what comes behind the next wait of `hold` in front; that wait in seconds, `None` where it is over."""
        if hold.seconds is not None and hold.seconds <= 0:
            return None
        heartbeat = hold.heartbeat or math.inf
        pause = min(heartbeat, math.inf if hold.seconds is None else hold.seconds)
        self.add(Hold(None if hold.seconds is None else hold.seconds - pause, hold.heartbeat))
        if hold.heartbeat is not None and pause == heartbeat:
            self.add_first(HEARTBEAT)
        return pause

    def begin(self) -> None:
        """The headers are about to go."""
        if self._schedule is not None:
            self._add_scheduled(self._schedule, self._schedule.begin)

    def read(self, data: bytes) -> None:
        """Let bytes of a saved answer be read, and send what they become; `b""` is the end."""
        for piece in pieces(self._watch.stream(data)):
            self.send(piece)

    def send(self, piece: bytes) -> None:
        """Send a piece, by way of the faults; `b""` is the end."""
        schedule = self._schedule
        if schedule is not None:
            schedule.rest += piece
            self._add_scheduled(schedule, lambda: schedule.feed(piece))
        elif piece:
            self.add(Send(piece, NOWHERE))

    def _add_scheduled(self, schedule: Schedule, actions: Callable[[], Iterable[Action]]) -> None:
        """Take the schedule's actions. One that fails is used no more, and what it has taken goes on unchanged."""
        try:
            self.add(*actions())
        except Exception as error:  # noqa: BLE001 - mitmproxy would drop the connection
            self._schedule = None
            self.add(*schedule.release())
            self._watch.failed(error)

    def end(self) -> None:
        """End the body in order, or as a break where it stops in the middle of a call."""
        self.send(b"")
        self._watch.tell_end()
        if self._watch.half is not None:
            self.add(repair_cut(self._watch.half.name))

    def end_saved(self, broken: str | None) -> None:
        """End a saved answer as it was recorded: in order, or as the break `broken`, where no repair mends that."""
        if broken is None or self._watch.forgives(broken):
            self.read(b"")
            self.end()
        else:
            how = BreakKind.RESET if self._watch.flow.request.is_http2 else BreakKind.CLOSE
            self.add(Cut(how, broken, close_code(broken)))


def _size(action: Action) -> int:
    return _ACTION + (len(action.raw) if isinstance(action, Send) else 0)


class Break:
    """The client's connection breaks here."""

    def __init__(self, how: BreakKind, why: str, code: int | None = None) -> None:
        """`why` is what the flow's error says; `code` is what a WebSocket is closed with, `None` for no close frame."""
        self.how = how
        self.why = why
        self.code = code


class End:
    """The body ends here in order."""


type Step = bytes | Break | End | None
"""What comes next: bytes go, the stream breaks, it ends; `None`: nothing more for what was offered."""


class Delivery(Protocol):
    """One answer's way to the client, step by step."""

    paced: bool
    """Whether it decides on every piece, not only on how the answer ends."""
    step: Step
    """The step that `advance` found."""

    def offer_headers(self) -> None:
        """The headers are about to go."""
        ...

    def offer(self, piece: bytes | None) -> None:
        """A piece of the body is about to go; `None` is the body's end."""
        ...

    def advance(self) -> bool:
        """Find the next step; whether that needs no waiting. What it is stands in `step`."""
        ...

    async def wait(self) -> None:
        """Wait until `advance` may be asked again."""
        ...

    @property
    def pause(self) -> float | None:
        """For how many seconds `wait` would wait at most, `None` for no known time."""
        ...

    def left(self) -> None:
        """The client has gone: nothing is worth waiting for."""
        ...

    def overflow(self) -> None:
        """Too much has come while the client waits, and upstream cannot be made to wait: end with an error."""
        ...

    def forgives(self, message: str) -> bool:
        """Whether the answer is whole, although upstream's connection broke so."""
        ...


class SavedChunks:
    """What is still to come of an answer that was saved."""

    def __init__(self, chunks: Iterable[Chunk], speed: float) -> None:
        """The chunks come `speed` times as fast as they were recorded, at once where it is 0."""
        self._chunks = deque(chunks)
        self._speed = speed
        self._begun: float | None = None

    def __bool__(self) -> bool:
        """Whether chunks are left."""
        return bool(self._chunks)

    @property
    def begun(self) -> bool:
        """Whether the time of the answer runs."""
        return self._begun is not None

    def begin(self, now: float) -> None:
        """The time of the answer runs from `now`, in seconds; only the first call counts."""
        if self._begun is None:
            self._begun = now

    @property
    def due(self) -> float:
        """When the next chunk is due, on the clock of `begin`."""
        assert self._begun is not None
        return self._begun + (self._chunks[0].after / 1000 / self._speed if self._speed else 0.0)

    def extend(self, chunks: Iterable[Chunk]) -> None:
        """Further chunks have come."""
        self._chunks.extend(chunks)

    def pop(self) -> bytes:
        """The next chunk's bytes."""
        return self._chunks.popleft().data

    def clear(self) -> None:
        """Nothing more is wanted."""
        self._chunks.clear()


logger = logging.getLogger(__name__)

ASKING = 60.0
"""Seconds after which the client gets the stream as it was."""
FETCHING = 600.0
"""Seconds after which an answer that is fetched whole counts as never coming."""
OVERFLOW = "more than 16 MiB arrived while a fault delayed the response; use a shorter ms=, or HTTP/1.1"
BEAT = 5.0
"""Seconds between comments while the client waits for a second answer."""


class WatchedDelivery(Delivery):
    """The way of an answer that is watched."""

    def __init__(
        self,
        watch: Watch,
        schedule: Schedule | None = None,
        saved: Provided | None = None,
        speed: float = 0.0,
        closed: Callable[[], None] = lambda: None,
        again: Callable[[Ask], Coroutine[Any, Any, bytes]] | None = None,
        fetch: Callable[[WatchedDelivery], Coroutine[Any, Any, Sequence[Chunk]]] | None = None,
    ) -> None:
        """`schedule` has the faults, `saved` an answer that goes in its own time, `speed` times as fast, at once if 0.

        `closed` is called when the answer is over; `again` gives what goes in the place of the finish of an answer
        whose calls never came. `fetch` gives the chunks of an answer that is not there yet.
        """
        self.paced = schedule is not None or saved is not None or fetch is not None
        self.step: Step = None
        self._watch = watch
        self._told = watch.told_by_delivery() if schedule or fetch or (saved and watch.rewrites) else None
        self._queue = ActionQueue(watch, schedule)
        chunks, self._broken, _ = saved or Provided((), None)
        self._saved = SavedChunks(chunks, speed)
        self.provided = saved is not None or fetch is not None
        """Whether the body comes from saved chunks, and not from the piece that is offered."""
        self._providing = False
        """Whether the headers have gone and saved chunks are still to come."""
        self._closed = closed
        self._again = again
        self._fetch = fetch
        self._fetching: asyncio.Task[Sequence[Chunk]] | None = None
        self._patience = 0.0
        self.heading = False
        """Whether the headers have not gone yet."""
        self.unread = False
        """Whether what is fetched is no answer to be read, but an error as it came."""
        self._asked: asyncio.Task[bytes] | None = None
        self._due: float | None = None
        self._gone = asyncio.Event()
        self._wake = asyncio.Event()
        """Set when there is no more reason to wait, or something has come that was waited for."""
        self._waited = self._last = self._overflown = False

    @override
    def offer_headers(self) -> None:
        self.heading = True
        self._queue.begin()

    @override
    def offer(self, piece: bytes | None) -> None:
        """Of an answer that is provided, its chunks come in the place of the one piece that it is."""
        self.heading = False
        if not self._last and self.provided:
            self._providing = not self._saved.begun
        if piece is None:
            self._last = True
            if not self.provided:
                self._queue.end()
        elif not self.provided:
            self._queue.send(piece)

    @property
    def waiting(self) -> int:
        """Bytes that wait to be sent."""
        return self._queue.waiting

    def take_waiting(self) -> list[bytes]:
        """What waits to be sent; no fault acts on it any more."""
        step = [self.step] if isinstance(self.step, bytes) else []
        self.step = None
        return step + self._queue.take_bytes()

    def cut_short(self, last: bytes) -> None:
        """Let this be the end of an answer that is provided, in the place of all that is still to come."""
        self._queue.clear()
        self._saved.clear()
        self._providing, self._due = False, None
        self._queue.read(last)
        self._queue.end_saved(None)

    @override
    def advance(self) -> bool:
        self.step = None
        try:
            ready = self._advance()
            self._tell(self.step)
        except Exception as error:  # noqa: BLE001 - raised inside mitmproxy's layer, it would leave the client waiting
            self._give_up(error)
            return True
        return ready

    def _tell(self, step: Step) -> None:
        """Report what goes to the client."""
        if self._told is not None and isinstance(step, bytes) and step:
            self._told(step)

    def _advance(self) -> bool:
        if self._gone.is_set():
            self._queue.clear()
            self._saved.clear()
            return self._is_over()
        while True:
            if self._due is not None and self._due > _now():
                return False
            self._due = None
            if self._queue:
                if self._does(self._queue.pop()):
                    return True
            elif self._fetch is not None and (self.heading or self._providing) and self._still_fetching(self._fetch):
                continue
            elif self.heading:
                return True
            elif not self._next_chunk():
                return self._is_over()

    @property
    @override
    def pause(self) -> float | None:
        if self._due is None or math.isinf(self._due) or self._asked or self._fetching:
            return None
        return max(0.0, self._due - _now())

    @override
    async def wait(self) -> None:
        if self._due is None:
            return
        seconds = None if math.isinf(self._due) else max(0.0, self._due - _now())
        try:
            await asyncio.wait_for(self._wake.wait(), seconds)
        except TimeoutError:
            return
        if not self._gone.is_set():
            self._wake.clear()
            self._due = None

    def _give_up(self, error: Exception) -> None:
        """After an internal error: send what waits at once; a response that is made here breaks off."""
        self._watch.failed(error)
        self._told = self._due = None
        self.step = b"".join(self.take_waiting()) or None
        if self.provided:
            how = BreakKind.RESET if self._watch.flow.request.is_http2 else BreakKind.CLOSE
            self.step = Break(how, "internal error of toolstream")

    @override
    def left(self) -> None:
        self._gone.set()
        self._wake.set()
        for task in (self._asked, self._fetching):
            if task is not None:
                task.cancel()

    @override
    def overflow(self) -> None:
        if self._overflown:
            return
        self._overflown = True
        logger.error("toolstream: flow %s ends with an error: %s", self._watch.flow.id, OVERFLOW)
        self._queue.clear()
        self._queue.add(Cut(BreakKind.RESET, OVERFLOW))
        self._due = None
        self._wake.set()

    @override
    def forgives(self, message: str) -> bool:
        return bool(self._watch.forgives(message))

    def _is_over(self) -> bool:
        if self._last:
            self._closed()
        return True

    def _does(self, action: Action) -> bool:
        """Begin an action; whether it is a step that the gate takes."""
        match action:
            case Send(raw):
                self.step = raw
                return bool(raw)
            case Wait(seconds):
                self._due = _now() + seconds
            case Cut(how, why, code):
                self.step = Break(how, why, code)
            case Finish():
                self._watch.finish(broken="ended by toolstream_fault")
                self._closed()
                self.step = End()
            case Hold():
                pause = self._queue.hold(action)
                self._due = None if pause is None else _now() + pause
            case Ask():
                return self._waits_for(action)
        return self.step is not None

    def _waits_for(self, ask: Ask) -> bool:
        """Wait for the second answer, with a comment now and then."""
        if self._asked is None:
            assert self._again is not None
            self._asked = asyncio.create_task(self._again(ask))
            self._asked.add_done_callback(lambda _: self._wake.set())
        if self._asked.done():
            error = self._asked.exception()
            if isinstance(error, Exception):
                self._watch.failed(error)
            self.step = ask.event.frame.raw if error is not None else self._asked.result()
            return True
        self._due = _now() + BEAT
        self._queue.add_first(ask)
        if self._waited and ask.comments:
            self.step = HEARTBEAT.raw
        self._waited = True
        return self.step is not None

    def _still_fetching(self, fetch: Callable[[WatchedDelivery], Coroutine[Any, Any, Sequence[Chunk]]]) -> bool:
        """Wait for the answer: the headers for a while, so that an error can be one; then with comments."""
        if self._fetching is None:
            self._fetching = asyncio.create_task(fetch(self))
            self._fetching.add_done_callback(lambda _: self._wake.set())
            self._patience = _now() + BEAT
        if self._fetching.done():
            self._saved.extend(self._fetching.result())
            self._fetch = self._fetching = None
            return False
        if self._patience <= _now():
            if self.heading:
                return False
            self._patience = _now() + BEAT
            if self._watch.exchange.content_type.startswith(CONTENT_TYPES[Form.EVENTS]):
                self._queue.add(HEARTBEAT)
                return True
        self._due = self._patience
        return True

    def _next_chunk(self) -> bool:
        """Let the next chunk of a provided answer come when it is due; whether there is one."""
        if not self._providing:
            return False
        self._saved.begin(_now())
        if not self._saved:
            self._providing = False
            self._queue.end_saved(self._broken)
            return bool(self._queue)
        if self._saved.due > _now():
            self._due = self._saved.due
            return True
        data = self._saved.pop()
        if self.unread:
            self._queue.add(Send(data, NOWHERE))
        else:
            self._queue.read(data)
        return True


def _now() -> float:
    return asyncio.get_running_loop().time()
