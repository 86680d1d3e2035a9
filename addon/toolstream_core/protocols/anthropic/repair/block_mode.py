"""Whether a content block is stopped, on the wire and for the client."""

from __future__ import annotations

from enum import StrEnum, auto
from typing import Final


class BlockMode(StrEnum):
    """What the client has been sent of the end of one block."""

    OPEN = auto()
    """It was started, and not stopped."""
    STOP_OWED = auto()
    """Its stop came before its arguments were whole, and is given when they are."""
    STOPPED_EARLY = auto()
    """A stop was made for it; its own has not come."""
    STOPPED = auto()
    """Its own stop has come."""


class Stop(StrEnum):
    """A stop of one block."""

    OWN = auto()
    """The block's own stop, which is given."""
    KEPT = auto()
    """The block's own stop, which is kept back."""
    MADE = auto()
    """A stop that the wire did not say."""


LEADS_TO: Final[dict[tuple[BlockMode, Stop], BlockMode]] = {
    (BlockMode.OPEN, Stop.OWN): BlockMode.STOPPED,
    (BlockMode.OPEN, Stop.KEPT): BlockMode.STOP_OWED,
    (BlockMode.OPEN, Stop.MADE): BlockMode.STOPPED_EARLY,
    (BlockMode.STOP_OWED, Stop.OWN): BlockMode.STOPPED,
    (BlockMode.STOP_OWED, Stop.KEPT): BlockMode.STOP_OWED,
    (BlockMode.STOP_OWED, Stop.MADE): BlockMode.STOPPED_EARLY,
    (BlockMode.STOPPED_EARLY, Stop.OWN): BlockMode.STOPPED,
    (BlockMode.STOPPED, Stop.OWN): BlockMode.STOPPED,
}
"""Nothing is made or kept for a block that is stopped."""
