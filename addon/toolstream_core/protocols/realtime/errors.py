"""Errors in the form of Realtime.

https://platform.openai.com/docs/api-reference/realtime-server-events/error
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.openai_errors import body, not_saved, word
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json
    from toolstream_core.protocols.provider_error import ErrorKind

__all__ = ["body", "event", "message", "not_saved"]


def event(kind: ErrorKind, number: int) -> bytes:
    """An error as a line; see `WireProtocol.error_event`."""
    return encoded(_error(kind, f"event_error_{number}")) + b"\n"


def message(kind: ErrorKind, status: int, headers: Mapping[str, str]) -> Json:
    """An error as a message, which has no status and no headers; see `SocketWire.error`."""
    del status, headers
    return _error(kind, "event_error")


def _error(kind: ErrorKind, identity: str) -> Json:
    error = {"type": word(kind), "code": word(kind), "message": kind.message, "param": None, "event_id": None}
    return {"type": "error", "event_id": identity, "error": error}
