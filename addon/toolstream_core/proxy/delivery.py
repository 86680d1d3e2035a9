"""Delivers one response to the client: bytes, times, and the end. Knows asyncio's clock."""

from __future__ import annotations

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final

from toolstream_core.delivery.schedule import Schedule
from toolstream_core.model import Chunk
from toolstream_core.proxy.flow_facts import Provided
from toolstream_core.proxy.live_response import LiveResponse, chunks
from toolstream_core.sockets.saved import close_code
from toolstream_core.transit.actions import (
    Action,
    Ask,
    BreakKind,
    Cut,
    EventPlace,
    Finish,
    Hold,
    Send,
    Wait,
    repair_cut,
)
from toolstream_core.wire.frame import CONTENT_TYPES, Form

logger = logging.getLogger(__name__)

NOWHERE = EventPlace(0, 0, has_data=False)
"""The place of bytes that are not an event of the stream."""
HEARTBEAT = Send(b": keep-alive\n\n", NOWHERE)
"""A comment, which clients skip."""
_ACTION: Final = 256
"""Approximate size of an action without its data, in bytes."""

ASKING = 60.0
"""Seconds to wait for a repeated request; then the client gets the stream unchanged."""
FETCHING = 600.0
"""Seconds to wait for an unstreamed response."""
OVERFLOW = "more than 16 MiB arrived while a fault delayed the response; use a shorter ms=, or HTTP/1.1"
BEAT = 5.0
"""Seconds between comments while the client waits for a second response."""


type Step = bytes | Wait | Cut | Finish | None
"""The next action: send bytes, wait, disconnect or end. `None`: no action is left for the offered bytes."""


class Delivery:
    """Delivers one response to the client, step by step."""

    heading = False
    """Whether the headers are about to be sent."""
    unread = False
    """Whether the fetched response is an error that is forwarded unread."""
    _step: Step = None
    _providing = False
    """Whether the headers were sent and saved chunks are left."""
    _begun: float | None = None
    """The start of the saved chunks' times."""
    _due: float | None = None
    _patience = 0.0
    _waited = _last = _overflown = False

    def __init__(
        self,
        live: LiveResponse,
        schedule: Schedule | None = None,
        saved: Provided | None = None,
        speed: float = 0.0,
        closed: Callable[[], None] = lambda: None,
        again: Callable[[Ask], Coroutine[Any, Any, bytes]] | None = None,
        fetch: Callable[[Delivery], Coroutine[Any, Any, Sequence[Chunk]]] | None = None,
    ) -> None:
        """`schedule` has the faults; `saved` is a recorded response, sent `speed` times as fast, at once if 0.

        `closed` is called when the response is over. `again` returns the replacement for the finish of a response
        whose calls did not arrive. `fetch` returns the chunks of a response that was not requested yet.
        """
        self.paced = schedule is not None or saved is not None or fetch is not None
        """Whether it decides on every chunk, and not only on the end of the response."""
        self._live = live
        self._sent = live.delivered() if schedule or fetch or (saved and live.rewrites) else None
        self._schedule = schedule
        self._actions: deque[Action] = deque()
        """The remaining actions, in order."""
        self.waiting = 0
        """Bytes of these actions in memory."""
        chunks, self._broken, _ = saved or Provided((), None)
        self._saved = deque(chunks)
        """The remaining saved chunks."""
        self._speed = speed
        self.provided = saved is not None or fetch is not None
        """Whether the body comes from the delivery, instead of the offered chunks."""
        self._closed = closed
        self._again = again
        self._fetch = fetch
        self._fetching: asyncio.Task[Sequence[Chunk]] | None = None
        self._requested: asyncio.Task[bytes] | None = None
        self._gone = asyncio.Event()
        self._wake = asyncio.Event()
        """Set when the wait ends."""

    def offer_headers(self) -> None:
        """Called before the headers are sent."""
        self.heading = True
        if self._schedule is not None:
            self._add_scheduled(self._schedule, self._schedule.begin)

    def offer(self, chunk: bytes | None) -> None:
        """Offer a chunk of the body; `None` is the end of the body.

        Of a saved response, its chunks are sent in place of its body.
        """
        self.heading = False
        if not self._last and self.provided:
            self._providing = self._begun is None
        if chunk is None:
            self._last = True
            if not self.provided:
                self._end_body()
        elif not self.provided:
            self._send(chunk)

    def take_waiting(self) -> list[bytes]:
        """The bytes that wait to be sent; no fault acts on them any more."""
        step = [self._step] if isinstance(self._step, bytes) else []
        held = () if self._schedule is None else self._schedule.release()
        left = [one for one in (*self._actions, *held) if isinstance(one, Send | Ask)]
        self._step = self._schedule = None
        self._clear()
        return step + [one.raw if isinstance(one, Send) else one.event.frame.raw for one in left]

    def cut_short(self, last: bytes) -> None:
        """End a saved response with `last` in place of all remaining chunks."""
        self._clear()
        self._saved.clear()
        self._providing, self._due = False, None
        self._read(last)
        self._end_saved(None)

    def next(self) -> Step:
        """The next step. After `Wait`, call it again when `wait` has ended."""
        self._step = None
        try:
            self._step = self._next()
            if self._sent is not None and isinstance(self._step, bytes):
                self._sent(self._step)
        except Exception as error:  # noqa: BLE001 - raised inside mitmproxy's layer, it would leave the client waiting
            self._step = self._give_up(error)
        return self._step

    def _next(self) -> Step:
        if self._gone.is_set():
            self._clear()
            self._saved.clear()
            self._end()
            return None
        while True:
            if self._due is not None and self._due > _now():
                return Wait(math.inf if self.pause is None else self.pause)
            self._due = None
            if self._actions:
                action = self._actions.popleft()
                self.waiting -= _size(action)
                if step := self._do(action):
                    return step
            elif self._fetch is not None and (self.heading or self._providing) and self._still_fetching(self._fetch):
                continue
            elif self.heading:
                return None
            elif not self._next_chunk():
                self._end()
                return None

    @property
    def pause(self) -> float | None:
        """The maximum seconds of `wait`; `None` if unknown, or if it does not wait."""
        if self._due is None or math.isinf(self._due) or self._requested or self._fetching:
            return None
        return max(0.0, self._due - _now())

    async def wait(self) -> None:
        """Wait until the next step is due."""
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

    def _give_up(self, error: Exception) -> Step:
        """After an internal error: send the waiting bytes at once. A response that is made here is truncated."""
        self._live.failed(error)
        self._sent = self._due = None
        if self.provided:
            return _broken(self._live, "internal error of toolstream")
        return b"".join(self.take_waiting()) or None

    def left(self) -> None:
        """The client has disconnected: end all waiting."""
        self._gone.set()
        self._wake.set()
        for task in (self._requested, self._fetching):
            if task is not None:
                task.cancel()

    def overflow(self) -> None:
        """Too many bytes arrived while the client waits, and upstream cannot be paused: end with an error."""
        if self._overflown:
            return
        self._overflown = True
        logger.error("toolstream: flow %s ends with an error: %s", self._live.flow.id, OVERFLOW)
        self._clear()
        self._add(Cut(BreakKind.RESET, OVERFLOW))
        self._due = None
        self._wake.set()

    def forgives(self, message: str) -> bool:
        """Whether the response is complete, although upstream's connection broke with this message."""
        return self._live.forgives(message)

    def _end(self) -> None:
        """All offered bytes are handled; the body may be over."""
        if self._last:
            self._closed()

    def _do(self, action: Action) -> bytes | Cut | Finish | None:
        """Begin an action. Returns it if it is a step."""
        match action:
            case Send(raw):
                return raw
            case Wait(seconds):
                self._due = _now() + seconds
            case Cut():
                return action
            case Finish():
                self._live.finish(broken="ended by toolstream_fault")
                self._closed()
                return action
            case Hold():
                self._hold(action)
            case Ask():
                return self._wait_for(action)
        return None

    def _hold(self, hold: Hold) -> None:
        """Wait until the next comment, or the end of `hold`. The rest of it is added."""
        if hold.seconds is not None and hold.seconds <= 0:
            return
        heartbeat = hold.heartbeat or math.inf
        pause = min(heartbeat, math.inf if hold.seconds is None else hold.seconds)
        self._add(Hold(None if hold.seconds is None else hold.seconds - pause, hold.heartbeat))
        if hold.heartbeat is not None and pause == heartbeat:
            self._add_first(HEARTBEAT)
        self._due = _now() + pause

    def _wait_for(self, ask: Ask) -> bytes | None:
        """Wait for the second response, with a comment now and then."""
        if self._requested is None:
            assert self._again is not None
            self._requested = asyncio.create_task(self._again(ask))
            self._requested.add_done_callback(lambda _: self._wake.set())
        if self._requested.done():
            error = self._requested.exception()
            if isinstance(error, Exception):
                self._live.failed(error)
            return ask.event.frame.raw if error is not None else self._requested.result()
        self._due = _now() + BEAT
        self._add_first(ask)
        comment = HEARTBEAT.raw if self._waited and ask.comments else None
        self._waited = True
        return comment

    def _still_fetching(self, fetch: Callable[[Delivery], Coroutine[Any, Any, Sequence[Chunk]]]) -> bool:
        """Wait for the unstreamed response: before the headers, for the status of an error; then with comments."""
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
            if self._live.exchange.content_type.startswith(CONTENT_TYPES[Form.EVENTS]):
                self._add(HEARTBEAT)
                return True
        self._due = self._patience
        return True

    def _next_chunk(self) -> bool:
        """Read the next saved chunk when it is due. Returns whether there is one."""
        if not self._providing:
            return False
        now = _now()
        self._begun = now if self._begun is None else self._begun
        if not self._saved:
            self._providing = False
            self._end_saved(self._broken)
            return bool(self._actions)
        due = self._begun + (self._saved[0].after / 1000 / self._speed if self._speed else 0.0)
        if due > now:
            self._due = due
            return True
        data = self._saved.popleft().data
        if self.unread:
            self._add(Send(data, NOWHERE))
        else:
            self._read(data)
        return True

    def _add(self, *actions: Action) -> None:
        """Add actions after all others."""
        self._actions.extend(actions)
        self.waiting += sum(map(_size, actions))

    def _add_first(self, action: Action) -> None:
        """Add an action before all others."""
        self._actions.appendleft(action)
        self.waiting += _size(action)

    def _clear(self) -> None:
        """Drop all actions."""
        self._actions.clear()
        self.waiting = 0

    def _read(self, data: bytes) -> None:
        """Read bytes of a saved response, and send the result; `b""` is the end."""
        for chunk in chunks(self._live.stream(data)):
            self._send(chunk)

    def _send(self, chunk: bytes) -> None:
        """Send a chunk through the faults; `b""` is the end."""
        schedule = self._schedule
        if schedule is not None:
            self._add_scheduled(schedule, lambda: schedule.feed(chunk))
        elif chunk:
            self._add(Send(chunk, NOWHERE))

    def _add_scheduled(self, schedule: Schedule, actions: Callable[[], Iterable[Action]]) -> None:
        """Add the schedule's actions. A schedule that fails is dropped, and its bytes are sent unchanged."""
        try:
            self._add(*actions())
        except Exception as error:  # noqa: BLE001 - mitmproxy would drop the connection
            self._schedule = None
            self._add(*schedule.release())
            self._live.failed(error)

    def _end_body(self) -> None:
        """End the body normally, or by a disconnect if it stops inside a call."""
        self._send(b"")
        self._live.report_end()
        if self._live.cut_off is not None:
            self._add(repair_cut(self._live.cut_off.name))

    def _end_saved(self, broken: str | None) -> None:
        """End a saved response as recorded: normally, or by the disconnect `broken` unless that is repaired."""
        if broken is None or self._live.forgives(broken):
            self._read(b"")
            self._end_body()
        else:
            self._add(_broken(self._live, broken))


def _size(action: Action) -> int:
    return _ACTION + (len(action.raw) if isinstance(action, Send) else 0)


def _broken(live: LiveResponse, why: str) -> Cut:
    """A disconnect in the form of the client's HTTP version."""
    return Cut(BreakKind.RESET if live.flow.request.is_http2 else BreakKind.CLOSE, why, close_code(why))


def _now() -> float:
    return asyncio.get_running_loop().time()
