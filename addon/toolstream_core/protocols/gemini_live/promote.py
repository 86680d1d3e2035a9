"""Gemini Live is only read: a call that came as text stays text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolstream_core.stages.promotion import Promotion
    from toolstream_core.wire.frame import Frame


def promoted(one: Promotion) -> list[Frame]:
    """The frame as it came; see `WireProtocol.promoted`."""
    return [one.event.frame]
