"""An answer as its client got it, as far as the verdict on the client needs it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.table import ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.model import Call, Record

_CALL = 300
"""Bytes that a call takes in memory beside its texts, about."""
_LOSSY: Final = frozenset(row.code for row in ROWS if row.lossy)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentAnswer:
    """The calls of one answer."""

    calls: Sequence[Call]
    dropped: frozenset[int] = frozenset()
    """Places of calls that a correct client does not run, or need not."""
    response: str = ""
    """The id by which later requests may name the answer (`previous_response_id`)."""
    ended: float = 0.0
    """When it was over, in seconds since 1970; 0 where that is not known."""

    @property
    def ids(self) -> frozenset[str]:
        """The ids of the calls."""
        return frozenset(call.id for call in self.calls if call.id)

    @property
    def size(self) -> int:
        """Bytes that it takes in memory, about."""
        return sum(_CALL + len(call.id) + len(call.name) + len(call.arguments) for call in self.calls)


def dropped(record: Record) -> frozenset[int]:
    """Places of the calls of which a lossy defect takes something: of all calls, where it names none."""
    found = [one for one in record.findings if one.code in _LOSSY]
    everything = any(one.call is None for one in found)
    positions = {one.call for one in found}
    return frozenset(place for place, call in enumerate(record.calls) if everything or call.position in positions)
