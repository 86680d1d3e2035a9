"""Errors in the form of both of OpenAI's protocols.

https://platform.openai.com/docs/guides/error-codes
"""

from __future__ import annotations

from typing import Final

from toolstream_core.model import Json
from toolstream_core.protocols.errors import ErrorKind
from toolstream_core.protocols.socket_wire import SocketError

_WORDS: Final = {
    ErrorKind.INVALID: "invalid_request_error",
    ErrorKind.UNAUTHENTICATED: "invalid_request_error",
    ErrorKind.FORBIDDEN: "invalid_request_error",
    ErrorKind.NOT_FOUND: "invalid_request_error",
    ErrorKind.RATE_LIMIT: "rate_limit_exceeded",
    ErrorKind.SERVER: "server_error",
    ErrorKind.OVERLOADED: "server_error",
}


def word(kind: ErrorKind) -> str:
    """The type of an error; Responses has it as the code of an error in a stream."""
    return _WORDS[kind]


def body(kind: ErrorKind, status: int, message: str) -> Json:
    """As `WireProtocol.error_body`."""
    return {"error": {"message": message, "type": word(kind), "param": None, "code": None}}


def socket_error(wrong: SocketError) -> Json:
    """As `SocketWire.error`.

    https://developers.openai.com/api/docs/guides/websocket-mode; Codex reads the headers:
    https://github.com/openai/codex/blob/main/codex-rs/codex-api/src/endpoint/responses_websocket.rs
    """
    error = _message(wrong.kind) if wrong.given is None else wrong.given
    headers: dict[str, Json] = {"headers": dict(wrong.headers)} if wrong.headers else {}
    return {"type": "error", "status": wrong.status, "error": error, **headers}


def realtime_error(wrong: SocketError) -> dict[str, Json]:
    """As `SocketWire.error`: Realtime's error, which has no status and no headers.

    https://platform.openai.com/docs/api-reference/realtime-server-events/error
    """
    error = _message(wrong.kind) | dict(wrong.given or {})
    return {"type": "error", "event_id": "event_error", "error": {**error, "event_id": wrong.event or None}}


def _message(kind: ErrorKind) -> dict[str, Json]:
    return {"type": word(kind), "code": word(kind), "message": kind.message, "param": None}
