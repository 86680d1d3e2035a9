"""The kinds of events that causes select."""

from enum import StrEnum, auto


class What(StrEnum):
    """The kinds of events for a client, in all protocols."""

    HEAD = auto()
    """Begins the message."""
    START = auto()
    """Begins a call; the complete call where calls are not streamed."""
    DELTA = auto()
    """A fragment of a call."""
    WHOLE = auto()
    """Repeats the complete arguments, before the call's end."""
    STOP = auto()
    """Ends a call."""
    ITEM = auto()
    """A call inside the event that ends the response."""
    FINISH = auto()
    """Has the finish reason."""
    TAIL = auto()
    """Follows the finish, with the usage."""
    END = auto()
    """The last event."""
    ERROR = auto()
    """Reports an error of the provider."""
    EVENT = auto()
    """An event around its entries, where one event has several calls."""
    OTHER = auto()
    """Concerns no call."""
