"""Overlays the fields of a received event with intended values. Knows JSON and no protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from toolstream_core.model import ABSENT, Json
from toolstream_core.wire import json_access
from toolstream_core.wire.json_paths import put
from toolstream_core.wire.json_value import Payload

type Path = tuple[str, ...]
type Paths = Mapping[str, Path]
"""The place of each field in an event. A field that is not listed is a key of the event."""
type Fields = dict[str, Json]
"""Values by field name. `ABSENT`: the event must not have the field."""
type Judge = Callable[[Deviation], bool]
"""Names a deviation and returns whether to repair it."""

TOP: Final[Paths] = {}
"""Every field is a key of the event."""


class Deviation(NamedTuple):
    """A field that differs from its intended value."""

    field: str
    received: Json
    """`ABSENT` if the event lacks the field."""
    intended: Json


def overlaid(event: Payload, wanted: Fields, judge: Judge, paths: Paths = TOP) -> Payload:
    """The event with each deviation replaced that `judge` accepts; the same object if nothing changes.

    Keys that `wanted` does not name keep their values and their order.
    """
    out = event
    for field, intended in wanted.items():
        path = paths.get(field)
        received = event.get(field, ABSENT) if path is None else json_access.get(event, *path)
        if received is intended or (type(received) is type(intended) and received == intended):
            continue
        if judge(Deviation(field, received, intended)):
            out = put(out, path or (field,), intended)
    return out


def always(deviation: Deviation) -> bool:
    """A `Judge` that accepts each deviation."""
    return True
