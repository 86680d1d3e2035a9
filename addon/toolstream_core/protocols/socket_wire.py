"""How an API talks over a WebSocket: which messages ask, which belong to an answer, which end it.

What a message says of tool calls is read as an event of the same API over HTTP.
"""

from __future__ import annotations

import enum
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from toolstream_core.model import Json
    from toolstream_core.protocols.provider_error import ErrorKind


class Start(enum.Enum):
    """When an answer begins."""

    AT_ONCE = enum.auto()
    """With the client's message that asks for it."""
    LATER = enum.auto()
    """When the provider says so; until then it has only been asked for."""
    SAID = enum.auto()
    """The provider has just said so."""


class SocketRequest(NamedTuple):
    """A client asks for an answer."""

    lane: str
    """Tells answers apart that are under way at once; `""` where the API has one at a time."""
    body: dict[str, Json]
    """What the body of the same request over HTTP would be, with `"stream": true`."""
    start: Start = Start.AT_ONCE
    event: str = ""
    """The id that the client gave its message, where the API has errors that name it."""


class SocketEvent(NamedTuple):
    """A message of the provider that belongs to an answer."""

    lane: str
    starts: bool = False
    """Whether it can only be an answer's first one."""
    ends: bool = False
    """Whether it is the answer's last one."""
    begins: SocketRequest | None = None
    """What the answer that begins here was asked for, where the client's messages did not begin it."""


class SocketTalk(Protocol):
    """One socket, as its messages come. Both methods take JSON of any kind and raise nothing."""

    def asked(self, message: Json) -> SocketRequest | None:
        """What a client's message asks for, where it asks for an answer."""
        ...

    def withdraw(self) -> None:
        """The answer that was asked for last, and that the provider was to begin, is not asked of the provider."""
        ...

    def answered(self, raw: bytes) -> SocketEvent | None:
        """Which answer a provider's message belongs to; `None` where to none. JSON is parsed where it has to be."""
        ...


class Reply(NamedTuple):
    """What answers a client's message that asks for no answer of a model."""

    messages: Sequence[Json] = ()
    cancelled: str | None = None
    """The lane whose answer is to stop here, its last message being `last`."""
    last: Json = None


class SocketHost(SocketTalk, Protocol):
    """One socket that is served. Each answer begins with the message that asks for it."""

    def opened(self, request: Json) -> Sequence[Json]:
        """What is said first. `request` is one that is answered here, `ABSENT` where none is known."""
        ...

    def replied(self, message: Json, lanes: Collection[str]) -> Reply:
        """What is said to a client's message that asks for no answer; `lanes` have an answer under way."""
        ...

    def sent(self, lane: str, raw: bytes) -> Sequence[Json]:
        """A message of the lane's answer went to the client; what goes right behind it."""
        ...

    def over(self, lane: str) -> None:
        """Nothing more goes of the lane's answer."""
        ...


class SocketError(NamedTuple):
    """What went wrong with an answer."""

    kind: ErrorKind
    status: int
    """The HTTP status."""
    headers: Mapping[str, str] = {}
    """What an HTTP answer would have."""
    said: Mapping[str, Json] | None = None
    """The `error` of an HTTP answer's body, where there is one."""
    event: str = ""
    """The client's message that it answers: `SocketRequest.event`."""


def _never(message: bytes) -> bool:
    del message
    return False


def _nothing(request: Json, token: str) -> Sequence[bytes]:
    del request, token
    return ()


class SocketWire(NamedTuple):
    """An API over a WebSocket."""

    dialect: str
    """The name of the protocol that its answers are read as."""
    claims: Callable[[str], bool]
    """Whether a request path, with or without query, is one of this API's sockets."""
    recognise: Callable[[Json], bool]
    """Whether a client's first message can only be this API's."""
    talk: Callable[[str], SocketTalk]
    """Begins to read a socket that was opened at a path."""
    falls_back: bool
    """Whether its clients ask over HTTP where the socket is refused."""
    lane_key: str
    """The key of a message that says its lane, so that a message of ours needs it too; `""` where there is none."""
    error: Callable[[SocketError], Json]
    """The message of an error."""
    stray_error: Callable[[bytes], str | None]
    """The error that a provider's message of no answer says, if it says one."""
    warm_up: Callable[[Json, str], Sequence[bytes]] = _nothing
    """The events that answer a request for which nothing is to be generated, none to any other; with the request's
    body and a token for its ids."""
    host: Callable[[str], SocketHost] | None = None
    """Begins to serve a socket that was opened at a path; `None` where toolstream cannot be the server of this API."""
    is_media: Callable[[bytes], bool] = _never
    """Whether a client's message has only sound or pictures, so that it is neither parsed nor kept."""


def on_demand(module: str, name: str) -> Callable[..., Any]:
    """A function or class whose module is loaded when it is first called: a program that only reads needs none."""

    def called(*arguments: object) -> Any:
        return getattr(import_module(module), name)(*arguments)

    return called


class SocketLane(NamedTuple):
    """Where an answer comes that comes over a socket."""

    wire: SocketWire
    lane: str
    event: str = ""
    """`SocketRequest.event` of what asked for it."""

    def error(
        self,
        kind: ErrorKind,
        status: int | None = None,
        headers: Mapping[str, str] | None = None,
        said: Mapping[str, Json] | None = None,
    ) -> Json:
        """The message of an error that comes in the answer's place; see `SocketError`."""
        return self.wire.error(SocketError(kind, status or kind.status, headers or {}, said, self.event))
