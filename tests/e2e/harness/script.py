"""What an upstream does with a request, step by step. Knows no connection."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tests.e2e.harness.codings import CODERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PATIENCE = 60.0
"""Seconds after which a test that waits for something takes it as never coming."""


class Gate:
    """Opened once, from any thread; waited for by the test and by the upstream."""

    def __init__(self) -> None:
        """Start shut."""
        self.future: Future[None] = Future()

    @property
    def is_open(self) -> bool:
        """Whether it was opened."""
        return self.future.done()

    def open(self) -> None:
        """Let all who wait go on; again is no matter."""
        if not self.future.done():
            self.future.set_result(None)

    def wait(self) -> None:
        """Wait in the test's own thread."""
        self.future.result(PATIENCE)


@dataclass(frozen=True, slots=True)
class Send:
    """One piece of the body: one HTTP chunk or DATA frame, flushed at once."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Go on when the test says so."""

    gate: Gate


class Break(Enum):
    """An end that is none."""

    CLOSE = "close"
    """The connection is closed in the middle of the body."""
    RESET = "reset"
    """The connection is reset, over HTTP/2 the stream."""


type Step = Send | Wait | Break


class Framing(Enum):
    """How HTTP/1.1 tells where the body ends."""

    CHUNKED = "chunked"
    LENGTH = "length"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Answer:
    """A response, as steps. Where no `Break` comes, it ends well after the last step."""

    steps: tuple[Step, ...]
    status: int = 200
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    framing: Framing = Framing.CHUNKED
    coding: str = "identity"

    def on_the_wire(self) -> Iterator[Step]:
        """The same steps with the body coded, each piece flushed by itself."""
        coder = CODERS[self.coding]()
        for step in self.steps:
            yield Send(coder.encode(step.data)) if isinstance(step, Send) else step
            if isinstance(step, Break):
                return
        yield Send(coder.finish())

    @property
    def body(self) -> bytes:
        """All bytes of the body as they cross the wire."""
        return b"".join(step.data for step in self.on_the_wire() if isinstance(step, Send))

    @property
    def length(self) -> int:
        """What a `content-length` says: more than comes where the answer breaks off."""
        return len(self.body) + any(isinstance(step, Break) for step in self.steps)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Header fields that do not depend on the HTTP version."""
        fields = [("content-type", self.content_type), *self.headers]
        if self.coding != "identity":
            fields.append(("content-encoding", self.coding))
        return fields


def response(pieces: Iterable[bytes], *, coding: str = "identity", framing: Framing = Framing.CHUNKED) -> Answer:
    """An event stream of these pieces, without waiting."""
    return Answer(tuple(Send(piece) for piece in pieces), coding=coding, framing=framing)
