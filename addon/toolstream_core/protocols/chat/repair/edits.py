"""Changes to one Chat Completions entry."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Json

DROP: Final = object()
"""The edit that takes a key out."""

_ENTRY_KEYS: Final = ("index", "id", "type")
_FUNCTION_KEYS: Final = ("name", "parameters", "arguments")

type Edits = dict[str, Json]
"""Keys of an entry (`index`, `id`, `type`, `name`, `arguments`) and their new values, or `DROP`."""


def edited(entry: Mapping[str, Json], edits: Edits) -> dict[str, Json]:
    """The entry with its edits in: other keys, and the order of all, stay."""
    function = entry.get("function")
    inner = dict(function) if isinstance(function, dict) else {}
    outer = dict(entry)
    for into, keys in ((inner, _FUNCTION_KEYS), (outer, _ENTRY_KEYS)):
        for key in keys:
            if key not in edits:
                continue
            value = edits[key]
            if value is DROP:
                into.pop(key, None)
            elif key in into:
                into[key] = value
            else:
                _put(into, key, value, keys)
    outer["function"] = inner
    return outer


def _put(into: dict[str, Json], key: str, value: Json, order: tuple[str, ...]) -> None:
    """Add a key: before those that usually follow it."""
    before = order[: order.index(key)]
    first = {one: into.pop(one) for one in list(into) if one in before}
    rest = dict(into)
    into.clear()
    into.update({**first, key: value, **rest})
