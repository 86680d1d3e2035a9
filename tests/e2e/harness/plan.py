"""The scripted response to a request, and the request that upstream received."""

from __future__ import annotations

import asyncio
import uuid
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Protocol

from tests.e2e.harness.script import PATIENCE, Break, Gate, Response, Send, Wait

KEY = "x-plan"
"""The request header that names the plan."""


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as upstream received it."""

    version: str
    """`h1` or `h2`."""
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes

    @property
    def key(self) -> str:
        """The key of its plan."""
        return self.header(KEY)

    def header(self, name: str) -> str:
        """The value of a header, or `""`."""
        return next((value for key, value in self.headers if key.lower() == name), "")


@dataclass(slots=True)
class Plan:
    """A scripted response that waits for its request."""

    response: Response
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    arrived: Future[ReceivedRequest] = field(default_factory=Future)
    """The first request."""
    second_response: Response | None = None
    """The response to a second request with the same key."""
    second_request: Future[ReceivedRequest] = field(default_factory=Future)
    """The second request."""
    client_left: Gate = field(default_factory=Gate)
    """Opens when the peer disconnects before the response has ended."""

    @property
    def headers(self) -> dict[str, str]:
        """The headers of a request that gets this response."""
        return {KEY: self.key}

    @property
    def request(self) -> ReceivedRequest:
        """The first request, once it has arrived."""
        return self.arrived.result(PATIENCE)

    def take(self, request: ReceivedRequest) -> None:
        """Keep a request that has arrived."""
        if not self.arrived.done():
            self.arrived.set_result(request)
        elif self.second_response is not None and not self.second_request.done():
            self.response = self.second_response
            self.second_request.set_result(request)

    def settle(self, task: asyncio.Task[None]) -> None:
        """Raise the error of a response that failed in the harness itself."""
        if not task.cancelled() and (error := task.exception()) is not None:
            raise error


def unplanned() -> Plan:
    """The plan of a request without a known key: 404."""
    return Plan(Response((Send(b"no plan has this key\n"),), status=404, content_type="text/plain"))


class Peer(Protocol):
    """The upstream's side of a request, in either HTTP version."""

    def head(self, response: Response) -> None:
        """Send status and headers."""
        ...

    async def send(self, data: bytes) -> None:
        """Send a chunk of the body at once, separately."""
        ...

    def end(self) -> None:
        """End the body normally."""
        ...

    def break_off(self, how: Break) -> None:
        """End the body with a disconnect or reset."""
        ...


async def perform(plan: Plan, peer: Peer) -> None:
    """Perform the steps of a plan."""
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
