"""A saved socket, split into its responses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from toolstream_core.protocols.registry import SOCKETS
from toolstream_core.protocols.socket_wire import SocketLane, SocketRequest, SocketWire, Start
from toolstream_core.sockets.lanes import Lanes
from toolstream_core.sockets.lines import LineEnds, Messages, line_of
from toolstream_core.wire.frame import parse

FIRST: Final = 8
"""Number of a client's messages in which the API is searched, if the path does not show it."""
_NEVER_SENT: Final = frozenset({1005, 1006, 1015})
"""Codes for the lack of a close frame: https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1."""
_CODE: Final = re.compile(r" with code (\d{1,4})$")
_MOST: Final = 64
_LONGEST: Final = 4096
NORMAL: Final = 1000
"""The code of a normal close: https://www.rfc-editor.org/rfc/rfc6455#section-7.4.1."""
STILL_OPEN: Final = "the WebSocket was saved before the response ended"
_OF_THE_UPGRADE: Final = frozenset({"connection", "upgrade", "content-length", "transfer-encoding"})


class SavedMessage(NamedTuple):
    """A message of a socket."""

    from_client: bool
    at: float
    """Seconds since 1970."""
    data: bytes
    place: int = 0
    """Its number among the socket's messages, from 0."""


@dataclass(slots=True)
class SavedResponse:
    """One response of a socket."""

    request: SocketRequest
    request_message: SavedMessage
    """The message that requested it, or with which it began."""
    wire: SocketWire
    messages: list[SavedMessage] = field(default_factory=list)
    """The provider's, in order."""
    others: list[SavedMessage] = field(default_factory=list)
    """The client's messages during the response: to steer it, or to cancel it."""
    broken: str | None = None
    """The error if the socket ended before the response's last message."""

    @property
    def lane(self) -> SocketLane:
        """Its lane on the socket."""
        return SocketLane(self.wire, self.request.lane, self.request.event)

    @property
    def lines(self) -> list[tuple[int, bytes]]:
        """The messages as lines of JSON, each with the milliseconds since the first."""
        begun = self.messages[0].at if self.messages else 0.0
        return [(max(0, round((one.at - begun) * 1000)), line_of(one.data)) for one in self.messages]

    @property
    def line_ends(self) -> LineEnds:
        """The line ends of the messages that their lines lack."""
        found, at = LineEnds(), 0
        for one in self.messages:
            found.add(at, one.data)
            at += len(one.data) + 1
        return found

    def become(self, chunks: Sequence[bytes]) -> dict[int, list[bytes]]:
        """The replacement of each message whose line became `chunks[n]`, by its place; further ones follow the last."""
        going = Messages(self.lane)
        messages: list[list[bytes]] = []
        for message, chunk in zip(self.messages, chunks, strict=False):
            unchanged = chunk == going.line(message.data)
            messages.append([message.data] if unchanged else going.take_events([chunk]))
        if messages:
            messages[-1] += [*going.take_events(chunks[len(messages) :]), *going.end()]
        return dict(zip((message.place for message in self.messages), messages, strict=True))


def wire_of(path: str, messages: Iterable[SavedMessage]) -> SocketWire | None:
    """The API of a socket, by its path or its client's first message; `None` if it is not an LLM's."""
    claiming = next((wire for wire in SOCKETS if wire.claims(path)), None)
    if claiming is not None:
        return claiming
    payloads = [parse(one.data) for one in messages if one.from_client][:FIRST]
    return next((wire for payload in payloads for wire in SOCKETS if wire.recognise(payload)), None)


def taken_apart(
    wire: SocketWire, path: str, messages: Iterable[SavedMessage], closed: str | None
) -> list[SavedResponse]:
    """The responses of a socket, in the order of their requests. `closed`: how it broke, if it did."""
    responses: list[SavedResponse] = []
    now = SavedMessage(from_client=True, at=0.0, data=b"")

    def begin(request: SocketRequest) -> SavedResponse | None:
        if request.start is Start.LATER:
            return None
        responses.append(SavedResponse(request, now, wire))
        return responses[-1]

    lanes = Lanes(wire, wire.talk(path), begin)
    for now in messages:
        if not now.from_client:
            part = lanes.read_event(now.data)
            if part is not None:
                part.response.messages.append(now)
        elif lanes.read_request(now.data) is None and is_short(now.data):
            response = lanes.concerned(now.data)
            if response is not None:
                keep(response.others, now)
    for response in lanes.close():
        response.broken = closed
    return responses


def is_of_upgrade(header: str) -> bool:
    """Whether a header of that name belongs to the request that opened a socket, and to none over HTTP."""
    return header.lower() in _OF_THE_UPGRADE or header.lower().startswith("sec-websocket-")


def close_code(broken: str) -> int | None:
    """The code of the close frame that the client got, from `how_closed` or a fault; `None` without one."""
    code = _CODE.search(broken)
    if code is None or broken.startswith(how_closed(None, by_client=True)):
        return None
    return int(code[1]) if int(code[1]) not in _NEVER_SENT else None


def is_short(message: bytes) -> bool:
    """Whether a client's message during a response may be kept with it: no sound or pictures."""
    return len(message) <= _LONGEST


def keep(others: list[SavedMessage], message: SavedMessage) -> None:
    """Keep a short message that a client sent during a response, as long as they are few."""
    if len(others) < _MOST:
        others.append(message)


def how_closed(code: int | None, *, by_client: bool) -> str:
    """How a socket ended, as text."""
    closer = "client" if by_client else "server"
    return f"the {closer} closed the WebSocket" + ("" if code is None else f" with code {int(code)}")
