"""Kinds of errors of providers. Each protocol has its own words for them."""

import enum
from typing import Final


class ErrorKind(enum.Enum):
    """What went wrong: the usual HTTP status, and a message in plain words."""

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
    """The kind of error of an HTTP status; a server error for statuses without one of their own."""
    return next((kind for kind in ErrorKind if kind.status == status), ErrorKind.SERVER)
