"""How Gemini's parts are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, override

from toolstream_core.calls.json_text import says_nothing
from toolstream_core.protocols.gemini.edit import Payload, Piece, candidate_parts, edited, pieces, split
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.stages.inject import sse
from toolstream_core.stages.inject.injector import Injector, Pick

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame

type Change = Callable[[Context, Piece], Payload | None]
"""What a part's call becomes; `None` leaves it as it is."""


class PartInjector(Injector):
    """Changes the calls that are picked, each in its part."""

    def __init__(self, context: Context, pick: Pick, change: Change) -> None:
        """`change` is what is done to each."""
        super().__init__(context, pick)
        self._change = change

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        edits: dict[tuple[int, int], tuple[Payload, ...]] = {}
        for piece in pieces(event.frame.json, resolved):
            said = self._change(self._context, piece) if self._pick.call(piece.call) else None
            if said is not None:
                edits[piece.place] = (piece.with_said(said),)
                self._pick.acted()
        if not edits:
            return [event.frame]
        return [self._context.writer.rewrite(event.frame, edited(event.frame.json, edits))]


class DoubledCall(Injector):
    """Each call comes twice under one id."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        edits: dict[tuple[int, int], tuple[Payload, ...]] = {}
        for piece in pieces(event.frame.json, resolved):
            if piece.partial or says_nothing(piece.fragment.arguments) or not self._pick.call(piece.call):
                continue
            part = piece.with_said({"id": f"call_{piece.call.position}", **piece.said})
            edits[piece.place] = (part, part)
            self._pick.acted()
        if not edits:
            return [event.frame]
        return [self._context.writer.rewrite(event.frame, edited(event.frame.json, edits))]


class PlaceholderArguments(Injector):
    """A part names the call, and one without a name brings the arguments, in an event of its own."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload, frame, writer = event.frame.json, event.frame, self._context.writer
        found = {one.place[1]: one for one in pieces(payload, resolved) if self._pick.call(one.call)}
        groups: list[list[Json]] = [[]]
        for at, part in enumerate(candidate_parts(payload)):
            piece = found.get(at)
            if piece is None or piece.partial or frame.trailing or says_nothing(piece.fragment.arguments):
                groups[-1].append(part)
                continue
            groups[-1].append(piece.with_said({**piece.said, "args": {}}))
            groups += [[{piece.key: {"args": piece.said["args"]}}], []]
            self._pick.acted()
        if len(groups) == 1:
            return [frame]
        said = split(payload, [group for group in groups if group])
        return [writer.rewrite(frame, said[0]), *(writer.make(one, frame.number, frame.name) for one in said[1:])]


class InBandError(Injector):
    """The answer is given up where it calls a tool."""

    each = True
    _over = False

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if self._over:
            return [event.frame] if event.frame.data is None else []
        if not any(self._pick.call(piece.call) for piece in pieces(event.frame.json, resolved)):
            return [event.frame]
        self._over = True
        self._pick.acted()
        said = {"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]}
        return [self._context.writer.rewrite(event.frame, said)]


def _decorated(context: Context, piece: Piece) -> Payload | None:
    """Models put the namespace in which Gemini shows them the tools before the name."""
    name = piece.said.get("name")
    known = isinstance(name, str) and name in context.schemas
    return {**piece.said, "name": f"functions.{name}"} if known else None


def _text_arguments(context: Context, piece: Piece) -> Payload | None:
    del context
    said = piece.said.get("args")
    return {**piece.said, "args": json.dumps(said, ensure_ascii=False)} if isinstance(said, dict) and said else None


def _nameless(context: Context, piece: Piece) -> Payload | None:
    del context
    return {**piece.said, "name": ""} if piece.said.get("name") else None


def _odd_id(context: Context, piece: Piece) -> Payload | None:
    del context
    return {**piece.said, "id": f"call {piece.call.position}"} if piece.said.get("name") else None


def _reused_id(context: Context, piece: Piece) -> Payload | None:
    earlier = min(earlier_ids(context.exchange.request), default=None)
    return {**piece.said, "id": earlier} if earlier and piece.said.get("name") else None


def _maker(change: Change) -> InjectorMaker:
    return lambda context, pick: PartInjector(context, pick, change)


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "placeholder-arguments": PlaceholderArguments,
    "doubled-call": DoubledCall,
    "double-encoded-arguments": _maker(_text_arguments),
    "decorated-name": _maker(_decorated),
    "missing-name": _maker(_nameless),
    "odd-id": _maker(_odd_id),
    "reused-id": _maker(_reused_id),
    "in-band-error": InBandError,
    **sse.INJECTORS,
}
"""By the defect's name."""
