"""Ids of one length: the one shape of Chat Completions that is no policy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.chat.edit import with_entries
from toolstream_core.protocols.chat.shape.base import ChatShape

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.model import Event
    from toolstream_core.protocols.chat.edit import Piece
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

LONGEST: Final = 80
"""Characters of an id that others are made as long as; longer ones stand alone."""


class EvenIds(ChatShape):
    """No id is shorter than one before it; requests that follow have the provider's own ids again."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._longest = 0
        self._given: dict[str, str] = {}

    def _shaped(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        own = [piece.entry.get("id") for piece in found]
        for piece, given in zip(found, own, strict=True):
            if isinstance(given, str) and given:
                piece.entry["id"] = self._given.get(given) or self._even(given, piece.call.name)
        if own == [piece.entry.get("id") for piece in found]:
            return [event.frame]
        payload = with_entries(event.frame.json, [(piece.choice, piece.entry) for piece in found])
        return [self._context.writer.rewrite(event.frame, payload)]

    def _even(self, own: str, name: str) -> str:
        given = own
        if _size(own) < self._longest:
            given = self._context.ids.make("call_", self._longest)
            self._context.ids.stands_for(given, own, name)
        self._longest = min(max(self._longest, _size(given)), LONGEST)
        self._given[own] = given
        return given


def _size(text: str) -> int:
    """In bytes, as clients count that are written in Rust or Go."""
    return len(text.encode("utf-8", "replace"))
