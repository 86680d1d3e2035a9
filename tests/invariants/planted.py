"""Unknown keys planted in the objects of streams, and what became of them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.wire.body import BodyFraming
from toolstream_core.wire.write import Writer, writer_for

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.wire.frame import Frame

VALUES: Final = frozenset(
    {"args", "arguments", "input", "partialArgs", "parameters", "partial_json", "tokens", "usage", "usageMetadata"}
)
"""Keys whose objects are values: nothing is planted in them."""
TEXTS: Final = (
    '"a {0}"',
    '{{"n":{0},"v":1.0e2}}',
    "[12345678901234567890,{0}]",
    '"\\u00e9\\/ {0}"',
    'null,"{1}":"{0}"',
)
"""The values of planted keys: plain text, numbers as few programs write them, escapes, and a key that occurs twice."""
_KEY: Final = re.compile(r"x\d+x")
_NUMBERS: Final = ("index", "contentBlockIndex", "output_index")


class Plant(NamedTuple):
    """An unknown key in an object of an event."""

    event: int
    """The event's place in the stream."""
    place: str
    """The path of the object in the event, without indexes: "" is the event itself."""
    key: str
    text: str
    """The key and its value, as they are in the stream."""


class Planted(NamedTuple):
    """A stream with unknown keys."""

    body: bytes
    plants: list[Plant]


def objects(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of an event that have a place in the protocol, each with its path."""
    if isinstance(value, list):
        for one in value:
            yield from objects(one, path)
    elif isinstance(value, dict):
        yield ".".join(path), value
        for key, one in list(value.items()):
            if key not in VALUES:
                yield from objects(one, (*path, key))


def planted(body: bytes, content_type: str, place: str | None = None, *, spelled: bool = False) -> Planted:
    """The stream with a key in each object, or in those at one place. `spelled`: with values of all `TEXTS`."""
    frames, writer = frames_of(body, content_type)
    out: list[bytes] = []
    plants: list[Plant] = []
    for event, frame in enumerate(frames):
        payload = frame.json
        first = len(plants)
        for at, one in objects(payload) if writer is not None else ():
            if place is None or at == place:
                number = len(plants)
                key = f"x{number}x"
                value = TEXTS[number % len(TEXTS) if spelled else 0].format(number, key)
                plants.append(Plant(event, at, key, f'"{key}":{value}'))
                entries = list(one.items())
                one.clear()
                one.update([*entries[:1], (key, "planted"), *entries[1:]])
        if first == len(plants) or writer is None:
            out.append(frame.raw)
            continue
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        for plant in plants[first:]:
            text = text.replace(f'"{plant.key}":"planted"', plant.text)
        out.append(writer.rewrite(frame, text.encode("utf-8", "surrogatepass")).raw)
    return Planted(b"".join(out), plants)


def places(body: bytes, content_type: str) -> list[str]:
    """The places of the stream's objects."""
    return sorted({plant.place for plant in planted(body, content_type).plants})


class Miscounted(NamedTuple):
    """The keys that are not in a stream exactly once, as they were written."""

    lost: list[Plant]
    repeated: list[Plant]


def miscounted(plants: list[Plant], body: bytes, content_type: str) -> Miscounted:
    """Count the keys of a stream."""
    text = b"\n".join(frame.data or b"" for frame in frames_of(body, content_type)[0]).decode("utf-8", "replace")
    lost = [one for one in plants if one.text not in text]
    repeated = [one for one in plants if text.count(f'"{one.key}":') > one.text.count(f'"{one.key}":')]
    return Miscounted(lost, repeated)


def owners(body: bytes, content_type: str) -> dict[tuple[str, str], list[str]]:
    """The planted keys of a stream in their order, by the name of the call that the object belongs to, and its place.

    Objects of several events may be joined, so there is no order between keys of objects at two places.
    """
    names: dict[tuple[str, int], str] = {}
    found: dict[tuple[str, str], list[str]] = {}
    for frame in frames_of(body, content_type)[0]:
        for keys, holders in _holders(frame.json, "", ()):
            owner = next((name for place, one in holders if (name := _name(place, one, names)) is not None), "")
            found.setdefault((owner, holders[0][0]), []).extend(keys)
    return {owner: keys for owner, keys in found.items() if keys}


def _holders(
    value: Any, place: str, outer: tuple[tuple[str, dict[str, Any]], ...]
) -> Iterator[tuple[list[str], tuple[tuple[str, dict[str, Any]], ...]]]:
    """The planted keys of each object, with the object and those that it is in, from the inside out."""
    if isinstance(value, list):
        for one in value:
            yield from _holders(one, place, outer)
    elif isinstance(value, dict):
        around = ((place, value), *outer)
        yield [key for key in value if _KEY.fullmatch(key)], around
        for key, one in value.items():
            if key not in VALUES:
                yield from _holders(one, f"{place}.{key}", around)


def _name(place: str, one: dict[str, Any], names: dict[tuple[str, int], str]) -> str | None:
    """The name of the call that an object belongs to, if the object says it or has a number; else `None`."""
    number = next((one[key] for key in _NUMBERS if isinstance(one.get(key), int)), None)
    said = _said(one)
    if number is None:
        return said
    if said is not None and (place, number) not in names:
        names[place, number] = said
    return names.get((place, number), "")


def _said(value: Any) -> str | None:
    """The first name that is said in an object."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("name"), str):
        return str(value["name"])
    return next((name for key, one in value.items() if key not in VALUES and (name := _said(one))), None)


def frames_of(body: bytes, content_type: str) -> tuple[list[Frame], Writer | None]:
    """The frames of a body, and what writes such frames; nothing where it is not framed."""
    framing = BodyFraming(content_type)
    rest = framing.open(body, ended=True)
    framer = framing.framer
    return ([], None) if framer is None else ([*framer.feed(rest), *framer.feed(b"")], writer_for(framer))
