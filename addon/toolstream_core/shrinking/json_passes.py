"""Passes that make the JSON of events and requests smaller: texts, fields, strings."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from toolstream_core.calls import ResolvedFragment
from toolstream_core.engine.session import EVERY_FRAME, read_body
from toolstream_core.engine.sink import Sink
from toolstream_core.model import ABSENT, Event, EventContent, Json, Phase
from toolstream_core.protocols.requests import tools
from toolstream_core.shrinking.candidate import (
    Candidate,
    Shape,
    Turn,
    TurnFrame,
    nodes,
    with_turn,
    with_type,
)
from toolstream_core.shrinking.events import Cursor, Numbering, Proposal, spans
from toolstream_core.wire import numbers
from toolstream_core.wire.frame import parse
from toolstream_core.wire.json_paths import Path, changed
from toolstream_core.wire.write import encoded

type Proposals = Callable[[Candidate, Cursor], Iterator[Proposal]]


def _of_each_turn(smaller: Callable[[Turn], Iterator[Turn]]) -> Proposals:
    """The pass that tries the results of `smaller` for each response; after a change, it begins again."""

    def proposals(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
        del cursor
        for at, turn in enumerate(candidate):
            for new in smaller(turn):
                yield Proposal(with_turn(candidate, at, new), ())

    return proposals


class TextPart(NamedTuple):
    """The part of a text in one event."""

    place: int
    """The event's place in the response's frames."""
    path: Path
    """The path in the event's JSON."""
    text: str


@dataclass(slots=True)
class SplitText:
    """A text as its parts, in order."""

    arguments: bool
    """Whether the text is the arguments of a call."""
    parts: list[TextPart] = field(default_factory=list)

    @property
    def cumulative(self) -> bool:
        """Whether each part repeats all text before it."""
        texts = [part.text for part in self.parts]
        return len(texts) > 1 and all(new.startswith(old) for old, new in pairwise(texts))

    @property
    def text(self) -> str:
        return self.parts[-1].text if self.cumulative else "".join(part.text for part in self.parts)


def split_texts(turn: Turn) -> list[SplitText]:
    """The texts of a response, in the order in which they begin."""
    sink = _TextSink(turn)
    read_body(
        (chunk.data for chunk in turn.chunks), turn.facts, broken=turn.broken, sinks=[sink], protocols=EVERY_FRAME
    )
    return list(sink.split_texts.values())


class _TextSink(Sink):
    """Collects the strings of events that are parts of texts."""

    live = True
    each = True

    def __init__(self, turn: Turn) -> None:
        """Events have the numbers of the frames of `turn` with data."""
        self.split_texts: dict[object, SplitText] = {}
        self._numbers = [number for number, part in enumerate(turn.frames) if part.counts]

    def resolved(self, event: Event, content: EventContent, fragments: Sequence[ResolvedFragment]) -> None:
        if event.frame.number >= len(self._numbers):
            return
        payload = event.frame.json
        for one in fragments:
            if one.fragment.phase is Phase.MORE and isinstance(one.fragment.arguments, str):
                self._add(("call", id(one.call)), event, payload, one.fragment.arguments)
        self._add("text", event, payload, content.text)
        self._add("thought", event, payload, content.thought)

    def _add(self, key: object, event: Event, payload: Json, text: str) -> None:
        path = next((path for path, _, value in nodes(payload) if value == text), None) if text else None
        if path is not None:
            split_text = self.split_texts.setdefault(key, SplitText(arguments=isinstance(key, tuple)))
            split_text.parts.append(TextPart(self._numbers[event.frame.number], path, text))


@_of_each_turn
def joined_fragments(turn: Turn) -> Iterator[Turn]:
    """Each text in one fragment, in two, in four, … and each pair of neighbours in one."""
    numbering = Numbering(turn)
    for split_text in split_texts(turn):
        for groups in _groupings(split_text.parts):
            yield from map(turn.with_frames, numbering.variants(_merged(turn, split_text, groups)))


def _groupings(parts: Sequence[TextPart]) -> Iterator[list[Sequence[TextPart]]]:
    size = len(parts)
    while size > 1:
        yield [parts[begin : begin + size] for begin in range(0, len(parts), size)]
        size = (size + 1) // 2
    for at in range(len(parts) - 1):
        yield [parts[at : at + 2]]


def _merged(turn: Turn, split_text: SplitText, groups: Sequence[Sequence[TextPart]]) -> list[TurnFrame]:
    """The frames, with each group merged into its first part, or into its last if the text is cumulative."""
    texts: dict[int, tuple[TextPart, str]] = {}
    gone: set[int] = set()
    for group in groups:
        keeper, *others = reversed(group) if split_text.cumulative else group
        texts[keeper.place] = (keeper, keeper.text if split_text.cumulative else "".join(part.text for part in group))
        gone.update(part.place for part in others)
    kept: list[TurnFrame] = []
    for number, turn_frame in enumerate(turn.frames):
        if number in texts:
            part, text = texts[number]
            kept.append(turn.framing.rewritten(turn_frame, {part.path: text}))
        elif number not in gone:
            kept.append(turn_frame)
    return kept


_WORD = re.compile(r"\w+|\s+|[^\w\s]")
_LONGEST = 4096
"""A longer text, in characters, is split only into halves, not into words."""


@_of_each_turn
def shorter_texts(turn: Turn) -> Iterator[Turn]:
    """Each text, shorter."""
    for split_text in split_texts(turn):
        for text in smaller(split_text.text):
            yield _with_text(turn, split_text, text)


def smaller(text: str) -> Iterator[str]:
    """Shorter texts: with parts of its JSON value removed, or with fewer words."""
    value = parse(text.encode("utf-8", "replace"))
    texts = _smaller_json(value) if isinstance(value, dict | list) else _fewer_words(text)
    yield from (one for one in texts if len(one) < len(text))


def _smaller_json(value: Json) -> Iterator[str]:
    yield "{}" if isinstance(value, dict) else "[]"
    found = sorted(nodes(value), key=lambda node: len(node[0]))
    for path, _, one in found:
        if path:
            yield numbers.dumps(changed(value, {path: ABSENT}))
        for simple in _simpler(one):
            yield numbers.dumps(changed(value, {path: simple}))


def _simpler(value: Json) -> Iterator[Json]:
    if isinstance(value, str) and len(value) > 1:
        middle = len(value) // 2
        yield from ("", value[0], value[:middle], value[middle:])
    elif isinstance(value, dict | list) and value:
        yield type(value)()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield 0


def _fewer_words(text: str) -> Iterator[str]:
    words = _WORD.findall(text) if len(text) <= _LONGEST else re.findall(r"(?s).{1,256}", text)
    for span in spans(len(words), ()):
        yield "".join(words[: span.begin] + words[span.end :])


def _with_text(turn: Turn, split_text: SplitText, text: str) -> Turn:
    """The response with another text, spread over the parts in proportion to the old one."""
    old = split_text.text
    parts = _replaced(turn, old, text) if old else list(turn.frames)
    begin = 0
    for part in split_text.parts:
        end = len(part.text) if split_text.cumulative else begin + len(part.text)
        share = text[_scaled(begin, old, text) : _scaled(end, old, text)]
        parts[part.place] = turn.framing.rewritten(parts[part.place], {part.path: share})
        begin = 0 if split_text.cumulative else end
    return turn.with_frames(parts)


def _scaled(place: int, old: str, new: str) -> int:
    return -(-place * len(new) // len(old))


type Required = Mapping[Shape, frozenset[str]]
"""By the shape of an object, the keys that all such objects have."""


class _Place(NamedTuple):
    number: int
    path: Path
    value: Json


def required_fields(original: Candidate) -> Required:
    """The keys that all objects of one shape have."""
    found: dict[Shape, frozenset[str]] = {}
    for turn in original:
        arguments = _arguments(turn)
        for part in turn.frames:
            for shape, value in _objects(part.frame.json, arguments):
                found[shape] = found.get(shape, frozenset(value)) & frozenset(value)
    return found


def _arguments(turn: Turn) -> frozenset[bytes]:
    """The arguments of all calls, as compact JSON: their keys are the tool's, not the protocol's."""
    calls = turn.record.calls if turn.record is not None else []
    values = (parse(call.arguments.encode("utf-8", "replace")) for call in calls)
    return frozenset(encoded(value) for value in values if isinstance(value, dict) and value)


def fewer_fields(needed: Required) -> Proposals:
    """The pass that removes fields other than the `needed` ones."""
    return _of_each_turn(partial(_fewer_fields, needed))


def _fewer_fields(needed: Required, turn: Turn) -> Iterator[Turn]:
    fields = _fields_of(turn)
    for shape, places in fields:
        optional = [(place, ABSENT) for place in places if _optional(place, shape, needed)]
        if optional:
            yield _edited(turn, optional)
        emptied = [(place, _emptied(place.value, needed, shape)) for place in places]
        simpler = [(place, new) for place, new in emptied if new is not place.value]
        if simpler:
            yield _edited(turn, simpler)
    for shape, places in fields:
        for place in reversed(places):
            if len(places) > 1 and _optional(place, shape, needed):
                yield _edited(turn, [(place, ABSENT)])


def _objects(payload: Json, arguments: frozenset[bytes]) -> Iterator[tuple[Shape, dict[str, Json]]]:
    """The objects in an event's JSON, except the `arguments` and objects within them."""
    inside: tuple[Path, ...] = ()
    for path, shape, value in nodes(payload):
        if not isinstance(value, dict) or any(path[: len(one)] == one for one in inside):
            continue
        if arguments and encoded(value) in arguments:
            inside = (*inside, path)
        else:
            yield with_type(shape, value), value


def _fields_of(turn: Turn) -> list[tuple[Shape, list[_Place]]]:
    """Fields and array entries by their shape, those with the most bytes first."""
    found: dict[Shape, list[_Place]] = defaultdict(list)
    for number, part in enumerate(turn.frames):
        for path, shape, value in nodes(part.frame.json):
            if path:
                found[shape].append(_Place(number, path, value))

    def bytes_of(entry: tuple[Shape, list[_Place]]) -> int:
        return sum(len(encoded(place.value)) for place in entry[1])

    return sorted(found.items(), key=bytes_of, reverse=True)


def _optional(place: _Place, shape: Shape, needed: Required) -> bool:
    return place.path[-1] not in needed.get(shape[:-1], frozenset())


def _emptied(value: Json, needed: Required, shape: Shape) -> Json:
    """A simpler value of the same type; the value itself if there is none."""
    if isinstance(value, list) and value:
        return []
    if isinstance(value, dict) and value and not needed.get(with_type(shape, value)):
        return {}
    if isinstance(value, int | float) and not isinstance(value, bool) and value:
        return 0
    return value


def _edited(turn: Turn, edits: Iterable[tuple[_Place, Json]]) -> Turn:
    """The response with other values at some places; `ABSENT` removes."""
    changes: defaultdict[int, dict[Path, Json]] = defaultdict(dict)
    for place, new in edits:
        changes[place.number][place.path] = new
    return turn.with_frames(turn.framing.rewritten(part, changes[at]) for at, part in enumerate(turn.frames))


_TIME = re.compile(r"\d{4}-\d\d-\d\dT")
_ID = re.compile(r"([A-Za-z]+[-_])?[\w-]*\d[\w-]*$")
_SHORTEST = 8
_KEPT_KEYS = {"model", "modelVersion", "type", "object", "role", "name"}


def shorter_strings(candidate: Candidate, cursor: Cursor) -> Iterator[Proposal]:
    """Each long string replaced by a short one, those that take the most bytes first."""
    del cursor  # After a change, the strings are collected again.
    counted = Counter(_strings(candidate))
    kept = _kept(candidate)
    for old in sorted(counted, key=lambda one: (-len(one) * counted[one], one)):
        if old not in kept:
            for new in _shorter(old, frozenset(counted)):
                yield Proposal(tuple(_renamed(turn, old, new) for turn in candidate), ())


def _payloads(candidate: Candidate) -> Iterator[Json]:
    for turn in candidate:
        yield turn.facts.request
        for part in turn.frames:
            yield part.frame.json


def _strings(candidate: Candidate) -> Iterator[str]:
    for payload in _payloads(candidate):
        yield from (value for _, _, value in nodes(payload) if isinstance(value, str) and len(value) >= _SHORTEST)


def _kept(candidate: Candidate) -> set[str]:
    """Strings that stay: names, types, and texts, which have a separate pass."""
    kept = {part.text for turn in candidate for split_text in split_texts(turn) for part in split_text.parts}
    kept.update(split_text.text for turn in candidate for split_text in split_texts(turn))
    kept.update(name for turn in candidate for name in tools.schemas(turn.facts.request))
    for payload in _payloads(candidate):
        for path, _, value in nodes(payload):
            if isinstance(value, str) and path and path[-1] in _KEPT_KEYS:
                kept.add(value)
    return kept


def _shorter(text: str, taken: frozenset[str]) -> Iterator[str]:
    if _TIME.match(text):
        return
    found = _ID.match(text)
    if found is None:
        if len(text) > _SHORTEST and (" " in text or len(text) > 4 * _SHORTEST):
            yield from ("", text[:_SHORTEST])
        return
    stem = found[1] or "id_"
    new = next(one for number in range(1, len(taken) + 2) if (one := f"{stem}{number}") not in taken)
    yield from (short for short in (new, text[: len(text) // 2]) if len(short) < len(text))


def _renamed(turn: Turn, old: str, new: str) -> Turn:
    request = turn.facts.request
    renamed = turn.with_frames(_replaced(turn, old, new))
    return renamed if request is ABSENT else renamed.with_request(changed(request, _changes(request, old, new)))


def _replaced(turn: Turn, old: str, new: str) -> list[TurnFrame]:
    """The frames, with all occurrences of a string replaced."""
    return [turn.framing.rewritten(part, _changes(part.frame.json, old, new)) for part in turn.frames]


def _changes(payload: Json, old: str, new: str) -> dict[Path, Json]:
    return {path: new for path, _, value in nodes(payload) if value == old and old != new}


_LONG = 16
_KEPT = {"model", "stream", "messages", "input", "contents"}


@_of_each_turn
def smaller_requests(turn: Turn) -> Iterator[Turn]:
    """Each request, smaller."""
    request = turn.facts.request
    if isinstance(request, dict):
        yield from map(turn.with_request, _smaller_requests(request))


def _smaller_requests(request: dict[str, Json]) -> Iterator[Json]:
    for key in [key for key in request if key not in _KEPT]:
        yield changed(request, {(key,): ABSENT})
    lists = [(path, value) for path, _, value in nodes(request) if isinstance(value, list) and value]
    for path, value in lists:
        for span in spans(len(value), ()):
            kept = value[: span.begin] + value[span.end :]
            if kept or path[:1] not in {(key,) for key in _KEPT}:
                yield changed(request, {path: kept})
    for path, _, value in nodes(request):
        yield from _simpler_requests(request, path, value)


def _simpler_requests(request: Json, path: Path, value: Json) -> Iterator[Json]:
    """The request with a shorter text, or without the description of a tool."""
    last = path[-1] if path else None
    if isinstance(value, str) and len(value) > _LONG and last not in _KEPT:
        yield from (changed(request, {path: short}) for short in ("", value[:_LONG]))
    if last in {"description", "title", "examples", "default"}:
        yield changed(request, {path: ABSENT})
