"""Errors in the form of Chat Completions."""

from toolstream_core.protocols.answers import data_event
from toolstream_core.protocols.openai_errors import body, not_saved
from toolstream_core.protocols.provider_error import ErrorKind

__all__ = ["body", "event", "not_saved"]


def event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`."""
    del number
    return data_event(body(kind, kind.status))
