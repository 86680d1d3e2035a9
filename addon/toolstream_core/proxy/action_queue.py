"""What is to be done with an answer's body, in order: each piece, by way of the faults."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Final

from toolstream_core.proxy.callables import pieces
from toolstream_core.sockets.saved import close_code
from toolstream_core.transit import Ask, BreakKind, Cut, EventPlace, Hold, Send, repair_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from toolstream_core.delivery.schedule import Schedule
    from toolstream_core.proxy.watch import Watch
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
