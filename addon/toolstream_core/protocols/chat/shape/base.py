"""What every shape of Chat Completions calls is made on."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.chat.edit import (
    Piece,
    has_role,
    others_of,
    pieces,
    says_nothing,
    with_entries,
)
from toolstream_core.stages.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


class ChatShape(Stage):
    """Says entries in another way. An event that is not in order goes on as it is."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._seen: set[int] = set()
        self._sent: dict[str, Json] = {}
        """The unknown keys of events whose entries went another way, with the values that the client has."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        found = pieces(event, resolved, self._seen)
        if found is None:
            return [*self._before(event), event.frame]
        return self._shaped(event, found)

    def _before(self, event: Event) -> list[Frame]:
        """What has to go before an event without entries."""
        del event
        return []

    def _shaped(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        raise NotImplementedError

    def _rest(self, event: Event, found: list[Piece]) -> list[Frame]:
        """The event without its entries, where that still says something: who speaks counts where a call opens."""
        payload = with_entries(event.frame.json, [])
        if says_nothing(payload, self._sent) and not (has_role(payload) and any(piece.opening for piece in found)):
            return []
        self._sent |= others_of(payload)
        return [self._context.writer.rewrite(event.frame, payload)]
