"""An answer as bug reports show it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.model import Fragment, Json, Record
    from toolstream_core.wire.frame import Frame


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedAnswer:
    """An answer, redacted, as a report shows it."""

    record: Record
    frames: Sequence[Frame]
    fragments: Sequence[Fragment]
    """All tool-call entries of its events, in order."""
    path: str
    """Request path with query."""
    request: Json
    status: int
    recorded: str
    """The day, in UTC."""
    caused: Sequence[str] = ()
    """Specifications of the faults that broke it on purpose; the rest is what the client got then."""
    provider: Sequence[str] | None = None
    """Names of the defects of what the provider sent, where that is known and faults changed it."""
    left: Sequence[str] | None = None
    """Names of the defects that the faults left, before any repair, where there were faults."""
    client: str = ""
    """What the client made of it, for people; `""` where nothing tells."""
    understood: bool = True
    """Whether the client did what the answer meant, as far as is known."""

    @property
    def is_telling(self) -> bool:
        """Whether anything went wrong with it."""
        return bool(self.record.findings or self.caused) or not self.understood


def understanding(answers: Sequence[ReportedAnswer]) -> bool | None:
    """Whether the client understood all answers; `None` where nothing that was saved tells.

    An answer without calls has nothing to misread, and is never followed by a verdict.
    """
    if not all(one.understood for one in answers):
        return False
    with_calls = [one for one in answers if one.record.calls or one.client]
    return True if with_calls and all(one.client for one in with_calls) else None
