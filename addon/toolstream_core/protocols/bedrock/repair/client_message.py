"""What all parts of the repair of one Converse stream need: its context, its findings, and who was started in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.reporter import Reporter


@dataclass
class ClientMessage:
    """One message as the client gets it."""

    context: Context
    reporter: Reporter
    earlier_ids: frozenset[str]
    """Ids of the calls of earlier turns, from the request."""
    given_ids: set[str] = field(default_factory=set)
    """The ids that the provider gave to the calls so far."""
    number: int = 0
    """The event that is looked at."""
