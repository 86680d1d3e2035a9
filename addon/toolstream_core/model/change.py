"""What was rewritten, for the audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.wire.frame import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.wire.frame import Frame


class Change(NamedTuple):
    """Events, and what was sent instead of them."""

    names: tuple[str, ...]
    """Names of the defects that demanded it, of the shape, or of the fault."""
    event: int
    """The number under which it is reported: that of the first event that was replaced, else of the first one sent."""
    old: Sequence[Frame]
    new: Sequence[Frame]
    kind: str = "repair"
    """`repair`, `shape` or `fault`."""

    @property
    def before(self) -> bytes:
        """The events that were replaced; `b""` if events were only added."""
        return joined(self.old)

    @property
    def after(self) -> bytes:
        """What was sent instead; `b""` if nothing was."""
        return joined(self.new)

    @property
    def replaced(self) -> list[int]:
        """The numbers of the events that were replaced. Comments and blank frames have none."""
        return [frame.number for frame in self.old if frame.data is not None]

    @property
    def sent(self) -> list[int]:
        """For each event that was sent instead, the number of the event in whose place it stands."""
        return [frame.number for frame in self.new if frame.data is not None]
