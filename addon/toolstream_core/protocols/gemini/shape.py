"""Lawful ways to say the same Gemini calls."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, override

from toolstream_core.calls import nonblank
from toolstream_core.protocols.gemini.edit import (
    KEYS,
    Payload,
    Piece,
    Place,
    candidate_parts,
    edited,
    pieces,
    says_nothing,
    split,
)
from toolstream_core.protocols.gemini.resolver import patched
from toolstream_core.stages.shape import sse
from toolstream_core.stages.stage import Holds, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


class OneCallPerEvent(Stage):
    """Several calls of one event come in an event each; what finishes the answer stays with the last."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, writer = event.frame, self._context.writer
        groups = _groups(candidate_parts(frame.json))
        if len(groups) == 1 or len(pieces(frame.json, resolved)) != len(groups) or frame.trailing:
            return [frame]
        first, *rest = split(frame.json, groups)
        return [writer.rewrite(frame, first), *(writer.make(one, frame.number, frame.name) for one in rest)]


def _groups(parts: list[Json]) -> list[list[Json]]:
    """The parts, cut before each call but the first."""
    groups: list[list[Json]] = [[]]
    begun = False
    for part in parts:
        if isinstance(part, dict) and any(key in part for key in KEYS):
            if begun:
                groups.append([])
            begun = True
        groups[-1].append(part)
    return groups


@dataclass
class _Open:
    """A call that is not whole."""

    at: int
    """The event that has its first part, counted among those held."""
    first: Piece
    args: Any = field(default_factory=dict)
    more: Payload = field(default_factory=dict)
    """What later parts say beside the call."""

    def whole(self) -> Payload:
        """The call in one part."""
        fields = {
            key: value for key, value in self.first.function_call.items() if key not in {"partialArgs", "willContinue"}
        }
        return {**self.first.with_function_call({**fields, "args": self.args}), **self.more}


class WholeCalls(Stage, Holds):
    """A call whose arguments come in several parts (`partialArgs`) comes in one; one that was cut off does not come."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._frames: list[Frame] = []
        """Events since the first part of the call that is open."""
        self._edits: list[dict[Place, tuple[Payload, ...]]] = []
        """What each of them becomes."""
        self._open: dict[int, _Open] = {}
        """The calls that are not whole, by what they are."""

    @property
    @override
    def holding(self) -> bool:
        return bool(self._frames)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        self._frames.append(event.frame)
        self._edits.append({})
        for piece in pieces(event.frame.json, resolved) if event.frame.data is not None else ():
            self._take(piece)
        for finish in event.content.finishes:
            self._leave_out(finish.choice)
        if event.content.error:
            self._leave_out()
        if self._open:
            return ()
        return self._shaped()

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        del clean
        self._leave_out()
        return self._shaped()

    @override
    def release(self) -> Iterable[Frame]:
        frames, self._frames, self._edits, self._open = self._frames, [], [], {}
        return frames

    def _take(self, piece: Piece) -> None:
        opened, at = self._open.get(id(piece.call)), len(self._frames) - 1
        if opened is None:
            if not piece.partial or not nonblank(piece.fragment.name):
                return
            opened = self._open[id(piece.call)] = _Open(at, piece)
        else:
            self._edits[at][piece.place] = ()
        if isinstance(piece.function_call.get("args"), dict) and piece.function_call["args"]:
            opened.args = deepcopy(piece.function_call["args"])
        opened.args = patched(opened.args, piece.function_call.get("partialArgs"))
        opened.more.update({key: value for key, value in piece.part.items() if key not in opened.first.part})
        if piece.function_call.get("willContinue") is not True:
            self._edits[opened.at][opened.first.place] = (opened.whole(),)
            del self._open[id(piece.call)]

    def _leave_out(self, choice: int | None = None) -> None:
        """The open calls, of one candidate or of all, never become whole."""
        for key, opened in list(self._open.items()):
            if choice in {None, opened.first.fragment.choice}:
                self._edits[opened.at][opened.first.place] = ()
                del self._open[key]

    def _shaped(self) -> Iterable[Frame]:
        """What was held, with the call in one part; events that have nothing else to say are gone."""
        frames, edits = self._frames, self._edits
        self.release()
        for frame, changes in zip(frames, edits, strict=True):
            payload = edited(frame.json, changes) if changes else None
            if payload is None:
                yield frame
            elif frame.number == 0 or not says_nothing(payload):  # a JSON array begins with its first element
                yield self._context.writer.rewrite(frame, payload)


SHAPES: Final[dict[str, type[Stage]]] = {"whole-calls": WholeCalls, "one-call-per-event": OneCallPerEvent, **sse.SHAPES}
"""By name."""
