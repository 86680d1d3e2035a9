"""What the upstream is told to do with one request, and what became of it."""

from __future__ import annotations

import asyncio
import uuid
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from tests.e2e.harness.script import PATIENCE, Answer, Break, Gate, Send, Wait

KEY = "x-answer"
"""The request header that names the plan to follow."""


@dataclass(frozen=True, slots=True)
class RequestKey:
    """A request as the upstream got it."""

    version: str
    """`h1` or `h2`."""
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def key(self) -> str:
        """Which plan it asks for."""
        return self.header(KEY)

    def header(self, name: str) -> str:
        """The value of a header, `""` where there is none."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(slots=True)
class StageSet:
    """An answer that waits for its request, and what became of it."""

    response: Answer
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    arrived: Future[RequestKey] = field(default_factory=Future)
    """The request."""
    second: Answer | None = None
    """What those get who come again."""
    came_again: Future[RequestKey] = field(default_factory=Future)
    """The second request."""
    gone: Gate = field(default_factory=Gate)
    """Opens when the peer leaves before the answer is over."""

    @property
    def headers(self) -> dict[str, str]:
        """What a request carries to get this answer."""
        return {KEY: self.key}

    @property
    def asked(self) -> RequestKey:
        """The request, once it has come."""
        return self.arrived.result(PATIENCE)

    def take(self, asked: RequestKey) -> None:
        """The request has come; a plan may be asked for again."""
        if not self.arrived.done():
            self.arrived.set_result(asked)
        elif self.second is not None and not self.came_again.done():
            self.response = self.second
            self.came_again.set_result(asked)

    def settle(self, task: asyncio.Task[None]) -> None:
        """The answer is over; an error of the upstream's own is not lost."""
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


def unplanned() -> StageSet:
    """What a request gets that nobody has planned for."""
    return StageSet(Answer((Send(b"nobody has planned for this\n"),), status=404, content_type="text/plain"))


class Peer(Protocol):
    """One request's side of a connection, in either HTTP version."""

    def head(self, response: Answer) -> None:
        """Send status and headers."""
        ...

    async def send(self, data: bytes) -> None:
        """Send a piece of the body, at once and by itself."""
        ...

    def end(self) -> None:
        """End the body as it should end."""
        ...

    def break_off(self, how: Break) -> None:
        """End it as it should not."""
        ...


async def perform(plan: StageSet, peer: Peer) -> None:
    """Do the steps of a plan."""
    peer.head(plan.response)
    for step in plan.response.on_the_wire():
        match step:
            case Send():
                await peer.send(step.data)
            case Wait():
                await asyncio.shield(asyncio.wrap_future(step.gate.future))
            case Break():
                peer.break_off(step)
                return
    peer.end()
