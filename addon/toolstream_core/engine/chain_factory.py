"""Who has to do with the events of one answer: what the pipeline is handed when it knows the dialect."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.engine.chain import Breaking, Chain
    from toolstream_core.engine.observer import Observer
    from toolstream_core.model import Change
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.wire.frame import Framer


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
    """What judges it, and mends and shapes it for the client."""
    told: Callable[[], Sequence[ResolvedFragment]] | None = None
    """The fragments of the event that was told last, where every stage goes by the calls of the stream as it came:
    such events may go by without them."""
    may_leak: Callable[[bytes], bool] = never_leaks
    """Whether frames that say nothing of calls may say one in their text, so that they have to be looked at."""
    brackets: bool = True
    """Whether brackets within a string of the arguments may go by like other text."""
    watched: bool = False
    """Whether somebody wants to be told of single events."""
    changes: Callable[[], Sequence[Change]] = tuple
    """What was changed in the event that was told last."""


type ChainFactory = Callable[[WireProtocol, Framer], StageSet]
"""Called once, when the dialect is known and how its answer is framed."""
