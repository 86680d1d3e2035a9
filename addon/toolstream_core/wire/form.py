"""The framing of a body."""

import enum


class Form(enum.StrEnum):
    """How a response's body is cut into events."""

    WHOLE = "one JSON document"
    EVENTS = "server-sent events"
    LINES = "newline-delimited JSON"
    ARRAY = "a streamed JSON array"
    MESSAGES = "an AWS event stream"


CONTENT_TYPES = {
    Form.WHOLE: "application/json",
    Form.EVENTS: "text/event-stream",
    Form.LINES: "application/x-ndjson",
    Form.ARRAY: "application/json",
    Form.MESSAGES: "application/vnd.amazon.eventstream",
}
"""The `content-type` header of each."""
