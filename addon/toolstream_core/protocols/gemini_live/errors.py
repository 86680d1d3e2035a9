"""Errors in the form of Gemini.

https://ai.google.dev/gemini-api/docs/troubleshooting
"""

from toolstream_core.protocols.gemini.errors import body, not_saved
from toolstream_core.protocols.provider_error import ErrorKind
from toolstream_core.wire.write import encoded

__all__ = ["body", "event", "not_saved"]


def event(kind: ErrorKind, number: int) -> bytes:
    """An error as a line; see `WireProtocol.error_event`."""
    del number
    return encoded(body(kind, kind.status)) + b"\n"
