"""Lawful ways to say the same Chat Completions calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.stage import Context, Stage
from toolstream_core.dialects.chat_edit import (
    Piece,
    chunk,
    continuation,
    entry_chunk,
    pieces,
    says_nothing,
    with_entries,
)
from toolstream_core.shapes.gathered import TINY, tiny

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.calls import Heard, OpenCall
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame


class ChatShape(Stage):
    """Says entries in another way. An event that is not in order goes on as it is."""

    def __init__(self, context: Context) -> None:
        """As `Stage`."""
        super().__init__(context)
        self._seen: set[int] = set()

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        found = pieces(event, heard, self._seen)
        if found is None:
            return [*self._before(event), event.frame]
        return self._said(event, found)

    def _before(self, event: Event) -> list[Frame]:
        """What has to go before an event without entries."""
        del event
        return []

    def _said(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        raise NotImplementedError

    def _spread(self, event: Event, said: list[tuple[int, Json]]) -> Iterator[Frame]:
        """One event for each entry; whatever else the event says goes with the last one, a finish too."""
        writer, payload, number = self._context.writer, event.frame.json, event.frame.number
        for choice, entry in said[:-1]:
            yield writer.make(entry_chunk(payload, choice, entry), number)
        yield writer.rewrite(event.frame, with_entries(payload, said[-1:]))

    def _rest(self, event: Event) -> list[Frame]:
        """The event without its entries, where that still says something."""
        payload = with_entries(event.frame.json, [])
        return [] if says_nothing(payload) else [self._context.writer.rewrite(event.frame, payload)]


class OneCallPerEvent(ChatShape):
    """Several entries of one event come in an event each."""

    def _said(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if len(found) == 1:
            return [event.frame]
        return self._spread(event, [(piece.choice, piece.entry) for piece in found])


class SplitHeader(ChatShape):
    """A header carries no arguments; they come in an event of their own."""

    def _said(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not any(piece.opening and piece.arguments for piece in found):
            return [event.frame]
        said: list[tuple[int, Json]] = []
        for piece in found:
            arguments = piece.arguments
            if piece.opening and arguments:
                piece.function["arguments"] = ""
                said.append((piece.choice, piece.entry))
                said.append((piece.choice, continuation(piece.fragment.index, arguments)))
            else:
                said.append((piece.choice, piece.entry))
        return self._spread(event, said)


class TinyFragments(ChatShape):
    """Arguments come a few characters at a time."""

    def _said(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not any(len(piece.arguments) > TINY for piece in found):
            return [event.frame]
        said: list[tuple[int, Json]] = []
        for piece in found:
            said.extend((piece.choice, entry) for entry in self._cut(piece))
        return self._spread(event, said)

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

    def _said(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not any(piece.call.arguments.whole and len(piece.arguments) > 1 for piece in found):
            return [event.frame]
        return super()._said(event, found)


class EmptyFragment(ChatShape):
    """An empty fragment follows each header."""

    def _said(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not any(piece.opening and not piece.arguments for piece in found):
            return [event.frame]
        said: list[tuple[int, Json]] = []
        for piece in found:
            said.append((piece.choice, piece.entry))
            if piece.opening and not piece.arguments:
                said.append((piece.choice, continuation(piece.fragment.index, "")))
        return self._spread(event, said)


class _Holding(ChatShape):
    """Holds entries of calls; lets go of the frames as they came where the stream ends in the middle."""

    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._open: dict[int, _Gathered] = {}
        self._frames: list[Frame] = []
        """What came and has not gone on in any form."""

    @property
    def holding(self) -> bool:
        """As `Stage.holding`."""
        return bool(self._open)

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """As `Stage.end`."""
        del clean
        return self.release()

    def release(self) -> Iterable[Frame]:
        """As `Stage.release`."""
        frames, self._frames = self._frames, []
        self._open.clear()
        return frames

    def _hold(self, event: Event, found: list[Piece]) -> list[Frame]:
        """Keep the event's entries; what else it says goes on now."""
        rest = self._rest(event)
        frame = event.frame
        if rest:
            alone = {"tool_calls": [piece.entry for piece in found]}
            frame = self._context.writer.make(chunk(frame.json, found[0].choice, alone), frame.number)
        self._frames.append(frame)
        return rest

    def _before(self, event: Event) -> list[Frame]:
        said = event.said
        return self._gone() if said.finishes or said.end or said.error else []

    def _gone(self) -> list[Frame]:
        """Everything that is held, said in this shape's way."""
        out = [frame for gathered in self._open.values() for frame in gathered.frames(self._context)]
        self._open.clear()
        self._frames.clear()
        return out


class _Gathered:
    """The entries of one call that are held."""

    def __init__(self, piece: Piece, payload: Json, number: int) -> None:
        self.piece = piece
        self.payload = payload
        self.number = number
        self.parts: list[str] = [piece.arguments]

    def frames(self, context: Context) -> Iterator[Frame]:
        """The call in one event, with the fields of its first entry."""
        function = self.piece.function
        said = "".join(self.parts)
        if said or "arguments" in function:
            function["arguments"] = said
        yield context.writer.make(entry_chunk(self.payload, self.piece.choice, self.piece.entry), self.number)


class WholeCalls(_Holding):
    """Each call comes in one event."""

    def _said(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if not self._open and len(found) == 1 and found[0].opening and found[0].call.arguments.whole:
            return [event.frame]
        rest = self._hold(event, found)
        out: list[Frame] = []
        for piece in found:
            if piece.opening:
                out.extend(self._complete(piece.call))
            gathered = self._open.get(id(piece.call))
            if gathered is not None:
                gathered.parts.append(piece.arguments)
            elif piece.opening:
                self._open[id(piece.call)] = _Gathered(piece, event.frame.json, event.frame.number)
        if any(finish.reason for finish in event.said.finishes):
            out.extend(self._gone())
        return [*out, *rest]

    def _complete(self, other: OpenCall) -> Iterator[Frame]:
        """Calls that are whole when another one opens."""
        for key, gathered in list(self._open.items()):
            if gathered.piece.call is not other and gathered.piece.call.arguments.whole:
                yield from gathered.frames(self._context)
                del self._open[key]
        if not self._open:
            self._frames = self._frames[-1:]


class HeaderWithFirstFragment(_Holding):
    """A header without arguments waits for the first ones."""

    def _said(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        piece = found[0]
        gathered = self._open.pop(id(piece.call), None) if len(found) == 1 else None
        if gathered is not None and not piece.opening:
            gathered.parts.append(piece.arguments)
            if not piece.arguments and not event.said.finishes:
                self._open[id(piece.call)] = gathered
                return self._hold(event, found)
            self._frames.clear()
            return [*gathered.frames(self._context), *self._rest(event)]
        out = self._gone()
        if len(found) > 1 or not piece.opening or piece.arguments or event.said.finishes:
            return [*out, event.frame]
        self._open[id(piece.call)] = _Gathered(piece, event.frame.json, event.frame.number)
        return [*out, *self._hold(event, found)]


class Sequential(_Holding):
    """One call after the other: what belongs to a later one waits until the one before it is whole."""

    def __init__(self, context: Context) -> None:
        """As `Stage`."""
        super().__init__(context)
        self._current: OpenCall | None = None

    def _said(self, event: Event, found: list[Piece]) -> Iterable[Frame]:
        if self._current is None or self._current.arguments.whole:
            self._current = found[0].call
        if not self._open and all(piece.call is self._current for piece in found):
            return [event.frame]
        rest = self._hold(event, found)
        out: list[Frame] = []
        payload, number = event.frame.json, event.frame.number
        for piece in found:
            if piece.call is self._current:
                entry = entry_chunk(payload, piece.choice, piece.entry)
                out.append(self._context.writer.make(entry, number))
            elif id(piece.call) in self._open:
                self._open[id(piece.call)].parts.append(piece.arguments)
            else:
                self._open[id(piece.call)] = _Gathered(piece, payload, number)
            if self._current.arguments.whole:
                out.extend(self._next())
        if any(finish.reason for finish in event.said.finishes):
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
        self._frames.clear()


SHAPES: Final[dict[str, type[Stage]]] = {
    "whole-calls": WholeCalls,
    "one-call-per-event": OneCallPerEvent,
    "sequential": Sequential,
    "split-header": SplitHeader,
    "header-with-first-fragment": HeaderWithFirstFragment,
    "tiny-fragments": TinyFragments,
    "empty-fragment": EmptyFragment,
    "late-brace": LateBrace,
}
