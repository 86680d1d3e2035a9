"""Errors in the form of Realtime.

https://platform.openai.com/docs/api-reference/realtime-server-events/error
"""

from toolstream_core.protocols.openai_errors import body, not_saved, realtime_error
from toolstream_core.protocols.provider_error import ErrorKind
from toolstream_core.protocols.socket_wire import SocketError
from toolstream_core.wire.write import encoded

__all__ = ["body", "event", "not_saved"]


def event(kind: ErrorKind, number: int) -> bytes:
    """An error as a line; see `WireProtocol.error_event`."""
    return encoded({**realtime_error(SocketError(kind, kind.status)), "event_id": f"event_error_{number}"}) + b"\n"
