"""Reads, splits and joins Chat Completions events: entries, deltas, choices."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Final, NamedTuple

from toolstream_core.model import ABSENT, Json
from toolstream_core.repair.fields import Fields
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame

CHUNK: Final = "chat.completion.chunk"
"""The `object` of a chunk."""
_NOTHING: Final[tuple[Json, ...]] = ("", None, [], {})
HEAD: Final = ("id", "object", "created", "model", "system_fingerprint", "service_tier")
"""The keys with the same value in all chunks of a response."""
_EVENT: Final = frozenset({*HEAD, "choices", "usage", "error", "obfuscation"})
_CHOICE: Final = frozenset({"index", "delta", "finish_reason"})
_ENTRY: Final = frozenset({"index", "id", "type", "function", "name", "arguments"})
"""The keys of an entry and of its function."""
OF_ENTRY: Final = ("index", "id", "type")
OF_FUNCTION: Final = ("name", "arguments", "parameters")
OF_CHUNK: Final = _EVENT - {"error"} | _CHOICE | {"role", "content", "tool_calls"}
"""The keys of a chunk with calls, at every depth."""
_NONE: Final[Mapping[str, Json]] = MappingProxyType({})


def choice_number(choice: Json, place: int) -> int:
    """A choice's number: its index, or its place if it has none."""
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


def with_entries(payload: Json, entries: Iterable[tuple[int, Json]]) -> dict[str, Json]:
    """The payload with these entries, by choice, instead of its own."""
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
    """The unknown keys of a chunk, such as a gateway's."""
    return {key: value for key, value in payload.items() if key not in _EVENT and value not in _NOTHING}


def has_nothing(payload: Json, sent: Mapping[str, Json] = _NONE) -> bool:
    """Whether a chunk without entries can be dropped: it has no text, finish, usage or unknown keys.

    `sent`: vendors' keys and their values, which the client has from earlier chunks.
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
    """The chunk without finish reasons and usage."""
    choices = [
        {**choice, "finish_reason": None} if json_access.get(choice, "finish_reason") else choice
        for choice in json_access.items(payload.get("choices"))
    ]
    return {**payload, "choices": choices, **({"usage": None} if payload.get("usage") else {})}


def ending_of(payload: Json, entry: tuple[int, Json]) -> dict[str, Json]:
    """A chunk with one entry, and with the payload's finish reasons and usage, if it has them."""
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
    head = payload if isinstance(payload, dict) else {"object": CHUNK}
    kept = {key: value for key, value in head.items() if key in HEAD}
    return {**kept, "choices": [{"index": choice, "delta": delta, "finish_reason": finish}]}


def entry_chunk(payload: Json, choice: int, entry: Json) -> dict[str, Json]:
    """A chunk with one tool-call entry."""
    return chunk(payload, choice, {"tool_calls": [entry]})


def continuation(index: Json, arguments: Json) -> dict[str, Json]:
    """An entry with only arguments."""
    entry = {} if index is ABSENT else {"index": index}
    return {**entry, "function": {"arguments": arguments}}


class ReceivedEntry(NamedTuple):
    """One entry of an event."""

    fields: Fields
    raw: Json
    """The entry of the payload."""

    def with_name_as_arguments(self) -> ReceivedEntry:
        """The entry with its name, which is a part of the arguments, under a key of arguments."""
        kept = {key: value for key, value in self.fields.items() if key not in {"name", "arguments"}}
        return self._replace(fields=kept | {"parameters": self.fields["name"]})

    @property
    def extra(self) -> bool:
        """Whether it has unknown keys."""
        function = json_access.get(self.raw, "function")
        inner = function.keys() - set(OF_FUNCTION) if isinstance(function, dict) else set()
        outer = self.raw.keys() - {*OF_ENTRY, "function", *OF_FUNCTION} if isinstance(self.raw, dict) else set()
        return bool(inner or outer)


def read_entry(entry: Json) -> ReceivedEntry:
    """Read an entry in any form."""
    if not isinstance(entry, dict):
        return ReceivedEntry({}, entry)
    function = entry.get("function")
    if not isinstance(function, dict):
        function = entry
    keys = OF_FUNCTION[:2] if "arguments" in function else OF_FUNCTION
    fields = {key: entry[key] for key in OF_ENTRY if key in entry}
    return ReceivedEntry(fields | {key: function[key] for key in keys if key in function}, entry)


def written(call_entry: ReceivedEntry, fields: Fields) -> dict[str, Json]:
    """The entry with these fields: keys in their order, then new ones."""
    raw = call_entry.raw if isinstance(call_entry.raw, dict) else {}
    inner = raw.get("function")
    inner = inner if isinstance(inner, dict) else {}
    function = dict(_in_order(inner, fields, OF_FUNCTION))
    outer = raw if isinstance(raw.get("function"), dict) else {k: v for k, v in raw.items() if k not in OF_FUNCTION}
    entry = {key: value for key, value in _in_order(outer, fields, OF_ENTRY) if key != "function"}
    if not function:
        return entry
    keys = [key for key in outer if key in entry or key == "function"]
    at = keys.index("function") if "function" in keys else len(keys)
    order = [*keys[:at], *(key for key in entry if key not in keys), "function", *keys[at + 1 :]]
    return {key: function if key == "function" else entry[key] for key in order}


def _in_order(raw: dict[str, Json], fields: Fields, own: tuple[str, ...]) -> list[tuple[str, Json]]:
    known = [
        (key, fields[key] if key in own else value) for key, value in raw.items() if key not in own or key in fields
    ]
    return [*known, *((key, fields[key]) for key in own if key in fields and key not in raw)]


def joined(first: dict[str, Json], more: dict[str, Json]) -> dict[str, Json] | None:
    """Two entries of one call as one, with concatenated arguments; `None` if an unknown key has two values.

    Arguments that are no text do not replace others.
    """
    texts = [json_access.get(one, "function", "arguments") for one in (first, more)]
    out = _together(first, more)
    if out is not None and "function" in out:
        function = out.pop("function") if out.keys() - first.keys() else out["function"]
        out["function"] = function
        text = "".join(text for text in texts if isinstance(text, str))
        function["arguments"] = texts[1] if not text and isinstance(texts[1], dict | list) else text
    return out


def as_one(entry: Json, more: Json) -> Json:
    """Two entries of a call as one; `None` if they cannot be joined."""
    fits = _has_text(more) or (_has_function(more) and not json_access.get(entry, "function", "arguments"))
    return joined(entry, more) if fits and _has_text(entry) else None


def _has_function(entry: Json) -> bool:
    return isinstance(json_access.get(entry, "function"), dict)


def _has_text(entry: Json) -> bool:
    """Whether an entry has the usual form, with arguments as text or without any."""
    function = json_access.get(entry, "function")
    return isinstance(function, dict) and isinstance(function.get("arguments", ""), str)


def _together(first: dict[str, Json], more: dict[str, Json]) -> dict[str, Json] | None:
    """The keys of both objects, at every depth; of the fields of a call the first value that is not blank."""
    out = {**first, **{key: value for key, value in more.items() if first.get(key) in ("", None) or key not in _ENTRY}}
    for key in first.keys() & more.keys():
        if isinstance(first[key], dict) and isinstance(more[key], dict):
            out[key] = _together(first[key], more[key])
            if out[key] is None:
                return None
        elif key not in _ENTRY and first[key] != more[key]:
            return None
    return out
