"""The table of protocols, in the order in which they are tried for a stream of unknown path."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.anthropic import ANTHROPIC
from toolstream_core.protocols.bedrock import BEDROCK
from toolstream_core.protocols.chat import CHAT
from toolstream_core.protocols.cohere import COHERE
from toolstream_core.protocols.gemini import GEMINI
from toolstream_core.protocols.gemini_interactions import GEMINI_INTERACTIONS
from toolstream_core.protocols.gemini_live import GEMINI_LIVE
from toolstream_core.protocols.gemini_live.socket import GEMINI_LIVE_SOCKET
from toolstream_core.protocols.ollama import OLLAMA
from toolstream_core.protocols.realtime import REALTIME
from toolstream_core.protocols.realtime.socket import REALTIME_SOCKET
from toolstream_core.protocols.responses import RESPONSES
from toolstream_core.protocols.responses.socket import RESPONSES_SOCKET

if TYPE_CHECKING:
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.protocols.socket_wire import SocketWire

PROTOCOLS: Final[tuple[WireProtocol, ...]] = (
    CHAT,
    REALTIME,
    RESPONSES,
    ANTHROPIC,
    GEMINI,
    GEMINI_INTERACTIONS,
    GEMINI_LIVE,
    OLLAMA,
    COHERE,
    BEDROCK,
)
OVER_HTTP: Final = tuple(one for one in PROTOCOLS if one.over_http)
"""The protocols with HTTP requests."""
SOCKETS: Final[tuple[SocketWire, ...]] = (RESPONSES_SOCKET, REALTIME_SOCKET, GEMINI_LIVE_SOCKET)
"""The APIs with WebSockets."""
_BY_NAME: Final = {one.name: one for one in PROTOCOLS}


def named(name: str) -> WireProtocol:
    """The protocol of that name. Raises `KeyError` if there is none."""
    return _BY_NAME[name]


def claiming(path: str) -> WireProtocol | None:
    """The protocol whose API has a request path (with or without query), or `None`."""
    return next((one for one in PROTOCOLS if one.claims(path)), None)
