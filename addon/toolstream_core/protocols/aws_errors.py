"""Errors within an AWS event stream, whatever protocol its messages carry: exceptions, as the service says them.

https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html
"""

from typing import Final

from toolstream_core.protocols.provider_error import ErrorKind
from toolstream_core.wire.event_stream import fresh
from toolstream_core.wire.write import encoded

_EXCEPTIONS: Final = {
    ErrorKind.OVERLOADED: "serviceUnavailableException",
    ErrorKind.RATE_LIMIT: "throttlingException",
    ErrorKind.SERVER: "internalServerException",
}


def exception_message(kind: ErrorKind) -> bytes:
    """The bytes of a message that says an error and ends the stream."""
    return fresh(encoded({"message": kind.message}), _EXCEPTIONS[kind]).encode()
