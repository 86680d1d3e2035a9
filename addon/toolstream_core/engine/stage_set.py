"""Who has to do with the events of one answer: what the pipeline is handed when it knows the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.engine.chain import Breaking, Chain, Resolver
    from toolstream_core.engine.sink import Observer
    from toolstream_core.model import Change
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.wire.frame import Frame, Framer


def never_leaks(raw: bytes) -> bool:
    """No text is of interest."""
    del raw
    return False


def never(raw: bytes, frames: int) -> bool:
    """No frame is known to say nothing."""
    del raw, frames
    return False


@dataclass(frozen=True, slots=True)
class StageSet:
    """Who has to do with the events of one answer."""

    observers: Sequence[Observer] = ()
    faults: Breaking | None = None
    """What breaks the stream on purpose, before anybody sees it."""
    judge: Chain | None = None
    """What tells what is wrong, where that is not the stages' work; what it lets go on goes nowhere."""
    stages: Chain | None = None
    """What judges it, and repairs and shapes it for the client."""
    resolver: Resolver | None = None
    """What resolves the calls, where every stage goes by those of the stream as it came: such events may pass without
    the stages."""
    may_leak: Callable[[bytes], bool] = never_leaks
    """Whether frames that say nothing of calls may say one in their text, so that they have to be looked at."""
    brackets: bool = True
    """Whether brackets within a string of the arguments may pass like other text."""
    watched: bool = False
    """Whether somebody wants to be told of single events."""
    changes: Callable[[], Sequence[Change]] = tuple
    """What was changed in the event that was told last."""

    @property
    def wants_each(self) -> bool:
        """Whether a stage wants to see frames that say nothing too."""
        return any(chain is not None and chain.each for chain in (self.faults, self.stages))

    @property
    def error(self) -> Exception | None:
        """The bug of ours that ended the work of a chain, where there was one."""
        chains = (self.faults, self.judge, self.stages)
        return next((chain.error for chain in chains if chain is not None and chain.error is not None), None)

    def release(self) -> list[Frame]:
        """What is held back, as it came."""
        return [frame for chain in (self.stages, self.faults) if chain is not None for frame in chain.release()]


type StagesFor = Callable[[WireProtocol, Framer], StageSet]
"""Called once, when the protocol is known and how its answer is framed."""
