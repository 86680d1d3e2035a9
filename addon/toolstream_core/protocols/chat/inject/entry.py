"""The base of the injectors that change Chat Completions entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.chat.edit import Piece, entry_chunk, pieces, says_nothing, with_entries
from toolstream_core.stages.inject.injector import EditingInjector, InjectorMaker, Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

type Edit = Callable[[Piece, EntryInjector], Iterable[Json] | None]
"""What an entry becomes: entries, each an event's; `None` leaves it as it is."""


class EntryInjector(EditingInjector):
    """Changes entries of the calls that are picked."""

    def __init__(self, context: Context, pick: Pick, edit: Edit, *, steady: bool = False) -> None:
        """`edit` is what is done to each entry; `steady`: as in `EditingInjector`."""
        super().__init__(context, pick, steady=steady)
        self._edit = edit
        self._seen: set[int] = set()

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        found = pieces(event, resolved, self._seen)
        self.acts = False
        if found is None:
            return [event.frame]
        entries: list[tuple[int, Json]] = []
        changed = False
        for piece in found:
            if piece.opening:
                self.calls.append(piece.call)
            edited = self._edit(piece, self) if self._pick.call(piece.call) else None
            changed = changed or edited is not None
            entries.extend((piece.choice, entry) for entry in ([piece.entry] if edited is None else edited))
        if not changed:
            return [event.frame]
        self.acts = True
        self._pick.acted()
        return list(self._frames(event, entries, len(found)))

    def _frames(self, event: Event, entries: list[tuple[int, Json]], before: int) -> Iterable[Frame]:
        """As many entries stay in one event; more of them come in events of their own, before it."""
        writer, payload, number = self._context.writer, event.frame.json, event.frame.number
        extra = max(len(entries) - before, 0)
        for choice, entry in entries[:extra]:
            yield writer.make(entry_chunk(payload, choice, entry), number)
        rest = with_entries(payload, entries[extra:])
        if entries[extra:] or not says_nothing(rest):
            yield writer.rewrite(event.frame, rest)


def maker(edit: Edit, *, steady: bool = False) -> InjectorMaker:
    """What makes the injector that does `edit`; `steady`: as in `EditingInjector`."""
    return lambda context, pick: EntryInjector(context, pick, edit, steady=steady)
