"""The limits of the events that wait for later ones, the same for all stages that hold events back."""

from __future__ import annotations

from typing import Final

MAX_EVENTS: Final = 4096
"""Events that wait before all of them are sent."""
MAX_BYTES: Final = 16 * 1024 * 1024
"""The same in bytes."""
MAX_COMMENTS: Final = 8
"""Comments that wait. More of them show that the stream is slow."""
