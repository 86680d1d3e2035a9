"""Errors as Cohere says them.

https://docs.cohere.com/reference/errors
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.answers import named_event

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.provider_error import ErrorKind


def body(kind: ErrorKind, status: int) -> Json:
    """As `WireProtocol.error_body`."""
    del status
    return {"message": kind.message}


def event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`: the end of the message says the error, there is no event of errors."""
    del number
    return named_event({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": kind.message}})


def not_saved(message: str) -> Json:
    """As `WireProtocol.not_saved`."""
    return {"message": message}
