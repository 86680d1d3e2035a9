"""What an answer's way to the client is made of, step by step. Knows no mitmproxy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from toolstream_core.transit import BreakKind


class Break:
    """The client's connection breaks here."""

    def __init__(self, how: BreakKind, why: str, code: int | None = None) -> None:
        """`why` is what the flow's error says; `code` is what a WebSocket is closed with, `None` for no close frame."""
        self.how = how
        self.why = why
        self.code = code


class End:
    """The body ends here in order."""


type Step = bytes | Break | End | None
"""What comes next: bytes go, the stream breaks, it ends; `None`: nothing more for what was offered."""


class Delivery(Protocol):
    """One answer's way to the client, step by step."""

    paced: bool
    """Whether it decides on every piece, not only on how the answer ends."""
    step: Step
    """The step that `advance` found."""

    def offer_headers(self) -> None:
        """The headers are about to go."""
        ...

    def offer(self, piece: bytes | None) -> None:
        """A piece of the body is about to go; `None` is the body's end."""
        ...

    def advance(self) -> bool:
        """Find the next step; whether that needs no waiting. What it is stands in `step`."""
        ...

    async def wait(self) -> None:
        """Wait until `advance` may be asked again."""
        ...

    @property
    def pause(self) -> float | None:
        """For how many seconds `wait` would wait at most, `None` for no known time."""
        ...

    def left(self) -> None:
        """The client has gone: nothing is worth waiting for."""
        ...

    def overflow(self) -> None:
        """Too much has come while the client waits, and upstream cannot be made to wait: end with an error."""
        ...

    def forgives(self, message: str) -> bool:
        """Whether the answer is whole, although upstream's connection broke so."""
        ...
