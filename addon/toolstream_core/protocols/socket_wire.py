"""How an API talks over a WebSocket: which messages ask, which belong to an answer, which end it.

What a message says of tool calls is read as an event of the same API over HTTP.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolstream_core.model import Json
    from toolstream_core.protocols.provider_error import ErrorKind


class SocketRequest(NamedTuple):
    """A client asks for an answer."""

    lane: str
    """Tells answers apart that are under way at once; `""` where the API has one at a time."""
    body: dict[str, Json]
    """What the body of the same request over HTTP would be, with `"stream": true`."""


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
        """What a client's message asks for, where it asks for an answer at once."""
        ...

    def answered(self, raw: bytes) -> SocketEvent | None:
        """Which answer a provider's message belongs to; `None` where to none. JSON is parsed where it has to be."""
        ...


def _never(message: bytes) -> bool:
    del message
    return False


class SocketWire(NamedTuple):
    """An API over a WebSocket."""

    name: str
    """For people."""
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
    error: Callable[[ErrorKind, int, Mapping[str, str]], Json]
    """The message of an error, with its HTTP status and the headers that an HTTP answer would have."""
    warm_up: Callable[[Json, str], Sequence[bytes]] | None = None
    """The events that answer a request for which nothing is to be generated, none to any other; with the request's
    body and a token for its ids. `None` where toolstream cannot be the server of this API."""
    is_media: Callable[[bytes], bool] = _never
    """Whether a client's message has only sound or pictures, so that it is neither parsed nor kept."""


class SocketLane(NamedTuple):
    """Where an answer comes that comes over a socket."""

    wire: SocketWire
    lane: str
