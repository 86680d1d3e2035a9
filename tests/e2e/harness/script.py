"""A scripted response, step by step. Independent of the HTTP version."""

from __future__ import annotations

from concurrent.futures import Future
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from tests.e2e.harness.codings import CODERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

PATIENCE = 60.0
"""Seconds that a test waits before it fails."""


class Gate:
    """Can be opened once, from any thread. The test or the upstream waits for it."""

    def __init__(self) -> None:
        """Start closed."""
        self.future: Future[None] = Future()

    @property
    def is_open(self) -> bool:
        """Whether it is open."""
        return self.future.done()

    def open(self) -> None:
        """Release all waiters. May be called again."""
        if not self.future.done():
            self.future.set_result(None)

    def wait(self) -> None:
        """Wait in the thread of the test."""
        self.future.result(PATIENCE)


@dataclass(frozen=True, slots=True)
class Send:
    """A chunk of the body: one HTTP chunk or DATA frame, flushed at once."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Wait:
    """Wait until the test opens the gate."""

    gate: Gate


class Break(Enum):
    """A disconnect inside the response."""

    CLOSE = "close"
    """The connection is closed inside the body."""
    RESET = "reset"
    """The connection is reset; over HTTP/2, the stream."""


type Step = Send | Wait | Break


class Framing(Enum):
    """How HTTP/1.1 marks the end of the body."""

    CHUNKED = "chunked"
    LENGTH = "length"
    CLOSE = "close"


@dataclass(frozen=True, slots=True)
class Response:
    """A response as steps. It ends normally after the last step, unless a step is a `Break`."""

    steps: tuple[Step, ...]
    status: int = 200
    content_type: str = "text/event-stream"
    headers: tuple[tuple[str, str], ...] = ()
    framing: Framing = Framing.CHUNKED
    coding: str = "identity"

    def on_the_wire(self) -> Iterator[Step]:
        """The same steps with the body encoded; each chunk is flushed separately."""
        coder = CODERS[self.coding]()
        for step in self.steps:
            yield Send(coder.encode(step.data)) if isinstance(step, Send) else step
            if isinstance(step, Break):
                return
        yield Send(coder.finish())

    @property
    def body(self) -> bytes:
        """All encoded bytes of the body."""
        return b"".join(step.data for step in self.on_the_wire() if isinstance(step, Send))

    @property
    def length(self) -> int:
        """The value of `content-length`: more than is sent if a step is a `Break`."""
        return len(self.body) + any(isinstance(step, Break) for step in self.steps)

    @property
    def fields(self) -> list[tuple[str, str]]:
        """Header fields that do not depend on the HTTP version."""
        fields = [("content-type", self.content_type), *self.headers]
        if self.coding != "identity":
            fields.append(("content-encoding", self.coding))
        return fields


def event_stream(chunks: Iterable[bytes], *, coding: str = "identity", framing: Framing = Framing.CHUNKED) -> Response:
    """An event stream of these chunks, without gates."""
    return Response(tuple(Send(chunk) for chunk in chunks), coding=coding, framing=framing)
