"""Keys of events that nobody here knows, where several events become one, or one becomes several.

Each of them reaches the client once. Knows JSON and no protocol.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from toolstream_core.wire.json_value import Json

type Payload = dict[str, Json]


def merged(first: Payload, other: Payload, known: AbstractSet[str]) -> Payload | None:
    """`first` with the keys that it lacks of `other`, at every depth; the same object where it lacks none.

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
    """The payload with its unknown keys alone, at every depth: what remains of an event whose content has moved."""
    rest = {
        key: unknown_only(value, known) for key, value in payload.items() if key in known and isinstance(value, dict)
    }
    return {key: rest.get(key, value) for key, value in payload.items() if key not in known or rest.get(key)}
