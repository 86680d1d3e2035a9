"""Faults of Chat Completions streams: their entries and events, and causes that need more than the shared fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final, override

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.defects import finish, framing, identity
from toolstream_core.model import ABSENT, Event, Json, Phase
from toolstream_core.protocols.chat.edit import (
    OF_ENTRY,
    OF_FUNCTION,
    choice_number,
    chunk,
    entry_chunk,
    has_nothing,
    with_entries,
)
from toolstream_core.stages.inject.codec import EventCodec, Part, Replaced, What
from toolstream_core.stages.inject.rule import (
    END,
    EVENT,
    FINISH,
    FRAGMENTS,
    START,
    At,
    Cause,
    Emit,
    it,
    new,
    on,
    per_call,
    per_stream,
)
from toolstream_core.stages.inject.words import changed, cut_data, has, has_calls, text
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import put
from toolstream_core.wire.write import Writer

_TOKEN: Final = re.compile(r"\s?\w+|\s|[^\w\s]{1,2}")
"""Characters of about one token."""
_NEW: Final = {
    What.START: {"index": 0, "id": "", "type": "function", "function": {"name": "", "arguments": ""}},
    What.DELTA: {"index": 0, "function": {}},
}
_OF_CHOICE: Final = {
    "choice": ("index",),
    "delta": ("delta",),
    "function_call": ("delta", "function_call"),
    "message": ("message",),
    "reason": ("finish_reason",),
}
_RECEIVED: Final = "chunk"
_ERROR: Final = {"error": {"message": "Provider disconnected", "code": 502}}
_USAGE: Final = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


class ChatCodec(EventCodec):
    """One stream."""

    complete = "stop"

    def __init__(self) -> None:
        self._seen: set[int] = set()
        self._last: Json = None

    @override
    def parts(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Sequence[Part]:
        payload, content = event.frame.json, event.content
        ends = content.end and event.frame.data is not None
        if not (ends or isinstance(payload, dict)):
            return ()
        self._last = payload if isinstance(payload, dict) else self._last
        found = self._entries(event, resolved)
        reasons = [one for one in content.finishes if one.reason]
        what = What.FINISH if reasons else What.END if ends else What.EVENT
        choice = reasons[0].choice if reasons else found[0].choice if found else 0
        return [*found, Part(what, _RECEIVED, payload, None, choice)]

    def _entries(self, event: Event, resolved: Sequence[ResolvedFragment]) -> list[Part]:
        """The entries of an event; none of a malformed one."""
        entries = [
            (choice_number(choice, place), entry)
            for place, choice in enumerate(json_access.items(json_access.get(event.frame.json, "choices")))
            if isinstance(listed := json_access.get(choice, "delta", "tool_calls"), list)
            for entry in listed
        ]
        if any(one.fragment.phase is not Phase.MORE for one in resolved) or len(entries) != len(resolved):
            return []
        if not all(isinstance(json_access.get(entry, "function"), dict) for _, entry in entries):
            return []
        parts: list[Part] = []
        for (_, call), (number, entry) in zip(resolved, entries, strict=True):
            what = What.DELTA if id(call) in self._seen else What.START
            parts.append(Part(what, _RECEIVED, entry, call, number))
            self._seen.add(id(call))
        return parts

    @override
    def get(self, part: Part, name: str) -> Json:
        if part.call is not None:
            return json_access.get(part.body, *_path(name))
        if name == "reason":
            choices = json_access.items(json_access.get(part.body, "choices"))
            return next((reason for one in choices if (reason := json_access.get(one, "finish_reason"))), ABSENT)
        return json_access.get(part.body, name)

    @override
    def put(self, part: Part, name: str, value: Json) -> Part:
        if name == "joined" or (name == "choice" and part.call is not None):
            return part._replace(**{name: value})
        if name in {"data", "payload"}:
            return part._replace(body=value)
        if part.call is not None:
            return part._replace(body=_in_order(put(part.body, _path(name), value)))
        if name in _OF_CHOICE:
            return part._replace(body=_with_choices(part, name, value))
        return part._replace(body=put(part.body, (name,), value))

    @override
    def new(self, part: Part, what: What) -> Part:
        if what in _NEW:
            index = self.get(part, "index")
            replaced = Part(what, "", _NEW[what], part.call, part.choice)
            return self.put(replaced, "index", index)
        body = chunk(self._last, part.choice, {}, "stop" if what is What.FINISH else None)
        if what is What.TAIL:
            body |= {"choices": [], "usage": _USAGE}
        return Part(what, "", _ERROR if what is What.ERROR else body, None, part.choice)

    @override
    def texts(self, part: Part, texts: Sequence[str], index: Json) -> Iterable[Part]:
        tokens = (token for text in texts for token in _TOKEN.findall(text))
        return [
            Part(What.EVENT, "", chunk(self._last, part.choice, {"content": token}), None, part.choice)
            for token in tokens
        ]

    @override
    def frames(self, event: Event, replaced: Sequence[Replaced], writer: Writer, *, ends_stream: bool) -> list[Frame]:
        # An event has one entry of each call: earlier entries of the same call get separate events.
        (around, entry_parts), number = replaced[-1], event.frame.number
        parts = [one for _, new in replaced[:-1] for one in new]
        entries = [one for one in parts if one.call is not None]
        at = next((place for place, one in enumerate(entry_parts) if one.kind), None)
        stay = _last_of_each(entries) if at is not None else []
        apart = [entry_chunk(self._last, one.choice, one.body) for one in entries[: len(entries) - len(stay)]]
        others = [one.body for one in (*(one for one in parts if one.call is None), *entry_parts[:at])]
        frames = [writer.make(body, number) for body in (*apart, *others)]
        if at is None:
            return frames
        changed = [(one.choice, one.body) for one in stay] if _changed(replaced[:-1]) else None
        frames += self._own(event, around, entry_parts[at], changed, writer)
        return [*frames, *(writer.make(one.body, number) for one in entry_parts[at + 1 :])]

    def _own(
        self, event: Event, around: Part, own: Part, entries: list[tuple[int, Json]] | None, writer: Writer
    ) -> list[Frame]:
        """The event itself; `entries` replace its own."""
        if entries is None:
            return [event.frame if own is around else writer.rewrite(event.frame, own.body)]
        payload = with_entries(own.body, entries)
        return [] if not entries and has_nothing(payload) else [writer.rewrite(event.frame, payload)]


def _last_of_each(entries: list[Part]) -> list[Part]:
    """The last entries, no two of one call, except entries that must share an event."""
    at = len(entries)
    while at and (not any(_belong_together(entries[at - 1], one) for one in entries[at:]) or entries[at].joined):
        at -= 1
    return entries[at:]


def _belong_together(part: Part, other: Part) -> bool:
    """Whether two entries belong to one call, or a new entry has the index of the other."""
    both_kinds = part.kind and other.kind
    return part.call is other.call or not (both_kinds or part.body.get("index") != other.body.get("index"))


def _changed(replaced: Sequence[Replaced]) -> bool:
    return any(len(new) != 1 or new[0] is not part for part, new in replaced)


def _path(name: str) -> tuple[str, ...]:
    return ("function", name) if name in OF_FUNCTION else (name,)


def _in_order(entry: dict[str, Any]) -> dict[str, Any]:
    """The entry with its fields in the usual order."""
    first = {key: entry[key] for key in OF_ENTRY if key in entry}
    return first | entry


def _with_choices(part: Part, name: str, value: Json) -> Json:
    """The event with a field in its choices; a reason or a message only in those with a finish reason."""
    finish = part.what is What.FINISH and name in {"reason", "message"}
    choices = [
        put(one, _OF_CHOICE[name], value) if not finish or json_access.get(one, "finish_reason") else one
        for one in json_access.items(json_access.get(part.body, "choices"))
    ]
    return {**part.body, "choices": choices}


AROUND: Final = EVENT | FINISH


def has_entries(at: At) -> bool:
    """The event has entries of calls."""
    return len(at.siblings) > 1


def of_first_call(at: At) -> list[Part]:
    """The event's entries of the first call."""
    return [one for one in at.siblings if one.call is not None and one.call is at.calls[0]]


def has_first_call(at: At) -> bool:
    """The event has an entry of the first call."""
    return bool(of_first_call(at))


def function_call(at: At) -> Json:
    """The event's entries of the first call, as one `function_call`."""
    parts = of_first_call(at)
    texts = [at.protocol.get(one, "arguments") for one in parts]
    function = {key: value for key, value in parts[0].body["function"].items() if key in {"name", "arguments"}}
    return function | {"arguments": "".join(one for one in texts if isinstance(one, str))}


def second_choice(at: At) -> Iterable[Part]:
    """An event with the entries in a second choice."""
    entries = [one.body for one in at.siblings if one.call is not None]
    reason = at.get("reason")
    body = chunk(at.part.body, 1, {"tool_calls": entries}, None if reason is ABSENT else reason)
    return [Part(What.EVENT, "", body, None, 1)]


def as_object(at: At) -> Json:
    """The event with its entry, or its entries by number, instead of a list."""
    choices: list[Json] = []
    for choice in json_access.items(json_access.get(at.part.body, "choices")):
        entries = json_access.items(json_access.get(choice, "delta", "tool_calls"))
        tool_calls = entries[0] if len(entries) == 1 else {str(place): entry for place, entry in enumerate(entries)}
        choices.append({**choice, "delta": {**choice["delta"], "tool_calls": tool_calls}} if entries else choice)
    return {**at.part.body, "choices": choices}


def message(at: At) -> Json:
    """A message with all calls."""
    return {"role": "assistant", "content": None, "tool_calls": [_complete(call) for call in at.calls]}


def _complete(call: OpenCall) -> Json:
    function = {"name": call.name, "arguments": call.arguments.reading()[0]}
    return {"id": call.id, "type": "function", "function": function}


def long_name(at: At) -> bool:
    """It has a name of at least two characters."""
    name = at.get("name")
    return isinstance(name, str) and len(name) > 1


def part_of_name(which: int) -> Any:
    """The first or the second part of the name."""
    return lambda at: (at.call.name[: len(at.call.name) // 2], at.call.name[len(at.call.name) // 2 :])[which]


_SIGNED: Final = {"extra_content": {"google": {"thought_signature": "c2lnbmF0dXJl"}}}
OWN: Final[tuple[Cause, ...]] = (
    per_call(
        identity.SPLIT_NAME,
        on(
            START & long_name & has("arguments"),
            it(name=part_of_name(0), arguments=""),
            new(What.DELTA, name=part_of_name(1)),
            new(What.DELTA, arguments=text()),
        ),
        on(START & long_name, it(name=part_of_name(0), arguments=""), new(What.DELTA, name=part_of_name(1))),
    ),
    per_stream(
        identity.REPEATED_INDEX,
        on(START & has("arguments"), it(arguments=""), new(What.DELTA, arguments=text(), joined=True)),
    ),
    per_stream(identity.DETACHED_SIGNATURE, on(EVENT & has_entries, it, new(What.EVENT, delta=_SIGNED), once=True)),
    per_stream(framing.MISSING_DELTA, on(AROUND & has_entries, new(What.EVENT, delta=ABSENT), it, once=True)),
    per_stream(framing.MISSING_CHOICES, on(AROUND & has_entries, new(What.EVENT, choices=None), it, once=True)),
    per_stream(
        framing.CHANGING_STREAM_ID,
        on(
            AROUND & has("id") & (lambda at: has_entries(at) or has("reason")(at)),
            it(id=lambda at: f"{at.get('id')}-{at.frame.number}"),
        ),
    ),
    per_stream(framing.TOOL_CALLS_OBJECT, on(AROUND & has_entries, it(payload=as_object))),
    per_stream(
        framing.LEGACY_FUNCTION_CALL,
        on(FRAGMENTS),
        on(FINISH & has_first_call, it(function_call=function_call, reason="function_call")),
        on(EVENT & has_first_call, it(function_call=function_call)),
        on(FINISH, it(reason="function_call")),
    ),
    per_stream(
        framing.SPLIT_CHOICES,
        on(FRAGMENTS),
        on(AROUND & has_entries, Emit(second_choice), it),
        on(FINISH & has_calls, it, new(What.FINISH, choice=1, reason=changed("reason", str))),
    ),
    per_stream(framing.UNPARSABLE_DATA, on(AROUND & has_entries, it(data=cut_data), once=True)),
    per_stream(framing.DATA_AFTER_END, on(END, it, new(What.TAIL))),
    per_stream(finish.UNSTREAMED_CALLS, on(FINISH & has_calls, it(message=message)), on(FRAGMENTS)),
    per_stream(finish.EMPTY_FINISH, on(EVENT & has_entries, it(reason=""))),
    per_stream(finish.EARLY_FINISH, on(EVENT & has_entries, it(reason="tool_calls"))),
)
