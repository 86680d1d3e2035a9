"""What calls become at the end: dropped, padded; their arguments kept, emptied, completed, wrapped."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.clients.fields import OWN_STRING, arguments_of, named, readable
from toolstream_core.clients.grouping import Group
from toolstream_core.clients.model import Invalid, Kept, NoObject
from toolstream_core.verdict.compare import INVALID, same, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from toolstream_core.clients.model import ClientModel
    from toolstream_core.protocols.call_form import CallForm


MAX_TEXT: Final = 1 << 15
"""Characters of a text that is looked through; longer ones are not completed."""
_TAKEN_BACK: Final = 24
"""Characters that are taken back one by one, at most: an unfinished number or word."""
_MEMBERS: Final = 8
"""Members that are taken back, at most."""
_MAX_DEPTH: Final = 100
"""Brackets within each other; deeper ones are not completed."""
_DECODER: Final = json.JSONDecoder()
_CLOSING: Final = {"{": "}", "[": "]"}


def head(text: str) -> str:
    """The JSON value that `text` begins with; `""` where it begins with none."""
    begin = len(text) - len(text.lstrip())
    try:
        return text[begin : _DECODER.raw_decode(text, begin)[1]]
    except (ValueError, RecursionError):
        return ""


def listed(text: str) -> str:
    """A list of the JSON values that follow each other in `text`; `""` if there are not several."""
    values: list[str] = []
    while text.strip() and len(text) <= MAX_TEXT:
        if not (found := head(text)):
            return ""
        values.append(found)
        text = text.lstrip()[len(found) :]
    return f"[{','.join(values)}]" if len(values) > 1 else ""


def completed(text: str) -> str:
    """The text with its open string and brackets closed, shortened as little as it takes; `""` where that is none."""
    if found := head(text):
        return found
    if len(text) > MAX_TEXT:
        return ""
    cuts = _Cuts(text)
    return cuts.first_whole(range(len(text), max(len(text) - _TAKEN_BACK, 0), -1)) or cuts.first_whole(cuts.members)


def shortened(text: str) -> str:
    """The text up to its last complete member, with its brackets closed; `""` where that is none."""
    if found := head(text):
        return found
    cuts = _Cuts(text[:MAX_TEXT])
    return cuts.first_whole(cuts.members) if len(text) <= MAX_TEXT else ""


class _Cuts:
    """The places where a text may be cut, and what closes it there."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._closings: dict[int, str] = {}
        self._open: list[str] = []
        self._quoted = self._escaped = False
        ends: list[int] = []
        for at, letter in enumerate(text):
            if len(self._open) > _MAX_DEPTH:
                ends.clear()
                self._closings.clear()
                break
            ends += self._step(at, letter)
            if at + 1 > len(text) - _TAKEN_BACK:
                self._note(at + 1)
        self.members = ends[: -_MEMBERS - 1 : -1]
        """Where a bracket opens, or a member ends, the last ones first."""

    def first_whole(self, cuts: Iterable[int]) -> str:
        """The text up to the first of these places where closing it makes it JSON; `""` where there is none."""
        closed = (self._text[:cut] + self._closings[cut] for cut in cuts if cut in self._closings)
        return next(filter(is_json, closed), "")

    def _step(self, at: int, letter: str) -> list[int]:
        """Pass one letter; where a member may end there, note that place."""
        if self._escaped:
            self._escaped = False
        elif self._quoted:
            self._escaped, self._quoted = letter == "\\", letter != '"'
        elif letter == '"':
            self._quoted = True
        elif letter == ",":
            return [self._note(at)]
        elif letter in _CLOSING:
            self._open.append(_CLOSING[letter])
            return [self._note(at + 1)]
        elif letter in "}]" and self._open:
            self._open.pop()
        return []

    def _note(self, cut: int) -> int:
        self._closings[cut] = ('"' if self._quoted else "") + "".join(reversed(self._open))
        return cut


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
    Invalid.HEAD: _or_empty(head),
    Invalid.COMPLETED: _or_empty(completed),
    Invalid.SHORTENED: _or_empty(shortened),
    Invalid.WRAPPED: _wrapped,
}


def kept_arguments(text: str, invalid: Invalid, no_object: NoObject) -> str:
    """What `text`, the arguments as the client joined them, becomes."""
    if not text.strip() or is_object(text):
        return text
    if not is_json(text):
        return _RULES[invalid](text)
    return _RULES[invalid](text) if no_object is NoObject.INVALID else text


def fits(text: str, invalid: Invalid, no_object: NoObject, echoed: str) -> bool:
    """Whether a client with these rules, whose arguments are `text`, returns `echoed` in its next request."""
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
    if (several := listed(text)) and same(several, echoed):
        return True
    # Some take the space off first, so that a string which was cut off behind one ends without it.
    return same(kept_arguments(text.rstrip(), invalid, no_object), echoed)


def is_valid(text: str) -> bool:
    """Whether arguments are JSON; none at all are."""
    return not text.strip() or value_of(text) is not INVALID


def kept(groups: Sequence[Group], form: CallForm, model: ClientModel) -> list[Group]:
    """The calls that the client keeps in the end, in its order; one that it invents has no entries."""
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
