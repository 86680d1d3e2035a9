"""Repairs, faults and shapes of Chat Completions streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.row import CHAT
from toolstream_core.protocols.chat.inject import OWN, ChatCodec
from toolstream_core.protocols.chat.repair.events import ChatEvents
from toolstream_core.repair.policy import NO_SHAPE, POLICIES
from toolstream_core.repair.stage import DifferenceStage
from toolstream_core.stages import framing
from toolstream_core.stages.inject.injector import injectors

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.repair.policy import Policy
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.stages.repair.repairer import Repairer


def chat(context: Context, policy: Policy = NO_SHAPE) -> DifferenceStage:
    """Sends what a client of Chat Completions lacks; `policy`: what the client needs."""
    return DifferenceStage(context, ChatEvents, policy)


REPAIRS: Final[tuple[Callable[[Context], Repairer], ...]] = (framing.SseRepairer, chat)
AT_END = None
"""The stage itself withholds the end of a response with an incomplete call."""
INJECTORS: Final[dict[str, InjectorMaker]] = {**injectors(CHAT, ChatCodec, OWN), **framing.INJECTORS}
SHAPES: Final = {**POLICIES, **framing.SHAPES}
