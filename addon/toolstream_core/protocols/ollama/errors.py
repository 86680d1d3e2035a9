"""Errors as Ollama says them.

https://github.com/ollama/ollama/blob/main/docs/api.md
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.provider_error import ErrorKind


def body(kind: ErrorKind, status: int) -> Json:
    """As `WireProtocol.error_body`."""
    del status
    return not_saved(kind.message)


def event(kind: ErrorKind, number: int) -> bytes:
    """As `WireProtocol.error_event`."""
    del number
    return encoded(not_saved(kind.message)) + b"\n"


def not_saved(message: str) -> Json:
    """As `WireProtocol.not_saved`."""
    return {"error": message}
