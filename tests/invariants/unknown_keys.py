"""Inserts unknown keys into the objects of streams, and finds them in rewritten streams."""

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
"""Keys whose objects are values: no unknown keys are inserted in them."""
TEXTS: Final = (
    '"a {0}"',
    '{{"n":{0},"v":1.0e2}}',
    "[12345678901234567890,{0}]",
    '"\\u00e9\\/ {0}"',
    'null,"{1}":"{0}"',
)
"""The values of unknown keys: plain text, uncommon number formats, escapes, and a repeated key."""
_KEY: Final = re.compile(r"x\d+x")
_INDEXES: Final = ("index", "contentBlockIndex", "output_index")


class UnknownKey(NamedTuple):
    """An unknown key in an object of an event."""

    event: int
    """The position of the event in the stream."""
    place: str
    """The path of the object in the event, without indexes: "" is the event itself."""
    key: str
    text: str
    """The key and its value as JSON text."""


class Extended(NamedTuple):
    """A stream with unknown keys."""

    body: bytes
    keys: list[UnknownKey]


def objects(value: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects of an event that the protocol defines, each with its path."""
    if isinstance(value, list):
        for one in value:
            yield from objects(one, path)
    elif isinstance(value, dict):
        yield ".".join(path), value
        for key, one in list(value.items()):
            if key not in VALUES:
                yield from objects(one, (*path, key))


def extended(body: bytes, content_type: str, place: str | None = None, *, all_values: bool = False) -> Extended:
    """Insert a key into each object, or into the objects at one place. With `all_values`, use values of all `TEXTS`."""
    frames, writer = frames_of(body, content_type)
    out: list[bytes] = []
    keys: list[UnknownKey] = []
    for event, frame in enumerate(frames):
        payload = frame.json
        first = len(keys)
        for at, one in objects(payload) if writer is not None else ():
            if place is None or at == place:
                number = len(keys)
                key = f"x{number}x"
                value = TEXTS[number % len(TEXTS) if all_values else 0].format(number, key)
                keys.append(UnknownKey(event, at, key, f'"{key}":{value}'))
                entries = list(one.items())
                one.clear()
                one.update([*entries[:1], (key, "unknown"), *entries[1:]])
        if first == len(keys) or writer is None:
            out.append(frame.raw)
            continue
        text = json.dumps(payload, ensure_ascii=False, separators=(",", ":"))
        for inserted_key in keys[first:]:
            text = text.replace(f'"{inserted_key.key}":"unknown"', inserted_key.text)
        out.append(writer.rewrite(frame, text.encode("utf-8", "surrogatepass")).raw)
    return Extended(b"".join(out), keys)


def places(body: bytes, content_type: str) -> list[str]:
    """Return the places of the stream's objects."""
    return sorted({inserted_key.place for inserted_key in extended(body, content_type).keys})


class Miscounted(NamedTuple):
    """The keys that a stream does not contain exactly once, unchanged."""

    lost: list[UnknownKey]
    repeated: list[UnknownKey]


def miscounted(keys: list[UnknownKey], body: bytes, content_type: str) -> Miscounted:
    """Find the keys that are lost or repeated."""
    text = b"\n".join(frame.data or b"" for frame in frames_of(body, content_type)[0]).decode("utf-8", "replace")
    lost = [one for one in keys if one.text not in text]
    repeated = [one for one in keys if text.count(f'"{one.key}":') > one.text.count(f'"{one.key}":')]
    return Miscounted(lost, repeated)


def keys_by_call(body: bytes, content_type: str) -> dict[tuple[str, str], list[str]]:
    """Return the unknown keys of a stream in their order, grouped by the name of the object's call and by place.

    Objects of several events may be merged, so the order between keys at two places is not fixed.
    """
    names: dict[tuple[str, int], str] = {}
    found: dict[tuple[str, str], list[str]] = {}
    for frame in frames_of(body, content_type)[0]:
        for keys, chain in _chains(frame.json, "", ()):
            call_name = next((name for place, one in chain if (name := _name(place, one, names)) is not None), "")
            found.setdefault((call_name, chain[0][0]), []).extend(keys)
    return {group: keys for group, keys in found.items() if keys}


def _chains(
    value: Any, place: str, outer: tuple[tuple[str, dict[str, Any]], ...]
) -> Iterator[tuple[list[str], tuple[tuple[str, dict[str, Any]], ...]]]:
    """Yield the unknown keys of each object, with the object and its parents, innermost first."""
    if isinstance(value, list):
        for one in value:
            yield from _chains(one, place, outer)
    elif isinstance(value, dict):
        around = ((place, value), *outer)
        yield [key for key in value if _KEY.fullmatch(key)], around
        for key, one in value.items():
            if key not in VALUES:
                yield from _chains(one, f"{place}.{key}", around)


def _name(place: str, one: dict[str, Any], names: dict[tuple[str, int], str]) -> str | None:
    """Return the call name in an object, or of its index; `None` if it has neither."""
    number = next((one[key] for key in _INDEXES if isinstance(one.get(key), int)), None)
    call_name = _first_name(one)
    if number is None:
        return call_name
    if call_name is not None and (place, number) not in names:
        names[place, number] = call_name
    return names.get((place, number), "")


def _first_name(value: Any) -> str | None:
    """Return the first name in an object."""
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("name"), str):
        return str(value["name"])
    return next((name for key, one in value.items() if key not in VALUES and (name := _first_name(one))), None)


def frames_of(body: bytes, content_type: str) -> tuple[list[Frame], Writer | None]:
    """Return the frames of a body and a writer for them; no frames and `None` if the body has no framing."""
    framing = BodyFraming(content_type)
    rest = framing.open(body, ended=True)
    framer = framing.framer
    return ([], None) if framer is None else ([*framer.feed(rest), *framer.feed(b"")], writer_for(framer))
