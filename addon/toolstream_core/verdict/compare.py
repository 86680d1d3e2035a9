"""Compares arguments as JSON values, sent calls with returned ones, and calls with the text of messages."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from toolstream_core.calls.json_text import INVALID, equal, same, value_of
from toolstream_core.calls.parameters import plain_name
from toolstream_core.model import Json
from toolstream_core.protocols.requests.conversation import ReturnedCall
from toolstream_core.verdict.outcome import IntendedCall


def leaves(value: Json) -> Iterator[str]:
    """The strings and numbers in a value, as text."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


class Pair(NamedTuple):
    """The position of a sent call, and the call that the client returned for it."""

    place: int
    returned: ReturnedCall


def paired(intended: Sequence[IntendedCall], returned: Sequence[ReturnedCall]) -> list[Pair]:
    """Pairs of sent and returned calls: the most similar first, then in order."""
    values = [value_of(one.arguments) for one in returned]
    likely = sorted(
        (_unlikeness(call, value, one, values[at]), abs(at - place), place, at)
        for place, call in enumerate(intended)
        for value in [value_of(call.arguments)]
        for at, one in enumerate(returned)
    )
    pairs: list[Pair] = []
    places: set[int] = set()
    taken: set[int] = set()
    for unlike, _, place, at in likely:
        if unlike < _UNRELATED and place not in places and at not in taken:
            places.add(place)
            taken.add(at)
            pairs.append(Pair(place, returned[at]))
    return sorted(pairs, key=lambda pair: pair.place)


_UNRELATED = 7


def _unlikeness(call: IntendedCall, value: Json, returned: ReturnedCall, other: Json) -> int:
    """0 for the same call, 7 for one that shares nothing with it; `value` and `other` are their arguments.

    Name and arguments together count more than the id.
    """
    same_id = bool(call.id) and call.id == returned.id
    same_arguments = call.arguments == returned.arguments or (value is not INVALID and equal(value, other))
    unlike = _UNRELATED - 3 * same_id - 2 * (call.name == returned.name) - 2 * same_arguments
    return min(unlike, _UNRELATED - 1) if is_repeated(call.name, returned.name) else unlike


def is_repeated(sent: str, again: str) -> bool:
    """Whether a returned name or id is the sent one, repeated without a separator."""
    times = len(again) // (len(sent) or 1)
    return times > 1 and again == sent * times


def is_same(call: IntendedCall, returned: ReturnedCall) -> bool:
    """Whether a call was returned as intended, with any id."""
    return call.name == returned.name and same(call.arguments, returned.arguments)


def are_returned_as_sent(calls: Sequence[IntendedCall], returned: Sequence[ReturnedCall]) -> bool:
    """Whether all calls were returned as intended, with their ids, and no others."""
    return len(calls) == len(returned) and all(
        any(is_same(call, one) and one.id in (None, call.id) for one in returned) for call in calls
    )


_NAMESPACE_ENDS: Final = re.compile(r"(?:__|[./:])$")


def is_name_of(sent: str, again: str) -> bool:
    """Whether a returned name is the one that was sent, with or without a namespace or other characters around it."""
    longer, shorter = (sent, again) if len(sent) > len(again) else (again, sent)
    if not shorter:
        return False
    if plain_name(longer, (shorter,)) == shorter:
        return True
    return longer.endswith(shorter) and bool(_NAMESPACE_ENDS.search(longer.removesuffix(shorter)))


def is_completed(call: IntendedCall, returned: ReturnedCall, others: Sequence[IntendedCall]) -> bool:
    """Whether arguments were returned with defaults of a schema, or without members that are `null`.

    A member whose values are those of another call was not added by a schema.
    """
    sent, again = value_of(call.arguments), value_of(returned.arguments)
    if not sent or not isinstance(sent, dict) or not isinstance(again, dict):
        return False
    if any(key not in again or not equal(value, again[key]) for key, value in sent.items() if value is not None):
        return False
    foreign = {leaf for other in others for leaf in leaves(value_of(other.arguments))}
    return not any(leaf in foreign for key, value in again.items() if key not in sent for leaf in leaves(value))


def count_returned(calls: Sequence[IntendedCall], returned: Sequence[ReturnedCall]) -> int:
    """How many calls were returned as intended, with any ids."""
    left = list(returned)
    for call in calls:
        found = next((one for one in left if is_same(call, one)), None)
        if found is not None:
            left.remove(found)
    return len(returned) - len(left)


def is_part(call: IntendedCall, pair: Pair, returned: ReturnedCall) -> bool:
    """Whether another returned call is a part of a call that `pair` also has only in part."""
    if is_same(call, pair.returned) or is_same(call, returned):
        return False
    return _has_part(call, pair.returned) and _has_part(call, returned)


def _has_part(call: IntendedCall, returned: ReturnedCall) -> bool:
    """Whether the name and arguments are those of the call, or parts of them."""
    if returned.name and returned.name not in call.name:
        return False
    if value_of(returned.arguments) == {} or same(call.arguments, returned.arguments):
        return True
    dense = _without_spaces(call.arguments)
    return any(text and text in dense for text in _texts(returned))


def is_merged(call: IntendedCall, other: IntendedCall, returned: ReturnedCall) -> bool:
    """Whether a returned call merges two: the names or arguments of both, or parts of both."""
    if returned.name in (call.name + other.name, other.name + call.name):
        return True
    if call.name != other.name and not same(call.arguments, other.arguments):
        named, given = (call, other) if returned.name == call.name else (other, call)
        if returned.name == named.name and same(returned.arguments, given.arguments):
            return True
    parts = [_without_spaces(part.arguments) for part in (call, other)]
    if not all(len(part) > len("{}") for part in parts):
        return False
    return any(all(part in text for part in parts) and text not in parts for text in _texts(returned))


def _texts(returned: ReturnedCall) -> Iterator[str]:
    """The arguments as text, and the strings in their JSON, since some clients wrap invalid arguments."""
    yield _without_spaces(returned.arguments)
    value = value_of(returned.arguments)
    if value is not INVALID:
        yield from map(_without_spaces, leaves(value))


def _without_spaces(text: str) -> str:
    return "".join(text.split())


_ESCAPES: Final = re.compile(r"\\+")


def is_in_text(call: IntendedCall, text: str) -> bool:
    """Whether a text has the name of the tool and each value of its arguments."""
    if not call.name or call.name not in text:
        return False
    value = value_of(call.arguments)
    flat = _without_backslashes(text)
    return all(_is_written(leaf, flat) for leaf in leaves({} if value is INVALID else value))


def is_partly_in_text(call: IntendedCall, text: str) -> bool:
    """Whether a text has the name of an incomplete call's tool, and the arguments that were sent."""
    if call.complete or not call.arguments or call.name not in text:
        return False
    return _is_written(call.arguments, _without_backslashes(text))


def _is_written(value: str, flat: str) -> bool:
    return any(_without_backslashes(way) in flat for way in _notations(value))


def _notations(value: str) -> Iterator[str]:
    """The notations of a value."""
    yield value.removesuffix(".0")
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield repr(value)[1:-1]


def _without_backslashes(text: str) -> str:
    """The text without the backslashes that nested escapes add."""
    return _ESCAPES.sub(r"\\", text)
