"""Writes into JSON by path. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolstream_core.wire import json_access
from toolstream_core.wire.json_value import ABSENT

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.wire.json_value import Json

type Path = tuple[str | int, ...]
"""Keys of objects and places in arrays, from the outside in."""


def changed(value: Json, changes: Mapping[Path, Json]) -> Json:
    """`value` with other values at some paths; `ABSENT` removes. Only the containers on these paths are copied.

    A value in place of an array becomes an array, with the items that `json_access.items` finds.
    """
    root: list[Json] = [value]
    copies: set[int] = set()
    gaps: list[list[Json]] = []
    for path, new in changes.items():
        holder: Any = root
        step: Any = 0
        for following in path:
            one = holder[step] if type(step) is int else holder.get(step)
            if id(one) not in copies:
                usual = type(one) is (list if type(following) is int else dict)
                one = holder[step] = one.copy() if usual else _copy(one, following)
                copies.add(id(one))
            holder, step = one, following
        if new is not ABSENT or isinstance(holder, list):
            holder[step] = new
            gaps += [holder] if new is ABSENT else []
        else:
            holder.pop(step, None)
    for holder in gaps:
        holder[:] = [one for one in holder if one is not ABSENT]
    return root[0]


def _copy(value: Json, step: str | int) -> Json:
    """A copy of a container that can have `step`."""
    if isinstance(step, int):
        return [*json_access.items(value)]
    return {**value} if isinstance(value, dict) else {}
