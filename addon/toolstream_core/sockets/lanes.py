"""Which response a socket's messages belong to: several may be in flight at once.

What a message means is read by `socket.py` of its protocol.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

from toolstream_core.protocols.socket_wire import SocketRequest, SocketTalk, SocketWire, Start
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse


class Part[A](NamedTuple):
    """A provider's message as a part of a response."""

    response: A
    ends: bool
    """Whether it is the last message of the response."""
    unended: A | None = None
    """The response before it, if its last message never arrived."""


class Lanes[A]:
    """The responses in flight on one socket. A request begins one, after the response before it in its lane."""

    def __init__(self, wire: SocketWire, talk: SocketTalk, begin: Callable[[SocketRequest], A | None]) -> None:
        """`talk` reads the socket. `begin` makes the response to a request.

        It may make none if the provider is to begin it. The provider does not see one that it makes.
        """
        self._talk = talk
        self._is_media = wire.is_media
        self._begin = begin
        self._open: dict[str, deque[A]] = {}
        self._started: set[str] = set()
        """Lanes whose first response has begun to arrive."""

    def read_request(self, raw: bytes) -> A | None:
        """The response that a client's message requests, if it does."""
        request = None if self._is_media(raw) else self._talk.read_request(parse(raw))
        response = None if request is None else self._opened(request)
        if request is not None and response is not None and request.start is Start.LATER:
            self._talk.withdraw()
        return response

    def read_event(self, raw: bytes) -> Part[A] | None:
        """The response that a provider's message belongs to; `None` if to none."""
        event = self._talk.read_event(raw)
        if event is None:
            return None
        if event.new_request is not None:
            self._opened(event.new_request)
        waiting = self._open.get(event.lane)
        if not waiting:
            return None
        unended = None
        if event.starts and event.lane in self._started and len(waiting) > 1:
            unended = waiting.popleft()
        self._started.add(event.lane)
        response = waiting[0]
        if event.ends:
            self._started.discard(event.lane)
            waiting.popleft()
            if not waiting:
                del self._open[event.lane]
        return Part(response, event.ends, unended)

    def concerned(self, raw: bytes) -> A | None:
        """The response in flight that a client's other message is about: its lane's, or the only one."""
        if self._is_media(raw):
            return None
        lane = json_access.get(parse(raw), "stream_id")
        waiting = self._open.get(lane) if isinstance(lane, str) else None
        if waiting is not None:
            return waiting[0]
        under_way = list(self)
        return under_way[0] if len(under_way) == 1 else None

    def withdraw(self, response: A) -> None:
        """The response that was requested last will not arrive."""
        lane = next(lane for lane, waiting in self._open.items() if response in waiting)
        self._open[lane].remove(response)
        if not self._open[lane]:
            del self._open[lane]

    def __iter__(self) -> Iterator[A]:
        """The responses in flight."""
        for waiting in self._open.values():
            yield from waiting

    def close(self) -> list[A]:
        """The responses that were in flight when the socket ended."""
        left = list(self)
        self._open.clear()
        self._started.clear()
        return left

    def _opened(self, request: SocketRequest) -> A | None:
        response = self._begin(request)
        if response is not None:
            self._open.setdefault(request.lane, deque()).append(response)
        return response
