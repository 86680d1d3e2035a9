"""Errors as Bedrock says them.

https://docs.aws.amazon.com/bedrock/latest/APIReference/CommonErrors.html
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.aws_errors import exception_message
from toolstream_core.protocols.provider_error import ErrorKind

if TYPE_CHECKING:
    from toolstream_core.model import Json

_WORDS: Final = {
    ErrorKind.INVALID: "ValidationException",
    ErrorKind.UNAUTHENTICATED: "UnrecognizedClientException",
    ErrorKind.FORBIDDEN: "AccessDeniedException",
    ErrorKind.NOT_FOUND: "ResourceNotFoundException",
    ErrorKind.RATE_LIMIT: "ThrottlingException",
    ErrorKind.SERVER: "InternalServerException",
    ErrorKind.OVERLOADED: "ServiceUnavailableException",
}
"""AWS says them in the header `x-amzn-errortype`; its clients take them from the body, too, where that is missing."""


def body(kind: ErrorKind, status: int) -> Json:
    """As `WireProtocol.error_body`."""
    del status
    return _error(kind, kind.message)


def event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`."""
    del number
    return exception_message(kind)


def not_saved(message: str) -> Json:
    """As `WireProtocol.not_saved`."""
    return _error(ErrorKind.NOT_FOUND, message)


def _error(kind: ErrorKind, message: str) -> Json:
    return {"__type": _WORDS[kind], "message": message}
