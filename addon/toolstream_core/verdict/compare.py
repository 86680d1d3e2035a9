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
from toolstream_core.protocols.requests.conversation import EchoedCall
from toolstream_core.verdict.outcome import IntendedCall


def leaves(value: Json) -> Iterator[str]:
    """The strings and numbers in a value, as text."""
    if isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from leaves(inner)
    elif isinstance(value, str | int | float) and not isinstance(value, bool):
        yield str(value)


class Pair(NamedTuple):
    """The place of a sent call, and the call that the client returned for it."""

    place: int
    echoed: EchoedCall


def paired(intended: Sequence[IntendedCall], echoed: Sequence[EchoedCall]) -> list[Pair]:
    """Pairs of sent and returned calls: the most similar first, then in order."""
    values = [value_of(one.arguments) for one in echoed]
    likely = sorted(
        (_unlikeness(call, value, one, values[at]), abs(at - place), place, at)
        for place, call in enumerate(intended)
        for value in [value_of(call.arguments)]
        for at, one in enumerate(echoed)
    )
    pairs: list[Pair] = []
    places: set[int] = set()
    taken: set[int] = set()
    for unlike, _, place, at in likely:
        if unlike < _UNRELATED and place not in places and at not in taken:
            places.add(place)
            taken.add(at)
            pairs.append(Pair(place, echoed[at]))
    return sorted(pairs, key=lambda pair: pair.place)


_UNRELATED = 7


def _unlikeness(call: IntendedCall, value: Json, echoed: EchoedCall, other: Json) -> int:
    """0 for the same call, 7 for one that shares nothing with it; `value` and `other` are their arguments.

    Name and arguments together count more than the id.
    """
    same_id = bool(call.id) and call.id == echoed.id
    same_arguments = call.arguments == echoed.arguments or (value is not INVALID and equal(value, other))
    unlike = _UNRELATED - 3 * same_id - 2 * (call.name == echoed.name) - 2 * same_arguments
    return min(unlike, _UNRELATED - 1) if _is_repeated(call.name, echoed.name) else unlike


def _is_repeated(sent: str, again: str) -> bool:
    """Whether a returned name is a repetition of the sent one."""
    times = len(again) // (len(sent) or 1)
    return times > 1 and again == sent * times


def is_same(call: IntendedCall, echoed: EchoedCall) -> bool:
    """Whether a call was returned as intended, with any id."""
    return call.name == echoed.name and same(call.arguments, echoed.arguments)


def are_as_sent(calls: Sequence[IntendedCall], echoed: Sequence[EchoedCall]) -> bool:
    """Whether all calls were returned as intended, with their ids, and no others."""
    return len(calls) == len(echoed) and all(
        any(is_same(call, one) and one.id in (None, call.id) for one in echoed) for call in calls
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


def is_completed(call: IntendedCall, echoed: EchoedCall, others: Sequence[IntendedCall]) -> bool:
    """Whether arguments were returned with what a schema adds or removes: defaults, and members that are `null`.

    A member whose values are those of another call was not added by a schema.
    """
    sent, again = value_of(call.arguments), value_of(echoed.arguments)
    if not sent or not isinstance(sent, dict) or not isinstance(again, dict):
        return False
    if any(key not in again or not equal(value, again[key]) for key, value in sent.items() if value is not None):
        return False
    foreign = {leaf for other in others for leaf in leaves(value_of(other.arguments))}
    return not any(leaf in foreign for key, value in again.items() if key not in sent for leaf in leaves(value))


def count_returned(calls: Sequence[IntendedCall], echoed: Sequence[EchoedCall]) -> int:
    """How many calls were returned as intended, with any ids."""
    left = list(echoed)
    for call in calls:
        found = next((one for one in left if is_same(call, one)), None)
        if found is not None:
            left.remove(found)
    return len(echoed) - len(left)


def is_part(call: IntendedCall, pair: Pair, echoed: EchoedCall) -> bool:
    """Whether a further returned call is part of a call that `pair` returned only in part."""
    if is_same(call, pair.echoed) or is_same(call, echoed):
        return False
    return _has_part(call, pair.echoed) and _has_part(call, echoed)


def _has_part(call: IntendedCall, echoed: EchoedCall) -> bool:
    """Whether the name and the arguments that are given are those of the call, or parts of them."""
    if echoed.name and echoed.name not in call.name:
        return False
    if value_of(echoed.arguments) == {} or same(call.arguments, echoed.arguments):
        return True
    dense = _dense(call.arguments)
    return any(text and text in dense for text in _texts(echoed))


def is_merged(call: IntendedCall, other: IntendedCall, echoed: EchoedCall) -> bool:
    """Whether a returned call merges two: both arguments in one text, both names in one, or parts of both."""
    if echoed.name in (call.name + other.name, other.name + call.name):
        return True
    if call.name != other.name and not same(call.arguments, other.arguments):
        named, given = (call, other) if echoed.name == call.name else (other, call)
        if echoed.name == named.name and same(echoed.arguments, given.arguments):
            return True
    parts = [_dense(part.arguments) for part in (call, other)]
    if not all(len(part) > len("{}") for part in parts):
        return False
    return any(all(part in text for part in parts) and text not in parts for text in _texts(echoed))


def _texts(echoed: EchoedCall) -> Iterator[str]:
    """The arguments as text, and the strings in their JSON, since some clients wrap invalid arguments."""
    yield _dense(echoed.arguments)
    value = value_of(echoed.arguments)
    if value is not INVALID:
        yield from map(_dense, leaves(value))


def _dense(text: str) -> str:
    return "".join(text.split())


_ESCAPES: Final = re.compile(r"\\+")


def is_in_text(call: IntendedCall, text: str) -> bool:
    """Whether a text has the name of the tool and each value of its arguments."""
    if not call.name or call.name not in text:
        return False
    value = value_of(call.arguments)
    flat = _flat(text)
    return all(_is_written(leaf, flat) for leaf in leaves({} if value is INVALID else value))


def is_partly_in_text(call: IntendedCall, text: str) -> bool:
    """Whether a text has the name of an incomplete call's tool, and the arguments that were sent."""
    if call.complete or not call.arguments or call.name not in text:
        return False
    return _is_written(call.arguments, _flat(text))


def _is_written(value: str, flat: str) -> bool:
    return any(_flat(way) in flat for way in _ways(value))


def _ways(value: str) -> Iterator[str]:
    """The notations of a value."""
    yield value.removesuffix(".0")
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield repr(value)[1:-1]


def _flat(text: str) -> str:
    """The text without the backslashes that nested escapes add."""
    return _ESCAPES.sub(r"\\", text)
