"""Errors of providers: their kinds, and their forms in streams. Each protocol has its own words for a kind."""

from __future__ import annotations

import enum
import json
from typing import Final

from toolstream_core.model import ABSENT, Json
from toolstream_core.wire import json_access
from toolstream_core.wire.aws_event_stream import fresh
from toolstream_core.wire.frame import Frame, parse
from toolstream_core.wire.write import encoded


class ErrorKind(enum.Enum):
    """A kind of error: the usual HTTP status, and a message."""

    INVALID = (400, "Invalid request")
    UNAUTHENTICATED = (401, "Invalid API key")
    FORBIDDEN = (403, "Not allowed")
    NOT_FOUND = (404, "Not found")
    RATE_LIMIT = (429, "Rate limit reached")
    SERVER = (500, "Internal server error")
    OVERLOADED = (529, "Overloaded")

    def __init__(self, status: int, message: str) -> None:
        """`status` is an HTTP status."""
        self.status = status
        self.message = message


ERRORS: Final = {
    "overloaded": ErrorKind.OVERLOADED,
    "rate-limit": ErrorKind.RATE_LIMIT,
    "server": ErrorKind.SERVER,
}
"""By the names that faults use."""


def kind_of(status: int) -> ErrorKind:
    """The kind of error of an HTTP status; a server error for other statuses."""
    return next((kind for kind in ErrorKind if kind.status == status), ErrorKind.SERVER)


MAX_ERROR = 2000
"""Characters of an error that are reported; some carry the complete failed generation."""


def error_text(payload: Json, event: str) -> str | None:
    """The error that a payload carries, or `None`.

    Shapes: `{"error": {"message", "code"|"type"}}`, `{"error": "text"}`, and, under an `event: error` line,
    `"type": "error"` or `"object": "error"` (vLLM), the payload itself.
    """
    named = event == "error"
    if not isinstance(payload, dict):
        return "error event" if named and payload is ABSENT else None
    error = payload.get("error")
    if error in (None, "", {}, []):
        if not named and "error" not in (payload.get("type"), payload.get("object")):
            return None
        error = payload
    return _as_text(error)[:MAX_ERROR]


def status_text(payload: Json) -> str | None:
    """The error that MiniMax reports next to `choices`, which is null then, or `None`.

    https://platform.minimax.io/docs/api-reference/errorcode
    """
    code, message = (json_access.get(payload, "base_resp", key) for key in ("status_code", "status_msg"))
    return f"{code}: {message or 'no message'}"[:MAX_ERROR] if code and isinstance(code, int) else None


def stray_error(raw: bytes) -> str | None:
    """The error of a message without a response, or `None`: only an object with an `error`, or of that type."""
    return error_text(parse(raw), "") if b'"error"' in raw else None


def exception_text(payload: dict[str, Json], event: str) -> str | None:
    """The exception that ends an AWS event stream, or `None`: `{"message"}`, under a name such as `…Exception`."""
    if not event.endswith("Exception") or "type" in payload:
        return None
    return f"{event}: {payload.get('message') or 'no message'}"[:MAX_ERROR]


def unread_error(frame: Frame) -> str | None:
    """The text of an event named `error` whose data is not an object; `None` for any other event."""
    if frame.name != "error":
        return None
    text = frame.json if isinstance(frame.json, str) else (frame.data or b"").decode("utf-8", "replace")
    return text.strip()[:MAX_ERROR] or "error event"


def _as_text(error: Json) -> str:
    if isinstance(error, str):
        return error
    if not isinstance(error, dict):
        return json.dumps(error)
    message = error.get("message")
    kind = error.get("type") or error.get("code") or error.get("status")
    if not message:
        return json.dumps(error, ensure_ascii=False)
    return f"{kind}: {message}" if kind else str(message)


_EXCEPTIONS: Final = {
    ErrorKind.INVALID: "validationException",
    ErrorKind.UNAUTHENTICATED: "validationException",
    ErrorKind.FORBIDDEN: "validationException",
    ErrorKind.NOT_FOUND: "validationException",
    ErrorKind.RATE_LIMIT: "throttlingException",
    ErrorKind.SERVER: "internalServerException",
    ErrorKind.OVERLOADED: "serviceUnavailableException",
}
"""The exceptions of streams. AWS reports missing permissions and resources before a stream begins."""


def exception_message(kind: ErrorKind) -> bytes:
    """The bytes of a message with an error, which ends the stream."""
    return fresh(encoded({"message": kind.message}), _EXCEPTIONS[kind]).encode()
