"""Gemini events taken apart and put together: the parts that are calls, wherever the event has them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Fragment, Json

type Payload = dict[str, Any]
type Place = tuple[int, int]
"""A candidate's place in its event, and a part's in its candidate."""

KEYS: Final = ("functionCall", "function_call")
NOTHING_LEFT: Final[Payload] = {"text": ""}
"""Stands for the only part where that is taken out: Gemini's own streams have it behind calls."""

_FINISH: Final = frozenset({"finishReason", "finishMessage"})
"""What a candidate says of its finish."""


class Piece(NamedTuple):
    """A part that is a call, or goes on with one."""

    place: Place
    key: str
    """Under which the part has the call."""
    part: Payload
    call: OpenCall
    """The call that the part was put into."""
    fragment: Fragment

    @property
    def function_call(self) -> Payload:
        """What the part has of the call: name, args, id."""
        fields: Payload = self.part[self.key]
        return fields

    @property
    def partial(self) -> bool:
        """Whether the call comes in several parts (`partialArgs`, `willContinue`)."""
        fields = self.part[self.key]
        return "partialArgs" in fields or "willContinue" in fields

    @property
    def name(self) -> str:
        """The name; `""` where the part has none."""
        name = self.function_call.get("name")
        return name if isinstance(name, str) else ""

    @property
    def arguments(self) -> Payload | None:
        """The arguments where the part has some."""
        arguments = self.function_call.get("args")
        return arguments if isinstance(arguments, dict) and arguments else None

    def with_function_call(self, fields: Payload) -> Payload:
        """The part with another call, and the rest of it as it was."""
        return {**self.part, self.key: fields}

    def with_name(self, name: str) -> Payload:
        """The part with another name."""
        return self.with_function_call({**self.function_call, "name": name})

    def with_id(self, identity: str) -> Payload:
        """The part with another id."""
        return self.with_function_call({**self.function_call, "id": identity})

    def with_arguments(self, arguments: Json) -> Payload:
        """The part with other arguments."""
        return self.with_function_call({**self.function_call, "args": arguments})


def pieces(payload: Json, resolved: Sequence[ResolvedFragment]) -> list[Piece]:
    """The event's parts that are calls; none where they are not those that were resolved."""
    found: list[tuple[Place, str, Payload]] = []
    for at, candidate in enumerate(json_access.items_at(_inner(payload), "candidates")):
        for within, part in enumerate(json_access.items_at(candidate, "content", "parts")):
            if not isinstance(part, dict):
                continue
            key = "functionCall" if "functionCall" in part else "function_call"
            if isinstance(part.get(key), dict):
                found.append(((at, within), key, part))
    counts = [_fragments(part[key]) for _, key, part in found]
    if sum(counts) != len(resolved):
        return []
    made, first = [], 0
    for (place, key, part), count in zip(found, counts, strict=True):
        made.append(Piece(place, key, part, resolved[first].call, resolved[first].fragment))
        first += count
    return made


def edited(payload: Json, changes: Mapping[Place, Sequence[Json]]) -> Json:
    """The event with other parts at some places: one each, none, or several."""
    return _within(payload, partial(_with_parts, changes=changes))


def split(payload: Json, groups: Sequence[Sequence[Json]]) -> list[Json]:
    """The event of one candidate as several, with these parts each; whatever else it has is in the last one."""
    made = [_within(payload, partial(_bare, parts=group)) for group in groups[:-1]]
    parts = {(0, at): () for at in range(len(candidate_parts(payload)))}
    return [*made, edited(payload, {**parts, (0, 0): groups[-1]})]


def candidate_parts(payload: Json) -> list[Json]:
    """The parts of the only candidate; none where there are several."""
    candidates = json_access.items(json_access.get(_inner(payload), "candidates"))
    return json_access.items(json_access.get(candidates[0], "content", "parts")) if len(candidates) == 1 else []


def says_nothing(payload: Json) -> bool:
    """Whether nothing is left of an event but candidates without parts."""
    candidates = json_access.items(json_access.get(_inner(payload), "candidates"))
    return all(
        json_access.get(one, "content", "parts") == [NOTHING_LEFT] and one.keys() <= {"content", "index"}
        for one in candidates
    )


def finish_apart(payload: Json) -> tuple[Json, Json] | None:
    """An event as two: what it says without its finish, and its finish; `None` where that is all that it says."""
    candidates = json_access.items_at(_inner(payload), "candidates")
    if all(json_access.items_at(one, "content", "parts") in ([], [NOTHING_LEFT]) for one in candidates):
        return None
    return _within(payload, _unfinished), _within(payload, _finish_alone)


def _unfinished(inner: Payload) -> Payload:
    kept = [_without_finish(candidate) for candidate in json_access.items_at(inner, "candidates")]
    return {**inner, "candidates": kept}


def _without_finish(candidate: Json) -> Json:
    if not isinstance(candidate, dict):
        return candidate
    return {key: value for key, value in candidate.items() if key not in _FINISH}


def _finish_alone(inner: Payload) -> Payload:
    kept = [
        {**candidate, "content": {"role": "model", "parts": [NOTHING_LEFT]}}
        for candidate in json_access.items_at(inner, "candidates")
        if isinstance(candidate, dict)
    ]
    return {**inner, "candidates": kept}


def _fragments(function_call: Payload) -> int:
    """How many fragments the reader makes of a part: the last one of partial arguments also closes its call."""
    return 2 if "partialArgs" in function_call and function_call.get("willContinue") is not True else 1


def _inner(payload: Json) -> Json:
    """The event itself: Code Assist puts it into `response`, an array stream may put it into a list."""
    if isinstance(payload, list) and len(payload) == 1:
        payload = payload[0]
    if isinstance(payload, dict) and "candidates" not in payload:
        return payload.get("response", payload)
    return payload


def _within(payload: Json, change: Callable[[Payload], Payload]) -> Json:
    """The event changed inside whatever it is wrapped in."""
    if isinstance(payload, list):
        return [_within(payload[0], change)]
    if "candidates" not in payload and isinstance(payload.get("response"), dict):
        return {**payload, "response": change(payload["response"])}
    return change(payload)


def _with_parts(inner: Payload, changes: Mapping[Place, Sequence[Json]]) -> Payload:
    """An event with other parts; a candidate whose parts are all gone keeps an empty text."""
    touched = {at for at, _ in changes}
    made: list[Json] = []
    for at, candidate in enumerate(json_access.items_at(inner, "candidates")):
        if at not in touched:
            made.append(candidate)
            continue
        parts: list[Json] = []
        for place, part in enumerate(json_access.items_at(candidate, "content", "parts")):
            parts.extend(changes.get((at, place), (part,)))
        content = {**candidate["content"], "parts": parts or [NOTHING_LEFT]}
        made.append({**candidate, "content": content})
    return {**inner, "candidates": made}


def _bare(inner: Payload, parts: Sequence[Json]) -> Payload:
    """An event before the last one of those that an event becomes: it finishes nothing, and counts no tokens."""
    (candidate,) = json_access.items(inner["candidates"])
    kept = {key: value for key, value in candidate.items() if key in {"index", "content"}}
    kept["content"] = {**candidate["content"], "parts": list(parts)}
    envelope = {key: value for key, value in inner.items() if key in {"modelVersion", "responseId", "createTime"}}
    return {"candidates": [kept], **envelope}
