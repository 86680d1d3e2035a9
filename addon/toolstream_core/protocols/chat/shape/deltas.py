"""Lawful ways to say the same Chat Completions calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.chat.edit import Piece, continuation, with_entries
from toolstream_core.protocols.chat.shape.base import ChatShape
from toolstream_core.stages.shape.small_fragments import TINY, tiny

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

LONGEST: Final = 80
"""Characters of an id that others are made as long as; longer ones stand alone."""


class OneCallPerEvent(ChatShape):
    """Several entries of one event come in an event each."""

    def _shaped(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if len(found) == 1:
            return [event.frame]
        return self._spread(event, [(piece.choice, piece.entry) for piece in found])


class SplitHeader(ChatShape):
    """A header carries no arguments; they come in an event of their own."""

    def _shaped(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not any(piece.opening and piece.arguments for piece in found):
            return [event.frame]
        entries: list[tuple[int, Json]] = []
        for piece in found:
            arguments = piece.arguments
            if piece.opening and arguments:
                piece.function["arguments"] = ""
                entries.append((piece.choice, piece.entry))
                entries.append((piece.choice, continuation(piece.fragment.index, arguments)))
            else:
                entries.append((piece.choice, piece.entry))
        return self._spread(event, entries)


class TinyFragments(ChatShape):
    """Arguments come a few characters at a time."""

    def _shaped(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not any(len(piece.arguments) > TINY for piece in found):
            return [event.frame]
        entries: list[tuple[int, Json]] = []
        for piece in found:
            entries.extend((piece.choice, entry) for entry in self._cut(piece))
        return self._spread(event, entries)

    def _cut(self, piece: Piece) -> Iterator[Json]:
        parts = list(self._parts(piece.arguments))
        if len(parts) < 2:  # noqa: PLR2004
            yield piece.entry
            return
        piece.function["arguments"] = parts[0]
        yield piece.entry
        for part in parts[1:]:
            yield continuation(piece.fragment.index, part)

    def _parts(self, text: str) -> Iterator[str]:
        return tiny(text)


class LateBrace(TinyFragments):
    """The last character of the arguments comes alone."""

    def _parts(self, text: str) -> Iterator[str]:
        if text.endswith("}") and len(text) > 1:
            yield text[:-1]
            yield text[-1]
        else:
            yield text

    def _shaped(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not any(piece.call.arguments.whole and len(piece.arguments) > 1 for piece in found):
            return [event.frame]
        return super()._shaped(event, found)


class EmptyFragment(ChatShape):
    """An empty fragment follows each header."""

    def _shaped(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not any(piece.opening and not piece.arguments for piece in found):
            return [event.frame]
        entries: list[tuple[int, Json]] = []
        for piece in found:
            entries.append((piece.choice, piece.entry))
            if piece.opening and not piece.arguments:
                entries.append((piece.choice, continuation(piece.fragment.index, "")))
        return self._spread(event, entries)


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
