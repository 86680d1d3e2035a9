"""What becomes of calls at the end: dropped, padded; their arguments kept, emptied, completed, wrapped."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.clients import partial_json
from toolstream_core.clients.fields import OWN_STRING, arguments_of, named, readable
from toolstream_core.clients.model import Invalid, Kept, NoObject
from toolstream_core.clients.opened import Group
from toolstream_core.verdict.compare import INVALID, same, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from toolstream_core.clients.model import ClientModel
    from toolstream_core.protocols.call_form import CallForm

WRAPPED: Final = "INVALID_JSON"
"""The name that Pydantic AI gives arguments that are not JSON; each client has its own."""

MAX_PADDED: Final = 128
"""Places that a list of calls is filled up to."""
_OWN_STRINGS: Final = re.compile(r"Array|map\[.*\]|\{.*\}", re.DOTALL)
"""How other languages than JavaScript write an object: PHP, Go; Python, Java, Ruby."""


def _empty(text: str) -> str:
    del text
    return "{}"


def _or_empty(made: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: made(text) or "{}"


def _wrapped(text: str) -> str:
    return json.dumps({WRAPPED: text}, ensure_ascii=False)


def _raw(text: str) -> str:
    return text


_RULES: Final[Mapping[Invalid, Callable[[str], str]]] = {
    Invalid.RAW: _raw,
    Invalid.EMPTY: _empty,
    Invalid.HEAD: _or_empty(partial_json.head),
    Invalid.COMPLETED: _or_empty(partial_json.completed),
    Invalid.SHORTENED: _or_empty(partial_json.shortened),
    Invalid.WRAPPED: _wrapped,
}


def kept_arguments(text: str, invalid: Invalid, no_object: NoObject) -> str:
    """What the client makes of `text`, its arguments as it put them together."""
    if not text.strip() or is_object(text):
        return text
    if not is_json(text):
        return _RULES[invalid](text)
    return _RULES[invalid](text) if no_object is NoObject.INVALID else text


def fits(text: str, invalid: Invalid, no_object: NoObject, echoed: str) -> bool:
    """Whether a client with these rules, whose arguments are `text`, says `echoed` in its next request."""
    made = kept_arguments(text, invalid, no_object)
    if same(made, echoed) or made.strip() == echoed.strip():
        return True
    if made == OWN_STRING:
        return bool(_OWN_STRINGS.fullmatch(echoed.strip())) and not is_json(echoed)
    if made == text or is_object(text):
        return False
    if invalid is Invalid.WRAPPED:
        value = value_of(echoed)
        return value == text or (isinstance(value, dict) and text in value.values())
    if invalid is not Invalid.COMPLETED:
        return False
    # Some parsers make a list of several values.
    if (several := partial_json.listed(text)) and same(several, echoed):
        return True
    # Some take the space off first, so that a string which was cut off behind one ends without it.
    return same(kept_arguments(text.rstrip(), invalid, no_object), echoed)


def is_valid(text: str) -> bool:
    """Whether arguments are JSON; none at all are."""
    return not text.strip() or value_of(text) is not INVALID


def kept(groups: Sequence[Group], form: CallForm, model: ClientModel) -> list[Group]:
    """The calls that the client keeps in the end, in its order; one that it makes up has no entries."""
    known = [one for one in groups if readable(one, model.source)]
    match model.kept:
        case Kept.ALL:
            return known
        case Kept.PADDED:
            return _padded(known)
        case Kept.NAMED:
            return [one for one in known if named(one)]
        case Kept.WITH_ID:
            return [one for one in known if one.id]
        case Kept.FIRST:
            return known[:1]
        case Kept.LAST:
            return known[-1:]
    return [one for one in known if is_valid(arguments_of(one, form, model.source, model.arguments, model.objects))]


def _padded(groups: Sequence[Group]) -> list[Group]:
    """The calls at the places that their indexes say, and empty ones where there is none."""
    places = {one.index: one for one in groups if one.index is not None and 0 <= one.index < MAX_PADDED}
    if len(places) < len(groups):
        return list(groups)
    return [places.get(place) or Group(place, place) for place in range(max(places, default=-1) + 1)]
