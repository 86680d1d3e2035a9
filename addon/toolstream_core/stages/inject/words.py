"""Tests and values for causes. Knows no protocol."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, Final

from toolstream_core.calls import OpenCall
from toolstream_core.calls.parameters import Parameters
from toolstream_core.model import ABSENT, Json
from toolstream_core.stages.inject.codec import What
from toolstream_core.stages.inject.rule import FRAGMENTS, At, Test, Value, new
from toolstream_core.wire import numbers

_EMPTY: Final = (None, ABSENT, "")


# Tests.


def has_text(at: At) -> bool:
    """It has a fragment of the arguments."""
    return bool(at.text)


TEXT: Final = FRAGMENTS & has_text
"""Events with a fragment of the arguments."""


def first_call(at: At) -> bool:
    """It belongs to the first call."""
    return at.call is at.first


def later_call(at: At) -> bool:
    """It belongs to another call than the first."""
    return at.call is not at.first


def several_calls(at: At) -> bool:
    """More than one call has begun."""
    return len(at.calls) > 1


def has_calls(at: At) -> bool:
    """A call precedes it."""
    return bool(at.calls)


def completes(at: At) -> bool:
    """It completes the arguments."""
    return at.call.arguments.is_complete


def is_open(at: At) -> bool:
    """It does not complete the arguments."""
    return not completes(at)


def continues(at: At) -> bool:
    """It is not the first fragment of the arguments."""
    return at.call.arguments.size > len(at.text)


def is_object(at: At) -> bool:
    """The arguments so far are one JSON object."""
    return as_object(at) is not None


def astral(at: At) -> bool:
    """It has a character outside the basic plane."""
    return split_surrogates(at.text) is not None


def contains(text: str) -> Test:
    """Its fragment contains a text."""
    return lambda at: text in at.text


def has(name: str) -> Test:
    """It has the field, and not as null or an empty string."""
    return lambda at: at.get(name) not in _EMPTY


def has_members(at: At) -> bool:
    """Its arguments are an object that is not empty."""
    arguments = at.get("arguments")
    return isinstance(arguments, dict) and bool(arguments)


def has_no_members(at: At) -> bool:
    """The call's arguments so far are `{}`, and its tool may be called without any."""
    return at.call.arguments.text().strip() == "{}" and at.context.may_be_empty(at.call.name)


def has_event_line(at: At) -> bool:
    """Its type is in its event line, too; a message of a WebSocket has none."""
    return at.frame.name == at.get("type") and not at.frame.raw.startswith(b"{")


def equals(name: str, value: Json) -> Test:
    """It has this value in the field."""
    return lambda at: bool(at.get(name) == value)


def lacks(name: str) -> Test:
    """It does not have the field, or as null or an empty string."""
    return lambda at: at.get(name) in _EMPTY


def known(name: str) -> Test:
    """Its call has the property."""
    return lambda at: bool(getattr(at.call, name))


def offered(at: At) -> bool:
    """The request offers the tool."""
    return at.call.name in at.context.schemas


def takes_parameters(at: At) -> bool:
    """The tool has parameters, or is unknown."""
    return not at.context.has_no_parameters(at.call.name)


def bare_start(at: At) -> bool:
    """The first event of its call had no arguments."""
    return at.start is not None and not at.protocol.get(at.start, "arguments")


def has_earlier_id(at: At) -> bool:
    """The request has a call of an earlier turn."""
    return earlier_id(at) is not None


def acted(at: At) -> bool:
    """The cause has replaced an event before."""
    return at.acted > 0


def not_acted(at: At) -> bool:
    """The cause has not replaced an event yet."""
    return not at.acted


# Values.


def own(name: str) -> Value:
    """A property of its call."""
    return lambda at: getattr(at.call, name)


def of_first(name: str) -> Value:
    """A property of the first call."""
    return lambda at: getattr(at.first, name)


def appended(text: str) -> Callable[[str], str]:
    """Appends a text."""
    return lambda was: f"{was}{text}"


def changed(name: str, change: Callable[[Any], Json]) -> Value:
    """A change of the field's value; a missing or empty field stays as it is."""
    return lambda at: at.get(name) if at.get(name) in _EMPTY else change(at.get(name))


def plus(number: int) -> Value:
    """The index plus a number."""
    return lambda at: at.get("index") + number if isinstance(at.get("index"), int) else at.get("index")


def unused_index(at: At) -> int:
    """An index that no call uses."""
    return 100 + at.call.position


def text(change: Callable[[str], Json] = str) -> Value:
    """A change of its fragment."""
    return lambda at: change(at.text)


def so_far(at: At) -> str:
    """The arguments up to its fragment, inclusive."""
    return at.call.arguments.text()


def all_arguments(at: At) -> str:
    """The arguments of its call, as interpreted."""
    return at.call.arguments.reading()[0]


def as_object(at: At) -> Json:
    """The arguments of its call as an object; `None` until they are complete."""
    return complete_arguments(at.call)


def snapshot(share: float) -> Value:
    """The arguments of its call with only the beginning of each text."""
    return lambda at: as_json(_state(as_object(at), share))


def has_snapshots(at: At) -> bool:
    """Its arguments are complete, and have texts that grew."""
    value = as_object(at)
    return bool(value) and _state(value, 0.5) != value


def has_own_parameters(at: At) -> bool:
    """The tool has required parameters, and none that a call itself has."""
    return Parameters.of(at.context.schemas.get(at.call.name)).tells_calls


_BEGINNING: Final = re.compile(r'\s*\{\s*"?')


def begins_parameter(at: At) -> bool:
    """Its fragment begins the arguments with a parameter of the tool."""
    known, begin = Parameters.of(at.context.schemas.get(at.call.name)), _BEGINNING.match(at.text)
    if begin is None or continues(at) or not known.required:
        return False
    rest = at.text[begin.end() :]
    return not rest or known.lost_beginning(rest) != ""


def without_beginning(text: str) -> str:
    """The text without `{"`."""
    return _BEGINNING.sub("", text, count=1)


def enveloped(at: At) -> str:
    """Its fragment, as a part of the complete call."""
    return _envelope(at.call.name, at.text, first=not continues(at), last=completes(at))


def all_enveloped(at: At) -> str:
    """The complete call."""
    return _envelope(at.call.name, all_arguments(at), first=True, last=True)


def in_envelope(at: At) -> Json:
    """The complete call, as an object."""
    return {"name": at.call.name, "arguments": at.get("arguments")}


def _envelope(name: str, text: str, *, first: bool, last: bool) -> str:
    return f"{f'{{"name": {json.dumps(name)}, "arguments": ' if first else ''}{text}{'}' if last else ''}"


def quoted(at: At) -> str:
    """Its fragment, as a part of a JSON string."""
    return double_encoded(at.text, first=not continues(at), last=completes(at))


def surrogate_part(which: int) -> Callable[[str], str]:
    """The text before or after a cut inside its first character outside the basic plane."""
    return lambda text: (split_surrogates(text) or (text, ""))[which]


def line_feed_at_end(text: str) -> str:
    """The text with a raw line feed in its last string."""
    return text.replace('"}', '\n"}', 1)


def as_json(value: Json) -> str:
    """A value as JSON text."""
    return json.dumps(value, ensure_ascii=False)


def earlier_id(at: At) -> str | None:
    """The id of a call of an earlier turn."""
    return min(at.context.earlier_ids, default=None)


def complete_reason(at: At) -> str:
    """The finish reason of a response without calls."""
    return at.protocol.complete


def cut_data(at: At) -> bytes:
    """The data of the event without its last byte."""
    return (at.frame.data or b"")[:-1]


AGAIN: Final = new(What.START, id=own("id"), name=own("name"), arguments=all_arguments)
"""The complete call in one event."""


# Argument texts as malformed providers send them.


def complete_arguments(call: OpenCall) -> dict[str, Any] | None:
    """The arguments of a call; `{}` for none, `None` until they are one JSON object."""
    if call.arguments.empty:
        return {}
    try:
        value = numbers.loads(call.arguments.reading()[0]) if call.arguments.is_complete else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def double_encoded(text: str, *, first: bool, last: bool) -> str:
    """A part of the arguments as escaped in a JSON string; the quotes are in the first and in the last part."""
    return f"{'"' if first else ''}{json.dumps(text, ensure_ascii=False)[1:-1]}{'"' if last else ''}"


def split_surrogates(text: str) -> tuple[str, str] | None:
    """A text cut inside its first character outside the basic plane; `None` if it has none."""
    at = next((place for place, character in enumerate(text) if character > "\uffff"), -1)
    if at < 0:
        return None
    high, low = divmod(ord(text[at]) - 0x10000, 0x400)
    return text[:at] + chr(0xD800 + high), chr(0xDC00 + low) + text[at + 1 :]


def _state(value: Any, share: float) -> Any:
    """A value with only the first part of each text."""
    if isinstance(value, dict):
        return {key: _state(part, share) for key, part in value.items()}
    if isinstance(value, list):
        return [_state(part, share) for part in value]
    return value[: int(len(value) * share)] if isinstance(value, str) else value


def without_end(text: str) -> str:
    """A text without its last character, which closes the arguments."""
    return text.rstrip()[:-1]


def deltas(text: str, size: int = 7) -> list[str]:
    """A text as providers split it into deltas of `size` characters: inside tags and tokens too."""
    return [text[at : at + size] for at in range(0, len(text), size)]
