"""Errors as both of OpenAI's protocols say them.

https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.provider_error import ErrorKind

if TYPE_CHECKING:
    from toolstream_core.model import Json

WORDS: Final = {
    ErrorKind.RATE_LIMIT: "rate_limit_exceeded",
    ErrorKind.SERVER: "server_error",
    ErrorKind.OVERLOADED: "server_error",
}
_INVALID: Final = "invalid_request_error"


def body(kind: ErrorKind, status: int) -> Json:
    """As `WireProtocol.error_body`."""
    del status
    return _said(kind.message, WORDS.get(kind, _INVALID), None)


def not_saved(message: str) -> Json:
    """As `WireProtocol.not_saved`."""
    return _said(message, "not_found_error", "no_saved_answer")


def _said(message: str, kind: str, code: str | None) -> Json:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
