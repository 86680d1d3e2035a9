"""Errors as each provider says them: as the body of an HTTP error, and as an event in mid-stream."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.wire.event_stream import fresh

if TYPE_CHECKING:
    from toolstream_core.model import Json

# https://docs.claude.com/en/api/errors, https://platform.openai.com/docs/guides/error-codes,
# https://ai.google.dev/gemini-api/docs/troubleshooting, https://github.com/ollama/ollama/blob/main/docs/api.md,
# https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_ResponseStream.html


class _Kind(NamedTuple):
    status: int
    message: str
    openai: str
    anthropic: str
    google: str


ERRORS: Final = {
    "overloaded": _Kind(529, "Overloaded", "server_error", "overloaded_error", "UNAVAILABLE"),
    "rate-limit": _Kind(429, "Rate limit reached", "rate_limit_exceeded", "rate_limit_error", "RESOURCE_EXHAUSTED"),
    "server": _Kind(500, "Internal server error", "server_error", "api_error", "INTERNAL"),
}
_EXCEPTIONS: Final = {
    "overloaded": "serviceUnavailableException",
    "rate-limit": "throttlingException",
    "server": "internalServerException",
}
_STATUSES = {
    400: _Kind(400, "Invalid request", "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
    401: _Kind(401, "Invalid API key", "invalid_request_error", "authentication_error", "UNAUTHENTICATED"),
    403: _Kind(403, "Not allowed", "invalid_request_error", "permission_error", "PERMISSION_DENIED"),
    404: _Kind(404, "Not found", "invalid_request_error", "not_found_error", "NOT_FOUND"),
    429: ERRORS["rate-limit"],
    529: ERRORS["overloaded"],
}


def error_body(dialect: str, status: int) -> Json:
    """The JSON body of an HTTP error of that status."""
    return _body(dialect, _STATUSES.get(status, ERRORS["server"]), status)


def error_event(dialect: str, error: str, *, number: int = 0) -> bytes:
    """The bytes of an error in mid-stream; `number` is its place among the events."""
    kind = ERRORS[error]
    match dialect:
        case "anthropic":
            return b"event: error\ndata: " + _json(_body(dialect, kind, kind.status)) + b"\n\n"
        case "openai-responses":
            said = {"type": "error", "code": kind.openai, "message": kind.message, "param": None}
            return b"event: error\ndata: " + _json({**said, "sequence_number": number}) + b"\n\n"
        case "ollama":
            return _json({"error": kind.message}) + b"\n"
    return b"data: " + _json(_body(dialect, kind, kind.status)) + b"\n\n"


def exception_message(error: str) -> bytes:
    """The same in an AWS event stream: an exception, as the service would say it."""
    return fresh(_json({"message": ERRORS[error].message}), _EXCEPTIONS[error]).encode()


def _body(dialect: str, kind: _Kind, status: int) -> Json:
    match dialect:
        case "anthropic":
            return {"type": "error", "error": {"type": kind.anthropic, "message": kind.message}}
        case "gemini":
            return {"error": {"code": status, "message": kind.message, "status": kind.google}}
        case "ollama":
            return {"error": kind.message}
    return {"error": {"message": kind.message, "type": kind.openai, "param": None, "code": None}}


def _json(payload: Json) -> bytes:
    return json.dumps(payload, separators=(",", ":")).encode()
