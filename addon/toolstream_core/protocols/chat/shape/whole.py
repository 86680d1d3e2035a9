"""The shape of Chat Completions calls that says each whole in one event, or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.model import Phase
from toolstream_core.protocols.chat.edit import Piece, entry_chunk, has_others, pieces
from toolstream_core.protocols.chat.shape.held import GatheredCall, Holding
from toolstream_core.protocols.chat.shape.other_forms import OddForms
from toolstream_core.stages.shape.wholeness import is_whole, turn_over

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, EventContent
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


class WholeCalls(Holding):
    """Each call comes in one event; one that never becomes whole does not come.

    Calls go on in the order in which they opened. Where one is left behind, those after it move up: clients put
    calls into a list by their index.
    """

    def __init__(self, context: Context) -> None:
        """As `Stage`."""
        super().__init__(context)
        self._finished: set[int] = set()
        """Choices whose finish has gone on: a call that still becomes whole goes at once."""
        self._cut: set[int] = set()
        """Those of them that were cut off."""
        self._next: dict[int, int] = {}
        """By choice in which a call was left behind: the index of the next one that goes on."""
        self._given: dict[int, int] = {}
        """By call: the index that it got instead of its own."""
        self._odd = OddForms(context)

    @property
    @override
    def holding(self) -> bool:
        return bool(self._open or len(self._odd))

    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """As `Stage.take`; an event in another form waits as it is, or brings a part of a call that waits."""
        found = None if self._odd.has(resolved) else pieces(event, resolved, self._seen)
        if found is not None:
            return self._shaped(event, found)
        gathered = self._open.get(id(resolved[0].call)) if len(resolved) == 1 else None
        if gathered is not None and resolved[0].fragment.phase is Phase.MORE:
            text = resolved[0].fragment.arguments
            gathered.parts.append(text if isinstance(text, str) else "")
            return [*self._before(event), *self._odd.without_calls(event)]
        if not resolved:
            return [*self._before(event), event.frame]
        self._odd.add(event, resolved)
        return [*self._odd.ready(), *self._before(event)]

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        del clean
        return self._last(over=False)

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`."""
        return [*super().release(), *self._odd.frames]

    def _before(self, event: Event) -> list[Frame]:
        content = event.content
        out = self._at_finish(content)
        return [*out, *self._last(over=turn_over(content))] if content.end or content.error else out

    def _shaped(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        first = found[0]
        if len(found) == 1 and first.opening and self._is_whole(first) and not (self._open or self._next):
            return [event.frame]
        rest = self._rest(event, found)
        out: list[Frame] = []
        for piece in found:
            if piece.opening:
                out.extend(self._in_turn(piece.choice))
            out.extend(self._take(piece, event))
        return [*out, *self._before(event), *rest]

    def _take(self, piece: Piece, event: Event) -> Iterator[Frame]:
        key = id(piece.call)
        gathered = self._open.get(key)
        payload, number = event.frame.json, event.frame.number
        if gathered is None and piece.opening:
            self._open[key] = GatheredCall(piece, payload, number)
        elif gathered is not None:
            gathered.add(piece)
        elif piece.arguments or has_others(piece):  # more of a call that has gone on, after a first `{}`
            if key in self._given:
                piece.entry["index"] = self._given[key]
            yield self._context.writer.make(entry_chunk(payload, piece.choice, piece.entry), number)
        if piece.choice in self._finished and key in self._open and self._is_whole(piece):
            yield from self._go(key)

    def _in_turn(self, choice: int) -> Iterator[Frame]:
        """The calls of a choice that are whole, up to one that is not."""
        for key, gathered in list(self._open.items()):
            if gathered.piece.choice != choice:
                continue
            if not self._is_whole(gathered.piece):
                return
            yield from self._go(key)

    def _at_finish(self, content: EventContent) -> list[Frame]:
        """The calls of choices that finish; one that is not whole waits: more may come behind an early finish."""
        out: list[Frame] = []
        for choice in {finish.choice for finish in content.finishes if finish.reason}:
            over = turn_over(content, choice)
            out.extend(self._whole(choice, over=over))
            out.extend(self._odd.last(choice, over=over))
            self._finished.add(choice)
            if not over:
                self._cut.add(choice)
        return out

    def _last(self, *, over: bool) -> list[Frame]:
        """The calls that are whole when nothing more comes; the others are left out."""
        choices = dict.fromkeys(gathered.piece.choice for gathered in self._open.values())
        out = [frame for choice in choices for frame in self._whole(choice, over=over and choice not in self._cut)]
        self._open.clear()
        for choice in self._odd.choices:
            out += self._odd.last(choice, over=over and choice not in self._cut)
        return out

    def _whole(self, choice: int, *, over: bool) -> Iterator[Frame]:
        for key, gathered in list(self._open.items()):
            if gathered.piece.choice != choice:
                continue
            if self._is_whole(gathered.piece, over=over):
                yield from self._go(key)
            else:
                self._leave_behind(gathered.piece)

    def _is_whole(self, piece: Piece, *, over: bool = False) -> bool:
        return is_whole(piece.call, self._context, over=over)

    def _leave_behind(self, piece: Piece) -> None:
        index = piece.entry.get("index")
        if isinstance(index, int):
            self._next.setdefault(piece.choice, index)

    def _go(self, key: int) -> Iterator[Frame]:
        gathered = self._open.pop(key)
        choice, entry = gathered.piece.choice, gathered.piece.entry
        if choice in self._next and isinstance(entry.get("index"), int):
            entry["index"] = self._given[key] = self._next[choice]
            self._next[choice] += 1
        yield from gathered.frames(self._context)
