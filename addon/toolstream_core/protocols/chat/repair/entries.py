"""Reads entries of Chat Completions events as fields and writes them back. Other keys keep their place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.protocols.chat.edit import ENTRY, entries_of
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.repair.fields import Fields

_OF_ENTRY: Final = ("index", "id", "type")
_OF_FUNCTION: Final = ("name", "arguments", "parameters")


class ReceivedEntry(NamedTuple):
    """One entry of an event."""

    fields: Fields
    raw: Json
    """The entry as it stands in the payload."""

    @property
    def extra(self) -> bool:
        """Whether it has keys that are no field of a call: a vendor's."""
        function = json_access.get(self.raw, "function")
        inner = function.keys() - set(_OF_FUNCTION) if isinstance(function, dict) else set()
        outer = self.raw.keys() - {*_OF_ENTRY, "function", *_OF_FUNCTION} if isinstance(self.raw, dict) else set()
        return bool(inner or outer)


def read_entry(entry: Json) -> ReceivedEntry:
    """Read an entry in any form."""
    if not isinstance(entry, dict):
        return ReceivedEntry({}, entry)
    function = entry.get("function")
    if not isinstance(function, dict):
        function = entry
    keys = _OF_FUNCTION[:2] if "arguments" in function else _OF_FUNCTION
    fields = {key: entry[key] for key in _OF_ENTRY if key in entry}
    return ReceivedEntry(fields | {key: function[key] for key in keys if key in function}, entry)


def read_entries(choice: Json) -> list[ReceivedEntry]:
    """The entries of a choice's delta."""
    return [read_entry(entry) for entry in entries_of(json_access.get(choice, "delta"))]


def written(call_entry: ReceivedEntry, fields: Fields) -> dict[str, Json]:
    """The entry with these fields: keys in the order in which they came, then new ones."""
    raw = call_entry.raw if isinstance(call_entry.raw, dict) else {}
    inner = raw.get("function")
    inner = inner if isinstance(inner, dict) else {}
    function = dict(_in_order(inner, fields, _OF_FUNCTION))
    outer = raw if isinstance(raw.get("function"), dict) else {k: v for k, v in raw.items() if k not in _OF_FUNCTION}
    entry = {key: value for key, value in _in_order(outer, fields, _OF_ENTRY) if key != "function"}
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
    """Two entries of one call as one, arguments concatenated; `None` if an unknown key has two values.

    Arguments that are no text replace none.
    """
    texts = [json_access.get(one, "function", "arguments") for one in (first, more)]
    out = _together(first, more)
    if out is not None:
        function = out.pop("function") if out.keys() - first.keys() else out["function"]
        out["function"] = function
        text = "".join(text for text in texts if isinstance(text, str))
        function["arguments"] = texts[1] if not text and isinstance(texts[1], dict | list) else text
    return out


def _together(first: dict[str, Json], more: dict[str, Json]) -> dict[str, Json] | None:
    """The keys of both objects, at every depth; of the fields of a call the first value that is not blank."""
    out = {**first, **{key: value for key, value in more.items() if first.get(key) in ("", None) or key not in ENTRY}}
    for key in first.keys() & more.keys():
        if isinstance(first[key], dict) and isinstance(more[key], dict):
            out[key] = _together(first[key], more[key])
            if out[key] is None:
                return None
        elif key not in ENTRY and first[key] != more[key]:
            return None
    return out
