"""The last frame of an Anthropic stream, where it lacks its end."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from toolstream_core.wire.frame import Frame

# A frame that was cut inside is nobody's event: nothing is joined to it. Either it stays the stream's last bytes, or,
# where it can only have been the message's end, it goes and the end is said anew.

_MESSAGE_END: Final = re.compile(
    rb'\s*(?:event:\s*message_(?:delta|stop)\s*[\r\n]|data:\s*\{\s*"type"\s*:\s*"message_(?:delta|stop)")'
)
_REASON: Final = re.compile(rb'"stop_reason"\s*:\s*"?([a-z_]*)')


def is_cut(frame: Frame) -> bool:
    """Whether the stream ended inside the frame, so that it says nothing."""
    return frame.trailing and bool(frame.raw.strip()) and not isinstance(frame.json, dict)


def was_end(frame: Frame) -> bool:
    """Whether a cut frame can only have been the end of a message that uses tools."""
    reason = _REASON.search(frame.raw)
    return _MESSAGE_END.match(frame.raw) is not None and (reason is None or b"tool_use".startswith(reason[1]))
