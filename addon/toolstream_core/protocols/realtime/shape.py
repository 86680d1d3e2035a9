"""Valid encodings of Realtime calls that few servers use."""

from __future__ import annotations

from typing import Final

from toolstream_core.repair.policy import SEQUENTIAL, TINY_FRAGMENTS, WHOLE_CALLS

SHAPES: Final = {one.names[0]: one for one in (WHOLE_CALLS, TINY_FRAGMENTS, SEQUENTIAL)}
