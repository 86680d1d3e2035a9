"""Lawful ways to say the same Chat Completions calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.chat.shape.deltas import (
    EmptyFragment,
    EvenIds,
    LateBrace,
    OneCallPerEvent,
    SplitHeader,
    TinyFragments,
)
from toolstream_core.protocols.chat.shape.held import HeaderWithFirstFragment, Sequential
from toolstream_core.protocols.chat.shape.whole import WholeCalls
from toolstream_core.stages.shape import sse

if TYPE_CHECKING:
    from toolstream_core.stages.stage import Stage

SHAPES: Final[dict[str, type[Stage]]] = {
    "whole-calls": WholeCalls,
    "one-call-per-event": OneCallPerEvent,
    "sequential": Sequential,
    "split-header": SplitHeader,
    "header-with-first-fragment": HeaderWithFirstFragment,
    "tiny-fragments": TinyFragments,
    "empty-fragment": EmptyFragment,
    "late-brace": LateBrace,
    "even-ids": EvenIds,
    **sse.SHAPES,
}
