"""Paths in foreign JSON, and changed copies of it. Nothing is changed in place."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.model import Json

type Path = tuple[str | int, ...]
"""Keys of objects and places in arrays, from the top."""
type Shape = tuple[str, ...]
"""A path with `*` for places in arrays and an object's `type` before its keys; equal for fields of one meaning."""

_MAX_DEPTH = 64
"""Values nested deeper are left out."""


def nodes(value: Json, path: Path = (), shape: Shape = ()) -> Iterator[tuple[Path, Shape, Json]]:
    """Every value in `value`, itself first, with its path and shape."""
    yield path, shape, value
    if len(path) >= _MAX_DEPTH:
        return
    if isinstance(value, dict):
        kind = value.get("type")
        here = (*shape, f"<{kind}>") if isinstance(kind, str) else shape
        for key, one in value.items():
            yield from nodes(one, (*path, key), (*here, key))
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from nodes(one, (*path, at), (*shape, "*"))


def without(value: Json, path: Path) -> Json:
    """`value` without what is at `path`, which exists and is not the top."""
    step, *rest = path
    if rest:
        return _exchanged(value, step, without(value[step], tuple(rest)))
    if isinstance(value, dict):
        return {key: one for key, one in value.items() if key != step}
    return [one for at, one in enumerate(value) if at != step]


def put(value: Json, path: Path, new: Json) -> Json:
    """`value` with `new` at `path`, which exists."""
    if not path:
        return new
    return _exchanged(value, path[0], put(value[path[0]], path[1:], new))


def mapped(value: Json, change: Callable[[str], str]) -> Json:
    """`value` with each string changed, except keys; the same object where none changed."""
    new = value
    for path, _, one in nodes(value):
        if isinstance(one, str) and (other := change(one)) != one:
            new = put(new, path, other)
    return new


def _exchanged(value: Json, step: str | int, new: Json) -> Json:
    if isinstance(value, dict):
        return {key: new if key == step else one for key, one in value.items()}
    return [new if at == step else one for at, one in enumerate(value)]
