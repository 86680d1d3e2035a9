"""Repairs, faults and shapes of Gemini streams, whose events have calls as parts of candidates."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any, Final, override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.calls.json_text import has_nothing
from toolstream_core.defects.defect import GEMINI
from toolstream_core.defects.table import DEFECTS
from toolstream_core.model import ABSENT, Event, Json
from toolstream_core.protocols.gemini.reader import calls, unwrapped
from toolstream_core.repair.complete_form import CompleteCallForm, CompleteCodec, Entry
from toolstream_core.repair.complete_stage import CompleteCallStage, incomplete_calls
from toolstream_core.repair.event_shapes import FINISH_APART, Rewritten, has_finish_and_content
from toolstream_core.repair.shapes import ONE_CALL_PER_EVENT, WHOLE_CALLS
from toolstream_core.stages import framing
from toolstream_core.stages.context import Promotion
from toolstream_core.stages.inject.injector import Injector, InjectorMaker, injectors
from toolstream_core.wire import json_access, numbers
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import Path, changed, known_only

_NOTHING: Final = [{"text": ""}]
"""Replaces parts that were removed: Gemini's own streams have it after calls."""
_FINISH: Final = ("finishReason", "finishMessage")
_SHARED: Final = {"modelVersion", "responseId", "createTime"}
"""The keys that all events of a response have in common."""
_PARTS: Final = ("content", "parts")


def split_end(payload: Json) -> tuple[Json, Json] | None:
    """An event as two: its content, and its finish reasons; `None` if it has no content."""
    prefix, inner = unwrapped(payload)
    candidates = json_access.items_at(inner, "candidates")
    if all(json_access.items_at(one, *_PARTS) in ([], _NOTHING) for one in candidates):
        return None
    at = [(*prefix, "candidates", place) for place, one in enumerate(candidates) if isinstance(one, dict)]
    content: dict[Path, Json] = {(*path, key): ABSENT for path in at for key in _FINISH}
    return changed(payload, content), changed(
        payload, {(*path, "content"): {"role": "model", "parts": _NOTHING} for path in at}
    )


def _filled(payload: Json) -> Json:
    """An event after parts were removed from it: no candidate is left without parts."""
    prefix, inner = unwrapped(payload)
    candidates = enumerate(json_access.items_at(inner, "candidates"))
    bare = [place for place, one in candidates if json_access.get(one, *_PARTS) == []]
    return changed(payload, {(*prefix, "candidates", at, *_PARTS): _NOTHING for at in bare}) if bare else payload


def _is_empty(payload: Json) -> bool:
    """Whether an event has only candidates without content."""
    candidates = json_access.items_at(unwrapped(payload)[1], "candidates")
    return all(json_access.get(one, *_PARTS) == _NOTHING and one.keys() <= {"content", "index"} for one in candidates)


class _Parts:
    """The parts of an event that has one candidate."""

    def __init__(self, payload: Json) -> None:
        self._payload = payload
        self._prefix, self._inner = unwrapped(payload)
        candidates = json_access.items_at(self._inner, "candidates")
        self._candidate = candidates[0] if len(candidates) == 1 and isinstance(candidates[0], dict) else {}
        self.parts = json_access.items_at(self._candidate, *_PARTS)

    def split(self, groups: Sequence[Sequence[Json]]) -> list[Json]:
        """The event as one for each group of parts; everything else is in the last one."""
        place = (*self._prefix, "candidates", 0, *_PARTS)
        return [*map(self._bare, groups[:-1]), changed(self._payload, {place: list(groups[-1])})]

    def _bare(self, parts: Sequence[Json]) -> Json:
        """An event with only parts: without a finish, and without counts of tokens."""
        kept = known_only(self._candidate, {"index", "content", "role"})
        candidate = {**kept, "content": {**kept["content"], "parts": list(parts)}}
        shared = {key: value for key, value in self._inner.items() if key in _SHARED}
        return changed(self._payload, {self._prefix: {"candidates": [candidate], **shared}})


def apart(payload: Json) -> list[Json]:
    """An event with several calls as one for each; the finish of the response stays with the last."""
    one_candidate = _Parts(payload)
    called = {path[-2] for path, _ in calls(payload)}
    groups: list[list[Json]] = [[]]
    begun = False
    for at, part in enumerate(one_candidate.parts):
        if at in called:
            groups += [[]] if begun else []
            begun = True
        groups[-1].append(part)
    return [payload] if len(groups) == 1 else one_candidate.split(groups)


def finish_apart(event: Event) -> list[Json]:
    """An event as its content and its finish reason; the same event if it has only one of these, or more candidates."""
    one_candidate = _Parts(event.frame.json)
    if not (one_candidate.parts and has_finish_and_content(event.content)):
        return [event.frame.json]
    content, finish = one_candidate.split([one_candidate.parts, []])
    return [content, _filled(finish)]


FORM: Final = CompleteCallForm(
    calls=calls,
    fields={
        "id": ("id",),
        "name": ("name",),
        "arguments": ("args",),
        "patches": ("partialArgs",),
        "goes_on": ("willContinue",),
    },
    defects=frozenset(defect.name for defect in DEFECTS if GEMINI in defect.protocols),
    split_end=split_end,
    failure={"candidates": [{"content": {}, "finishReason": "MALFORMED_FUNCTION_CALL", "index": 0}]},
    # https://ai.google.dev/api/generate-content#FinishReason
    failed=frozenset(
        {
            "MALFORMED_FUNCTION_CALL",
            "MALFORMED_RESPONSE",
            "MISSING_THOUGHT_SIGNATURE",
            "TOO_MANY_TOOL_CALLS",
            "UNEXPECTED_TOOL_CALL",
        }
    ),
    entry=lambda path: path[:-1],
    signatures=("thoughtSignature", "thought_signature"),
    emptied=_filled,
    is_empty=_is_empty,
    apart=apart,
)


class PlaceholderArguments(Injector):
    """Sends the arguments of a call in a separate part, without a name, in the next event."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, writer, one_candidate = event.frame, self._context.writer, _Parts(event.frame.json)
        selected = {one.path[-2]: one for one in FORM.entries(frame.json, resolved) if self._pick.call(one.call)}
        groups: list[list[Json]] = [[]]
        for at, part in enumerate(one_candidate.parts):
            one = selected.get(at)
            if one is None or frame.trailing or not _is_complete(one):
                groups[-1].append(part)
                continue
            key = one.path[-1]
            groups[-1].append({**part, key: {**part[key], "args": {}}})
            groups += [[{key: {"args": part[key]["args"]}}], []]
            self._pick.acted()
        if len(groups) == 1:
            return [frame]
        return _frames(event, one_candidate.split([group for group in groups if group]), writer)


def _is_complete(entry: Entry) -> bool:
    return not entry.is_partial and not has_nothing(entry.fragment.arguments)


def _frames(event: Event, payloads: list[Json], writer: Any) -> list[Frame]:
    frame, (first, *rest) = event.frame, payloads
    return [writer.rewrite(frame, first), *(writer.make(one, frame.number, frame.name) for one in rest)]


def promoted(promotion: Promotion) -> list[Frame]:
    """The event of the finish, with the calls as further parts of its first candidate."""
    payload = promotion.event.frame.json
    calls = [
        {"functionCall": {"name": leaked.name, "args": numbers.loads(leaked.arguments)}}
        for _, leaked in promotion.calls
    ]
    prefix, inner = unwrapped(payload)
    content = json_access.get(inner, "candidates", 0, "content")
    content = content if isinstance(content, dict) else {"role": "model"}
    content = {**content, "parts": [*json_access.items_at(content, "parts"), *calls]}
    return [
        promotion.writer.rewrite(
            promotion.event.frame, changed(payload, {(*prefix, "candidates", 0, "content"): content})
        )
    ]


REPAIRS: Final = (framing.SseRepairer, partial(CompleteCallStage, FORM))
AT_END: Final = partial(incomplete_calls, FORM)
INJECTORS: Final[dict[str, InjectorMaker]] = {
    "placeholder-arguments": PlaceholderArguments,
    **injectors(GEMINI, lambda: CompleteCodec(FORM)),
    **framing.INJECTORS,
}
SHAPES: Final = {
    "whole-calls": WHOLE_CALLS,
    "one-call-per-event": ONE_CALL_PER_EVENT,
    FINISH_APART: partial(Rewritten, rewrite=finish_apart),
    **framing.SHAPES,
}
