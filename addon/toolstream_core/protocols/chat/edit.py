"""Takes Chat Completions events apart and puts them together: entries, deltas, choices. Judges nothing."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.model import ABSENT, Phase
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Fragment, Json
    from toolstream_core.wire.frame import Frame

_NOTHING: Final[tuple[Json, ...]] = ("", None, [], {})
_HEAD: Final = ("id", "object", "created", "model", "system_fingerprint", "service_tier")
"""The keys that all chunks of a response have in common."""
_EVENT: Final = frozenset({*_HEAD, "choices", "usage", "error", "obfuscation"})
_CHOICE: Final = frozenset({"index", "delta", "finish_reason"})
ENTRY: Final = frozenset({"index", "id", "type", "function", "name", "arguments"})
"""The keys of an entry and of its function."""
_NONE: Final[Mapping[str, Json]] = MappingProxyType({})


class EventEntry(NamedTuple):
    """One entry of one event."""

    fragment: Fragment
    call: OpenCall
    choice: int
    entry: dict[str, Json]
    """A copy, to be changed at will; `function` in it too."""
    opening: bool
    """Whether it is the call's first."""


def choice_number(choice: Json, place: int) -> int:
    """A choice's number: its index, or its place where it has none."""
    number = choice.get("index") if isinstance(choice, dict) else None
    if type(number) is not int:
        number = json_access.integer(number)
    return number if isinstance(number, int) else place


def has_text(frame: Frame, choice: int) -> bool:
    """Whether a choice has text in an event."""
    for place, one in enumerate(json_access.items(json_access.get(frame.json, "choices"))):
        text = json_access.get(one, "delta", "content")
        if isinstance(text, str) and text.strip() and choice_number(one, place) == choice:
            return True
    return False


def entries_of(delta: Json) -> list[Json]:
    """The tool-call entries of a delta, in any form."""
    entries = delta.get("tool_calls") if isinstance(delta, dict) else None
    if not isinstance(entries, list):
        entries = json_access.items(entries)
    if entries:
        return entries
    legacy = json_access.get(delta, "function_call")
    return [{"function": legacy}] if isinstance(legacy, dict) else []


def event_entries(event: Event, resolved: Sequence[ResolvedFragment], seen: set[int]) -> list[EventEntry] | None:
    """The entries of an event that is in order; `None` of one that is not, or that has none.

    `seen` remembers the calls that have opened, by `id(call)`.
    """
    if not resolved or any(one.fragment.phase is not Phase.MORE for one in resolved):
        return None
    entries = [
        (choice_number(choice, place), entry)
        for place, choice in enumerate(json_access.items(json_access.get(event.frame.json, "choices")))
        for entry in _listed(json_access.get(choice, "delta", "tool_calls"))
    ]
    if len(entries) != len(resolved) or not all(_in_order(entry) for _, entry in entries):
        return None
    out: list[EventEntry] = []
    for (fragment, call), (number, entry) in zip(resolved, entries, strict=True):
        copy = {**entry, "function": dict(entry["function"])}
        out.append(EventEntry(fragment, call, number, copy, id(call) not in seen))
        seen.add(id(call))
    return out


def _listed(entries: Json) -> list[Json]:
    return entries if isinstance(entries, list) else []


def _in_order(entry: Json) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("function"), dict)


def with_entries(payload: Json, entries: Iterable[tuple[int, Json]]) -> dict[str, Json]:
    """The payload with these entries, by choice, in the place of its own."""
    if not isinstance(payload, dict):
        return {}
    by_choice: dict[int, list[Json]] = {}
    for number, entry in entries:
        by_choice.setdefault(number, []).append(entry)
    choices: list[Json] = []
    for place, choice in enumerate(json_access.items(payload.get("choices"))):
        if not isinstance(choice, dict):
            choices.append(choice)
            continue
        delta = choice.get("delta")
        changed = dict(delta) if isinstance(delta, dict) else {}
        mine = by_choice.get(choice_number(choice, place))
        if mine:
            changed["tool_calls"] = mine
        else:
            changed.pop("tool_calls", None)
        choices.append({**choice, "delta": changed})
    return {**payload, "choices": choices}


def others_of(payload: dict[str, Json]) -> dict[str, Json]:
    """The keys of a chunk that are not of this protocol, such as a gateway's."""
    return {key: value for key, value in payload.items() if key not in _EVENT and value not in _NOTHING}


def has_nothing(payload: Json, sent: Mapping[str, Json] = _NONE) -> bool:
    """Whether a chunk without entries can go: no text, no finish, no usage, nothing of a vendor's.

    `sent`: keys of a vendor's and their values, which the client has from earlier chunks.
    """
    if not isinstance(payload, dict) or payload.get("usage") or payload.get("error"):
        return False
    for choice in json_access.items(payload.get("choices")):
        if not isinstance(choice, dict) or choice.get("finish_reason") not in _NOTHING:
            return False
        if any(value not in _NOTHING for key, value in choice.items() if key not in _CHOICE):
            return False
        delta = choice.get("delta")
        rest = delta.items() if isinstance(delta, dict) else ()
        if any(value not in _NOTHING for key, value in rest if key != "role"):
            return False
    return not any(key not in sent or sent[key] != value for key, value in others_of(payload).items())


def has_role(payload: Json) -> bool:
    """Whether a chunk has a role."""
    return any(
        json_access.get(choice, "delta", "role") for choice in json_access.items(json_access.get(payload, "choices"))
    )


def without_ending(payload: dict[str, Json]) -> dict[str, Json]:
    """The chunk with neither finish reasons nor usage."""
    choices = [
        {**choice, "finish_reason": None} if json_access.get(choice, "finish_reason") else choice
        for choice in json_access.items(payload.get("choices"))
    ]
    return {**payload, "choices": choices, **({"usage": None} if payload.get("usage") else {})}


def ending_of(payload: Json, entry: tuple[int, Json]) -> dict[str, Json]:
    """A chunk with one entry and with the payload's finish reasons and usage, where it has them."""
    number, call = entry
    out = entry_chunk(payload, number, call)
    for place, choice in enumerate(json_access.items(json_access.get(payload, "choices"))):
        reason = json_access.get(choice, "finish_reason")
        if not reason:
            continue
        if choice_number(choice, place) == number:
            out["choices"][0]["finish_reason"] = reason
        else:
            out["choices"].append({"index": choice_number(choice, place), "delta": {}, "finish_reason": reason})
    usage = json_access.get(payload, "usage")
    return {**out, "usage": usage} if usage else out


def chunk(payload: Json, choice: int, delta: Json, finish: str | None = None) -> dict[str, Json]:
    """A chunk of the same stream as `payload`, with one choice, and without its unknown keys."""
    head = payload if isinstance(payload, dict) else {"object": "chat.completion.chunk"}
    kept = {key: value for key, value in head.items() if key in _HEAD}
    return {**kept, "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}


def entry_chunk(payload: Json, choice: int, entry: Json) -> dict[str, Json]:
    """A chunk with one tool-call entry."""
    return chunk(payload, choice, {"tool_calls": [entry]})


def continuation(index: Json, arguments: Json) -> dict[str, Json]:
    """An entry that carries arguments alone."""
    entry = {} if index is ABSENT else {"index": index}
    return {**entry, "function": {"arguments": arguments}}


def finishes(payload: Json) -> bool:
    """Whether a chunk has a finish reason."""
    return any(
        json_access.get(choice, "finish_reason") for choice in json_access.items(json_access.get(payload, "choices"))
    )
