"""What a transit fault is given: its values, and what it acts on."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from toolstream_core.protocols.registry import PROTOCOLS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.protocols.socket_wire import SocketLane


@dataclass
class FaultContext:
    """One fault's values, and what it knows of the stream that it acts on."""

    values: Mapping[str, Any]
    """By key, as in the table."""
    protocol: WireProtocol = PROTOCOLS[0]
    binary: bool = False
    """Whether the stream is an AWS event stream, which can only hold whole messages."""
    socket: SocketLane | None = None
    """Where on a WebSocket the stream comes, each event a message; `None` for one over HTTP."""
    seed: str = ""
    hits: Callable[[str], bool] = lambda tool: True  # noqa: ARG005
    """Whether calls of a tool are among the targets."""
    acted: Callable[[], None] = lambda: None
    """Called for each change."""
    random: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Use random numbers of its own."""
        self.random = random.Random(self.seed)

    def seconds(self) -> float:
        """A delay: `ms` with its jitter."""
        base, jitter = self.values["ms"] / 1000, self.values["jitter"] / 1000
        match self.values["dist"]:
            case "normal":
                drawn = self.random.gauss(0, jitter)
            case "exponential":
                drawn = self.random.expovariate(1 / jitter) if jitter else 0.0
            case _:
                drawn = self.random.uniform(-jitter, jitter)
        return max(0.0, float(base + drawn))
