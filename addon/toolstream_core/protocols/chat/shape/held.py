"""Shapes of Chat Completions calls for which entries have to wait for one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.chat.edit import ENTRY, Piece, entry_chunk
from toolstream_core.protocols.chat.shape.base import ChatShape
from toolstream_core.stages.stage import Holds
from toolstream_core.wire.other_keys import merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


class Holding(ChatShape, Holds):
    """Holds entries of calls, and lets go of what it has of them where the stream ends in the middle."""

    def __init__(self, context: Context) -> None:
        """As `Stage`."""
        super().__init__(context)
        self._open: dict[int, GatheredCall] = {}
        """By call, in the order in which they opened: what came and has not gone on in any form."""

    @property
    @override
    def holding(self) -> bool:
        return bool(self._open)

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        del clean
        return self.release()

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`; of an event whose other entries have gone on, those that have not."""
        return self._gone()

    def _before(self, event: Event) -> list[Frame]:
        content = event.content
        return self._gone() if content.finishes or content.end or content.error else []

    def _gone(self) -> list[Frame]:
        """Everything that is held, said in this shape's way."""
        out = [frame for gathered in self._open.values() for frame in gathered.frames(self._context)]
        self._open.clear()
        return out


class GatheredCall:
    """The entries of one call that are held."""

    def __init__(self, piece: Piece, payload: Json, number: int) -> None:
        """Begins with `piece`, of the event with that `payload` and `number`."""
        self.piece = piece
        self.payload = payload
        self.number = number
        self.parts: list[str] = [piece.arguments]
        self._apart: list[Json] = []
        """Entries whose unknown keys contradict those of earlier ones, without their arguments."""

    def add(self, piece: Piece) -> None:
        """A further entry: its arguments, and its unknown keys."""
        self.parts.append(piece.arguments)
        entry = merged(self.piece.entry, piece.entry, ENTRY)
        if entry is None:
            self._apart.append({**piece.entry, "function": {**piece.function, "arguments": ""}})
        else:
            self.piece = self.piece._replace(entry=entry)

    def frames(self, context: Context) -> Iterator[Frame]:
        """What came of the call in one event, with the fields of its first entry and the unknown keys of all."""
        function = self.piece.function
        arguments = "".join(self.parts)
        if arguments or "arguments" in function:
            function["arguments"] = arguments
        for entry in (self.piece.entry, *self._apart):
            yield context.writer.make(entry_chunk(self.payload, self.piece.choice, entry), self.number)


class HeaderWithFirstFragment(Holding):
    """A header without arguments waits for the first ones."""

    def _shaped(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        piece = found[0]
        gathered = self._open.pop(id(piece.call), None) if len(found) == 1 else None
        if gathered is not None and not piece.opening:
            gathered.add(piece)
            if not piece.arguments and not event.content.finishes:
                self._open[id(piece.call)] = gathered
                return self._rest(event, found)
            return [*gathered.frames(self._context), *self._rest(event, found)]
        out = self._gone()
        if len(found) > 1 or not piece.opening or piece.arguments or event.content.finishes:
            return [*out, event.frame]
        self._open[id(piece.call)] = GatheredCall(piece, event.frame.json, event.frame.number)
        return [*out, *self._rest(event, found)]


class Sequential(Holding):
    """One call after the other: what belongs to a later one waits until the one before it is whole."""

    def __init__(self, context: Context) -> None:
        """As `Stage`."""
        super().__init__(context)
        self._current: OpenCall | None = None

    def _shaped(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if self._current is None or self._current.arguments.whole:
            self._current = found[0].call
        if not self._open and all(piece.call is self._current for piece in found):
            return [event.frame]
        rest = self._rest(event, found)
        out: list[Frame] = []
        payload, number = event.frame.json, event.frame.number
        for piece in found:
            if piece.call is self._current:
                entry = entry_chunk(payload, piece.choice, piece.entry)
                out.append(self._context.writer.make(entry, number))
            elif id(piece.call) in self._open:
                self._open[id(piece.call)].add(piece)
            else:
                self._open[id(piece.call)] = GatheredCall(piece, payload, number)
            if self._current.arguments.whole:
                out.extend(self._next())
        if any(finish.reason for finish in event.content.finishes):
            out.extend(self._gone())
        return [*out, *rest]

    def _next(self) -> Iterator[Frame]:
        """Calls that have their turn now: those that are whole, and the first one that is not."""
        for key, gathered in list(self._open.items()):
            yield from gathered.frames(self._context)
            del self._open[key]
            self._current = gathered.piece.call
            if not self._current.arguments.whole:
                return
