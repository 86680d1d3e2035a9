"""Changes at paths of a JSON document; its keys as they are written."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any, Final

from toolstream_core.wire import json_access
from toolstream_core.wire.json_value import ABSENT, Json, Payload

_TOKEN: Final = re.compile(rb'"((?:[^"\\]|\\.)*+)(?:"(\s*+:)?|\\?\Z)|[{\[]|[}\]]', re.DOTALL)
"""A string, with the colon after a key, or a bracket. A string that is cut off goes to the end."""


def top_keys(head: bytes) -> frozenset[bytes]:
    """The keys of the object that begins with `head`, as far as `head` has them; none if it is not an object."""
    if not head.lstrip().startswith(b"{"):
        return frozenset()
    found: set[bytes] = set()
    depth = 0
    for token in _TOKEN.finditer(head):
        if token[0] in {b"{", b"["}:
            depth += 1
        elif token[0] in {b"}", b"]"}:
            depth -= 1
        elif depth == 1 and token[2] is not None:
            found.add(token[1])
    return frozenset(found)


def merged(first: Payload, other: Payload, known: AbstractSet[str]) -> Payload | None:
    """`first` with the keys of `other` that it lacks, at every depth; the same object if it lacks none.

    Of the `known` keys, `first` keeps its own values. `None`: `other` has another value for an unknown key. Whether
    a client adds up such values or takes the last one is unknown too, so `other` has to stay an event.
    """
    out = first
    for key, value in other.items():
        mine = first.get(key, first)
        if mine is first:
            out = {**out, key: value}
        elif isinstance(mine, dict) and isinstance(value, dict):
            inner = merged(mine, value, known)
            if inner is None:
                return None
            if inner is not mine:
                out = {**out, key: inner}
        elif key not in known and mine != value:
            return None
    return out


def known_only(payload: Payload, known: AbstractSet[str]) -> Payload:
    """The payload without unknown keys, at every depth: what a further event of the same kind repeats."""
    return {
        key: known_only(value, known) if isinstance(value, dict) else value
        for key, value in payload.items()
        if key in known
    }


def unknown_only(payload: Payload, known: AbstractSet[str]) -> Payload:
    """The payload with only its unknown keys, at every depth: the rest of an event whose content has moved."""
    rest = {
        key: unknown_only(value, known) for key, value in payload.items() if key in known and isinstance(value, dict)
    }
    return {key: rest.get(key, value) for key, value in payload.items() if key not in known or rest.get(key)}


def put(payload: Payload, path: tuple[str, ...], value: Json) -> Payload:
    """The payload with a value at the keys of a path; for `ABSENT` without the last key."""
    key, rest = path[0], path[1:]
    inner = payload.get(key)
    if value is ABSENT and not (rest and isinstance(inner, dict)):
        return payload if rest else {name: other for name, other in payload.items() if name != key}
    return {**payload, key: put(inner if isinstance(inner, dict) else {}, rest, value) if rest else value}


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
            container = holder[step] if type(step) is int else holder.get(step)
            if id(container) not in copies:
                usual = type(container) is (list if type(following) is int else dict)
                container = holder[step] = container.copy() if usual else _copy(container, following)
                copies.add(id(container))
            holder, step = container, following
        if new is not ABSENT or isinstance(holder, list):
            holder[step] = new
            gaps += [holder] if new is ABSENT else []
        else:
            holder.pop(step, None)
    for holder in gaps:
        holder[:] = [container for container in holder if container is not ABSENT]
    return root[0]


def _copy(value: Json, step: str | int) -> Json:
    """A copy of a container that can have `step`."""
    if isinstance(step, int):
        return [*json_access.items(value)]
    return {**value} if isinstance(value, dict) else {}
