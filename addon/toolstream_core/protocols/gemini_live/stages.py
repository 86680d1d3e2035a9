"""Gemini Live is read only: its streams are not repaired, and no fault is injected."""

from __future__ import annotations

from typing import Final

from toolstream_core.stages.context import Promotion
from toolstream_core.stages.inject.injector import InjectorMaker
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls
from toolstream_core.stages.repair.repairer import RepairerMaker
from toolstream_core.stages.stage import StageMaker
from toolstream_core.wire.frame import Frame


def promoted(promotion: Promotion) -> list[Frame]:
    """As `WireProtocol.promoted`: the same frame, as streams of this API are not changed."""
    return [promotion.event.frame]


REPAIRS: Final[tuple[RepairerMaker, ...]] = ()
AT_END: Final = IncompleteCalls
INJECTORS: Final[dict[str, InjectorMaker]] = {}
SHAPES: Final[dict[str, StageMaker]] = {}
