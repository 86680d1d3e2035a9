"""Errors as Anthropic says them.

https://docs.claude.com/en/api/errors
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.answers import named_event
from toolstream_core.protocols.provider_error import ErrorKind

if TYPE_CHECKING:
    from toolstream_core.model import Json

_WORDS: Final = {
    ErrorKind.INVALID: "invalid_request_error",
    ErrorKind.UNAUTHENTICATED: "authentication_error",
    ErrorKind.FORBIDDEN: "permission_error",
    ErrorKind.NOT_FOUND: "not_found_error",
    ErrorKind.RATE_LIMIT: "rate_limit_error",
    ErrorKind.SERVER: "api_error",
    ErrorKind.OVERLOADED: "overloaded_error",
}


def body(kind: ErrorKind, status: int) -> Json:
    """As `WireProtocol.error_body`."""
    del status
    return _error(_WORDS[kind], kind.message)


def event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`."""
    del number
    return named_event(_error(_WORDS[kind], kind.message))


def not_saved(message: str) -> Json:
    """As `WireProtocol.not_saved`."""
    return _error(_WORDS[ErrorKind.NOT_FOUND], message)


def _error(kind: str, message: str) -> Json:
    return {"type": "error", "error": {"type": kind, "message": message}}
