"""Shapes of Chat Completions calls for which entries have to wait for one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.chat.edit import ENTRY, Piece, entry_chunk
from toolstream_core.protocols.chat.shape.base import ChatShape
from toolstream_core.stages.stage import Holds
from toolstream_core.wire.other_keys import merged

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

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
