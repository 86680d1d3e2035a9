"""How Gemini's parts are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, override

from toolstream_core.calls.json_text import says_nothing
from toolstream_core.protocols.gemini.edit import Payload, Piece, candidate_parts, edited, pieces, split
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.stages.inject import sse, whole_call
from toolstream_core.stages.inject.injector import Injector
from toolstream_core.stages.inject.whole_call import WholeCallWire

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame


class DoubledCall(Injector):
    """Each call comes twice under one id."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        edits: dict[tuple[int, int], tuple[Payload, ...]] = {}
        for piece in pieces(event.frame.json, resolved):
            if piece.partial or says_nothing(piece.fragment.arguments) or not self._pick.call(piece.call):
                continue
            part = piece.with_function_call({"id": f"call_{piece.call.position}", **piece.function_call})
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
            groups[-1].append(piece.with_function_call({**piece.function_call, "args": {}}))
            groups += [[{piece.key: {"args": piece.function_call["args"]}}], []]
            self._pick.acted()
        if len(groups) == 1:
            return [frame]
        events = split(payload, [group for group in groups if group])
        return [writer.rewrite(frame, events[0]), *(writer.make(one, frame.number, frame.name) for one in events[1:])]


class _Wire(WholeCallWire[Piece]):
    """The parts of an event that are calls."""

    FAILURE: ClassVar[Payload] = {
        "candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]
    }

    @override
    def calls(self, payload: Json, resolved: Sequence[ResolvedFragment]) -> Sequence[Piece]:
        return pieces(payload, resolved)

    @override
    def with_entries(self, payload: Json, calls: Sequence[Piece], entries: Mapping[int, Payload]) -> Json:
        return edited(payload, {calls[at].place: (part,) for at, part in entries.items()})


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "placeholder-arguments": PlaceholderArguments,
    "doubled-call": DoubledCall,
    **whole_call.makers(_Wire(), earlier_ids),
    **sse.INJECTORS,
}
"""By the defect's name."""
