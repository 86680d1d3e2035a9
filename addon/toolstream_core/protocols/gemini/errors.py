"""Errors as Gemini says them.

https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.answers import data_event
from toolstream_core.protocols.provider_error import ErrorKind

if TYPE_CHECKING:
    from toolstream_core.model import Json

_WORDS: Final = {
    ErrorKind.INVALID: "INVALID_ARGUMENT",
    ErrorKind.UNAUTHENTICATED: "UNAUTHENTICATED",
    ErrorKind.FORBIDDEN: "PERMISSION_DENIED",
    ErrorKind.NOT_FOUND: "NOT_FOUND",
    ErrorKind.RATE_LIMIT: "RESOURCE_EXHAUSTED",
    ErrorKind.SERVER: "INTERNAL",
    ErrorKind.OVERLOADED: "UNAVAILABLE",
}


def body(kind: ErrorKind, status: int) -> Json:
    """As `WireProtocol.error_body`."""
    return _error(kind, status, kind.message)


def event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`."""
    del number
    return data_event(body(kind, kind.status))


def not_saved(message: str) -> Json:
    """As `WireProtocol.not_saved`."""
    return _error(ErrorKind.NOT_FOUND, ErrorKind.NOT_FOUND.status, message)


def _error(kind: ErrorKind, status: int, message: str) -> Json:
    return {"error": {"code": status, "message": message, "status": _WORDS[kind]}}
