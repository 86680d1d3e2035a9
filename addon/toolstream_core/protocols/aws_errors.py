"""Errors within an AWS event stream, in every protocol that its messages carry: exceptions of the service.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html
"""

from typing import Final

from toolstream_core.protocols.provider_error import ErrorKind
from toolstream_core.wire.aws_event_stream import fresh
from toolstream_core.wire.write import encoded

_EXCEPTIONS: Final = {
    ErrorKind.INVALID: "validationException",
    ErrorKind.UNAUTHENTICATED: "validationException",
    ErrorKind.FORBIDDEN: "validationException",
    ErrorKind.NOT_FOUND: "validationException",
    ErrorKind.RATE_LIMIT: "throttlingException",
    ErrorKind.SERVER: "internalServerException",
    ErrorKind.OVERLOADED: "serviceUnavailableException",
}
"""A stream has no exceptions for who may not ask, and for what is not there: AWS refuses those before it begins."""


def exception_message(kind: ErrorKind) -> bytes:
    """The bytes of a message with an error, which ends the stream."""
    return fresh(encoded({"message": kind.message}), _EXCEPTIONS[kind]).encode()
