"""Valid encodings of Responses calls that few providers use."""

from __future__ import annotations

from typing import Final

from toolstream_core.repair.policy import OF_RESPONSES
from toolstream_core.stages.shape import sse

SHAPES: Final = {**OF_RESPONSES, **sse.SHAPES}
