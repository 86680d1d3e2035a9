"""One answer's way to the client in time: what is sent, when, and how it ends. Knows asyncio's clock."""

from __future__ import annotations

import asyncio
import math
from collections import deque
from typing import TYPE_CHECKING

from toolstream_core.proxy.provided import Provided
from toolstream_core.proxy.steps import Break, End
from toolstream_core.transit import Ask, BreakKind, Cut, EventPlace, Finish, Hold, Send, Wait
from toolstream_core.wire.form import CONTENT_TYPES, Form

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence
    from typing import Any

    from toolstream_core.delivery.schedule import Schedule
    from toolstream_core.fixtures import Chunk
    from toolstream_core.proxy.steps import Step
    from toolstream_core.proxy.watch import Watch
    from toolstream_core.transit import Action

ASKING = 60.0
"""Seconds after which the client gets the stream as it was."""
FETCHING = 600.0
"""Seconds after which an answer that is fetched whole counts as never coming."""
BEAT = 5.0
"""Seconds between comments while the client waits for a second answer."""
_NOWHERE = EventPlace(0, 0, has_data=False)
_HEARTBEAT = b": keep-alive\n\n"


class WatchedDelivery:
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
        self._pace = schedule
        chunks, self._broken = saved or Provided((), None)
        self._saved = deque(chunks)
        self.provided = saved is not None or fetch is not None
        """Whether the body comes from saved chunks, and not from the piece that is offered."""
        self._providing = False
        """Whether the headers have gone and saved chunks are still to come."""
        self._speed = speed
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
        self._queue: deque[Action] = deque()
        self._due: float | None = None
        self._begun: float | None = None
        self._gone = asyncio.Event()
        self._wake = asyncio.Event()
        """Set when there is no more reason to wait, or something has come that was waited for."""
        self._waited = self._last = False

    def offer_headers(self) -> None:
        """As `Delivery`."""
        self.heading = True
        if self._pace is not None:
            self._queue.extend(self._pace.begin())

    def offer(self, piece: bytes | None) -> None:
        """As `Delivery`: of an answer that is provided, its chunks come in the place of the one piece that it is."""
        self.heading = False
        if not self._last and self.provided:
            self._providing = self._begun is None
        if piece is None:
            self._last = True
            if not self.provided:
                self._say_last()
        elif not self.provided:
            self._say(piece)

    def advance(self) -> bool:
        """As `Delivery`."""
        ready = self._advance()
        if self._told is not None and ready and isinstance(self.step, bytes) and self.step:
            self._told(self.step)
        return ready

    def _advance(self) -> bool:
        self.step = None
        if self._gone.is_set():
            self._queue.clear()
            self._saved.clear()
            return self._is_over()
        while True:
            if self._due is not None and self._due > _now():
                return False
            self._due = None
            if self._queue:
                if self._does(self._queue.popleft()):
                    return True
            elif self._fetch is not None and (self.heading or self._providing) and self._still_fetching(self._fetch):
                continue
            elif self.heading:
                return True
            elif not self._next_chunk():
                return self._is_over()

    @property
    def pause(self) -> float | None:
        """As `Delivery`."""
        if self._due is None or math.isinf(self._due) or self._asked or self._fetching:
            return None
        return max(0.0, self._due - _now())

    async def wait(self) -> None:
        """As `Delivery`."""
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

    def left(self) -> None:
        """As `Delivery`."""
        self._gone.set()
        self._wake.set()
        for task in (self._asked, self._fetching):
            if task is not None:
                task.cancel()

    def forgives(self, message: str) -> bool:
        """As `Delivery`."""
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
            case Cut(how, why):
                self.step = Break(how, why)
            case Finish():
                self._watch.finish(broken="ended by toolstream_fault")
                self._closed()
                self.step = End()
            case Hold():
                return self._holds(action)
            case Ask():
                return self._waits_for(action)
        return self.step is not None

    def _holds(self, hold: Hold) -> bool:
        """Wait for the next heartbeat, or for the end of it all."""
        if hold.seconds is not None and hold.seconds <= 0:
            return False
        heartbeat = hold.heartbeat or math.inf
        pause = min(heartbeat, math.inf if hold.seconds is None else hold.seconds)
        left = None if hold.seconds is None else hold.seconds - pause
        self._due = _now() + pause
        self._queue.append(Hold(left, hold.heartbeat))
        if hold.heartbeat is not None and pause == heartbeat:
            self._queue.appendleft(Send(_HEARTBEAT, _NOWHERE))
        return False

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
        self._queue.appendleft(ask)
        if self._waited and ask.comments:
            self.step = _HEARTBEAT
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
                self._queue.append(Send(_HEARTBEAT, _NOWHERE))
                return True
        self._due = self._patience
        return True

    def _next_chunk(self) -> bool:
        """Let the next chunk of a provided answer come when it is due; whether there is one."""
        if not self._providing:
            return False
        if self._begun is None:
            self._begun = _now()
        if not self._saved:
            self._providing = False
            self._end_provided()
            return bool(self._queue)
        chunk = self._saved[0]
        due = self._begun + (chunk.after / 1000 / self._speed if self._speed else 0.0)
        if due > _now():
            self._due = due
            return True
        self._saved.popleft()
        if self.unread:
            self._queue.append(Send(chunk.data, _NOWHERE))
            return True
        for piece in self._watch.through(chunk.data) if chunk.data else ():
            self._say(piece)
        return True

    def _end_provided(self) -> None:
        """End a provided answer as it was recorded: in order, or as a break, where no repair mends that."""
        if self._broken is not None and not self._watch.forgives(self._broken):
            how = BreakKind.RESET if self._watch.flow.request.is_http2 else BreakKind.CLOSE
            self._queue.append(Cut(how, self._broken))
            return
        for piece in self._watch.through(b""):
            self._say(piece)
        self._say_last()

    def _say(self, piece: bytes) -> None:
        """Let a piece go by way of the faults; `b""` is the end."""
        if self._pace is not None:
            try:
                self._queue.extend(self._pace.feed(piece))
            except Exception as error:  # noqa: BLE001 - mitmproxy would drop the connection
                self._pace = None
                self._watch.failed(error)
            else:
                return
        if piece:
            self._queue.append(Send(piece, _NOWHERE))

    def _say_last(self) -> None:
        self._say(b"")
        self._watch.tell_end()
        if self._watch.half is not None:
            self._queue.append(Cut(BreakKind.CLOSE, f"cut by toolstream_repair: {self._watch.half.name}"))


def _now() -> float:
    return asyncio.get_running_loop().time()
