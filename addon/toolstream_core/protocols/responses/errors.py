"""Errors in the form of Responses.

https://platform.openai.com/docs/api-reference/responses-streaming/error
"""

from toolstream_core.protocols.answers import named_event
from toolstream_core.protocols.openai_errors import body, not_saved, word
from toolstream_core.protocols.provider_error import ErrorKind

__all__ = ["body", "event", "not_saved"]


def event(kind: ErrorKind, number: int) -> bytes:
    """An error event with a sequence number; see `WireProtocol.error_event`."""
    error = {"type": "error", "code": word(kind), "message": kind.message, "param": None}
    return named_event({**error, "sequence_number": number})
