"""An API over a WebSocket: which messages are requests, belong to a response, or end it.

Tool calls in a message are read as in an event of the same API over HTTP.
"""

from __future__ import annotations

import enum
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from importlib import import_module
from typing import Any, NamedTuple

from toolstream_core.model import Json
from toolstream_core.protocols.errors import ErrorKind


class Start(enum.Enum):
    """When a response starts."""

    AT_ONCE = enum.auto()
    """With the client's message that requests it."""
    LATER = enum.auto()
    """When the provider announces it; until then it is only requested."""
    ANNOUNCED = enum.auto()
    """The provider has just announced it."""


class SocketRequest(NamedTuple):
    """A client's message requests a response."""

    lane: str
    """Distinguishes concurrent responses; `""` if the API has one at a time."""
    body: dict[str, Json]
    """The body of the same request over HTTP, with `"stream": true`."""
    start: Start = Start.AT_ONCE
    event: str = ""
    """The client's id of its message, if the API's errors name it."""


class SocketEvent(NamedTuple):
    """A provider's message that belongs to a response."""

    lane: str
    starts: bool = False
    """Whether it can only be a response's first message."""
    ends: bool = False
    """Whether it is the response's last message."""
    new_request: SocketRequest | None = None
    """The request of the response that starts here, if no client message started it."""


class SocketTalk(ABC):
    """One socket, message by message. The methods take any JSON and raise nothing."""

    def __init__(self, path: str) -> None:
        """Start with a socket that was opened at `path`."""

    @abstractmethod
    def read_request(self, message: Json) -> SocketRequest | None:
        """The request in a client's message, if it requests a response."""

    def withdraw(self) -> None:
        """Withdraw the last request: it is not forwarded to the provider, which would have started the response."""

    @abstractmethod
    def read_event(self, raw: bytes) -> SocketEvent | None:
        """The response that a provider's message belongs to, or `None`. JSON is parsed only if necessary."""


class Reply(NamedTuple):
    """The replies to a client's message that does not request a response of a model."""

    messages: Sequence[Json] = ()
    cancelled: str | None = None
    """The lane whose response stops here with the message `last`."""
    last: Json = None


class SocketHost(SocketTalk):
    """A served socket. Each response starts with the message that requests it."""

    def opened(self, request: Json) -> Sequence[Json]:
        """The first messages of a socket; none if the client speaks first. `request`: one served here, or `ABSENT`."""
        return ()

    @abstractmethod
    def replied(self, message: Json, lanes: Collection[str]) -> Reply:
        """The replies to a client's message that does not request a response; `lanes` have a running response."""

    def sent(self, lane: str, raw: bytes) -> Sequence[Json]:
        """The messages to send directly after a message of the lane's response."""
        return ()

    def response_ended(self, lane: str) -> None:
        """Record that the lane's response has ended."""


class SocketError(NamedTuple):
    """The error of a response."""

    kind: ErrorKind
    status: int
    """The HTTP status."""
    headers: Mapping[str, str] = {}
    """The status of an equivalent HTTP response."""
    given: Mapping[str, Json] | None = None
    """The `error` in the body of an equivalent HTTP response, if there is one."""
    event: str = ""
    """The client's message that it replies to: `SocketRequest.event`."""


class SocketWire(NamedTuple):
    """An API over a WebSocket."""

    protocol: str
    """The name of the protocol with which its responses are read."""
    claims: Callable[[str], bool]
    """Whether a request path, with or without query, is one of this API's sockets."""
    recognise: Callable[[Json], bool]
    """Whether a client's first message can only be this API's."""
    talk: Callable[[str], SocketTalk]
    """Begins to read a socket that was opened at a path."""
    falls_back: bool
    """Whether its clients use HTTP if the socket is refused."""
    lane_key: str
    """The key of a message that identifies its lane, which added messages need too; `""` for none."""
    error: Callable[[SocketError], Json]
    """The message of an error."""
    stray_error: Callable[[bytes], str | None]
    """The error in a provider's message that belongs to no response, if there is one."""
    warm_up: Callable[[Json, str], Sequence[bytes]] = lambda *_: ()
    """The events of the response to a request that generates nothing; none for other requests. Takes the request's
    body and a token for its ids."""
    host: Callable[[str], SocketHost] | None = None
    """Begins to serve a socket that was opened at a path; `None` if toolstream cannot be the server of this API."""
    is_media: Callable[[bytes], bool] = lambda _: False
    """Whether a client's message has only sound or pictures: it is neither parsed nor kept then."""


def on_demand(module: str, name: str) -> Callable[..., Any]:
    """A function or class whose module is loaded when it is first called: a program that only reads needs none."""

    def called(*arguments: object) -> Any:
        return getattr(import_module(module), name)(*arguments)

    return called


class SocketLane(NamedTuple):
    """The socket of a response."""

    wire: SocketWire
    lane: str
    event: str = ""
    """`SocketRequest.event` of its request."""

    def error(
        self,
        kind: ErrorKind,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        given: Mapping[str, Json] | None = None,
    ) -> Json:
        """The error message in place of a response; see `SocketError`."""
        return self.wire.error(SocketError(kind, status or kind.status, headers or {}, given, self.event))
