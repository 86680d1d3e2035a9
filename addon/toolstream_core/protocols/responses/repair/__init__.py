"""Responses streams, judged and repaired."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.responses.repair.repairer import ResponsesMender
from toolstream_core.stages.repair.sse import SseMender

if TYPE_CHECKING:
    from toolstream_core.stages.repair.repairer import Mender

REPAIRS: Final[tuple[type[Mender], ...]] = (SseMender, ResponsesMender)
