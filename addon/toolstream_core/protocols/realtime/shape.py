"""Valid encodings of Realtime calls that few servers use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.protocols.responses.shape import SHAPES as OF_RESPONSES

if TYPE_CHECKING:
    from toolstream_core.stages.stage import StageMaker

SHAPES: Final[dict[str, StageMaker]] = {
    name: OF_RESPONSES[name] for name in ("whole-calls", "tiny-fragments", "sequential")
}
