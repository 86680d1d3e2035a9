"""Repairs, faults and shapes of Chat Completions streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.defect import CHAT
from toolstream_core.protocols.chat.inject import OWN, ChatCodec
from toolstream_core.protocols.chat.repair.stage import ChatRepair
from toolstream_core.repair.shapes import POLICIES
from toolstream_core.stages import framing
from toolstream_core.stages.inject.injector import injectors

if TYPE_CHECKING:
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.stages.repair.repairer import Repairer


REPAIRS: Final[tuple[type[Repairer], ...]] = (framing.SseRepairer, ChatRepair)
AT_END = None
"""The stage itself withholds the end of a response with an incomplete call."""
INJECTORS: Final[dict[str, InjectorMaker]] = {**injectors(CHAT, ChatCodec, OWN), **framing.INJECTORS}
SHAPES: Final = {**POLICIES, **framing.SHAPES}
