"""The id, name and arguments of calls as a client reads them, and how it treats invalid arguments."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from toolstream_core.calls.arguments import JoinedText
from toolstream_core.calls.json_text import INVALID, is_json, is_object, same, value_of
from toolstream_core.calls.open_call import nonblank
from toolstream_core.clients.grouping import ALONE, Group
from toolstream_core.clients.model import (
    Arguments,
    ClientModel,
    Entry,
    Id,
    Invalid,
    Kept,
    Name,
    NoObject,
    Objects,
    Source,
)
from toolstream_core.model import Fragment, Kind, Phase, Seen
from toolstream_core.protocols.protocol import CallForm


class Edit(NamedTuple):
    """The change of a text by an entry."""

    text: str
    appended: bool
    """Whether it is appended; else it replaces the text so far."""


class Value:
    """A text that a client collects entry by entry."""

    __slots__ = ("_count", "_parts", "_rank", "_rule", "size")

    def __init__(self, rule: Name | Id | Arguments) -> None:
        self._rule = rule.name
        self._parts = JoinedText()
        self._rank = self._count = 0
        self.size = 0
        """Characters of the text."""

    def take(self, seen: Seen[str], rank: int = 0, *, complete: bool = False) -> Edit | None:
        """Take the text of an entry; `None` if that changes nothing.

        Entries of a higher rank replace those of lower ranks, which do not count from then on. `complete`: the entry
        has the complete text, with any rule.
        """
        if rank < self._rank:
            return None
        anew = rank > self._rank
        if not anew and self._count and not isinstance(seen, str):
            return None
        if anew:
            self._rank, self._count = rank, 0
        self._count += 1
        text = seen if isinstance(seen, str) else None
        edit = Edit(text or "", appended=False) if complete else self._edit(text, begun=not anew and self.size > 0)
        if anew and (edit is None or edit.appended):
            edit = Edit("" if edit is None else edit.text, appended=False)
        return edit and self._applied(edit)

    def text(self) -> str:
        return self._parts.text()

    def same_as(self, other: Value) -> bool:
        return self.size == other.size and self.text() == other.text()

    def _edit(self, text: str | None, *, begun: bool) -> Edit | None:
        match self._rule:
            case "FIRST" | "OWN" | "UNIQUE":  # the meaning of a generated id
                return Edit(text, appended=False) if text and not begun else None
            case "JOINED":
                return Edit(text, appended=True) if text else None
            case "AFTER_OPENING":
                return Edit(text, appended=True) if text and (self._rank or self._count > 1) else None
            case "LAST" | "ITEM":
                return Edit(text, appended=False) if text else None
            case "OPENING":
                return Edit(text or "", appended=False) if self._count == 1 else None
        return None if text is None else Edit(text, appended=False)  # OVERWRITTEN

    def _applied(self, edit: Edit) -> Edit | None:
        if edit.appended:
            self.size += len(edit.text)
            self._parts.add(edit.text)
            return edit
        if len(edit.text) == self.size and edit.text == self.text():
            return None
        self.size = len(edit.text)
        self._parts = JoinedText([edit.text])
        return edit


OWN_STRING: Final = "[object Object]"
"""JavaScript's string for an object."""
GENERATED_IDS: Final = frozenset({Id.OWN, Id.UNIQUE})
"""Ids that the client generates."""
_DELTAS: Final = frozenset({Phase.OPEN, Phase.MORE})
_CLOSES: Final = frozenset({Phase.ARGUMENTS, Phase.CLOSE, Phase.WHOLE})
_START, _DELTA, _DONE, _CLOSED, _COMPLETED = range(5)
_OF_DELTAS: Final = dict.fromkeys((Phase.OPEN, Phase.MORE, Phase.WHOLE), _START)
_ANNOUNCED: Final[Mapping[Source, Mapping[Phase, int]]] = {
    Source.PROTOCOL: {
        Phase.OPEN: _START,
        Phase.MORE: _DELTA,
        Phase.ARGUMENTS: _DONE,
        Phase.CLOSE: _CLOSED,
        Phase.WHOLE: _COMPLETED,
    },
    Source.MESSAGE: {Phase.OPEN: _START, Phase.MORE: _DELTA},
    Source.DELTAS: {Phase.OPEN: _START, Phase.MORE: _DELTA},
    Source.DONE: {Phase.ARGUMENTS: _DONE},
    Source.ITEM: {Phase.CLOSE: _CLOSED},
    Source.COMPLETED: {Phase.WHOLE: _COMPLETED},
    Source.START: {Phase.OPEN: _START},
    Source.START_AND_DELTAS: {Phase.OPEN: _START, Phase.MORE: _START},
}
"""The events from which a client reads arguments, with their ranks: repetitions replace deltas."""


def readable(group: Group, source: Source) -> bool:
    """Whether a client that reads `source` sees the call at all."""
    if source in ALONE:
        return any(one.fragment.phase is ALONE[source] for one in group.entries)
    return source is not Source.DELTAS or any(one.fragment.phase in _DELTAS for one in group.entries)


class CallValues:
    """Id, name and arguments of one call as the client of a model reads them, entry by entry."""

    def __init__(self, model: ClientModel, form: CallForm, before: Sequence[Entry] = ()) -> None:
        self._model, self._form = model, form
        self.all = (Value(model.id), Value(model.name), Value(model.arguments))
        """Id, name, arguments."""
        self.id, self.name, self.arguments = self.all
        for one in before:
            _take_arguments(self.arguments, one.fragment, form, model.source, model.objects)

    def take(self, group: Group, entry: Entry) -> tuple[Edit | None, Edit | None, Edit | None]:
        """The changes of id, name and arguments by an entry, which is already in `group`."""
        model = self._model
        return (
            _take_identity(self.id, group, entry, model.id),
            _take_identity(self.name, group, entry, model.name),
            _take_arguments(self.arguments, entry.fragment, self._form, model.source, model.objects),
        )


def identity_of(group: Group, rule: Name | Id) -> str:
    """The name or id that the client reads for a call."""
    value = Value(rule)
    for one in group.entries:
        _take_identity(value, group, one, rule)
    return value.text()


def arguments_of(group: Group, form: CallForm, source: Source, rule: Arguments, objects: Objects) -> str:
    """The text of a call's arguments at the client, before it is parsed."""
    value = Value(rule)
    for one in (*group.before, *group.entries):
        _take_arguments(value, one.fragment, form, source, objects)
    return value.text()


def _take_identity(value: Value, group: Group, entry: Entry, rule: Name | Id) -> Edit | None:
    if rule is Id.ITEM:
        return value.take(group.item_id)
    seen = entry.fragment.name if isinstance(rule, Name) else entry.fragment.id
    return value.take(seen, _rank(group, entry.fragment, joined=rule in (Name.JOINED, Id.JOINED)))


def _rank(group: Group, fragment: Fragment, *, joined: bool) -> int:
    """The rank of an entry's id and name: repetitions of a call are not joined to its deltas."""
    if fragment.phase is group.alone and isinstance(fragment.name, str):
        return 2
    return 1 if joined and fragment.phase in _DELTAS else 0


def _take_arguments(value: Value, fragment: Fragment, form: CallForm, source: Source, objects: Objects) -> Edit | None:
    if form is CallForm.ANNOUNCED:
        rank = _ANNOUNCED[source].get(fragment.phase)
    else:
        rank = 0 if form is CallForm.WHOLE else _OF_DELTAS.get(fragment.phase)
    if rank is None or (rank and not fragment.arguments):
        return None
    return value.take(_text(fragment, objects), rank, complete=rank > _DELTA)


def _text(fragment: Fragment, objects: Objects) -> str:
    text = fragment.arguments if isinstance(fragment.arguments, str) else ""
    if objects is Objects.JSON or fragment.well_formed or fragment.kind is Kind.CUSTOM or not is_object(text):
        return text
    return OWN_STRING if objects is Objects.OWN_STRING else ""


def named(group: Group) -> bool:
    """Whether any entry of the call names its tool."""
    return any(nonblank(one.fragment.name) for one in group.entries)


MAX_TEXT: Final = 1 << 15
"""Maximum characters of a text that is completed."""
_TAKEN_BACK: Final = 24
"""Maximum number of characters that are removed one by one: an unfinished number or word."""
_MEMBERS: Final = 8
"""Maximum number of removed members."""
_DECODER: Final = json.JSONDecoder()
_CLOSING: Final = {"{": "}", "[": "]"}
_TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*+(?P<closed>")?|[{}\[\],]', re.DOTALL)
"""A string, perhaps without its end, a bracket or a comma."""


def head(text: str) -> str:
    """The JSON value that `text` begins with; `""` if it begins with none."""
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
    """The text with its open string and brackets closed, shortened as little as possible; `""` if impossible."""
    if found := head(text):
        return found
    ends = range(len(text), max(len(text) - _TAKEN_BACK, 0), -1)
    return _first_complete(text, [*ends, *_members(text)]) if len(text) <= MAX_TEXT else ""


def shortened(text: str) -> str:
    """The text up to its last complete member, with its brackets closed; `""` if there is none."""
    if found := head(text):
        return found
    return _first_complete(text, _members(text)) if len(text) <= MAX_TEXT else ""


def _members(text: str) -> list[int]:
    """The places where a bracket opens, or a member ends, the last ones first."""
    ends = [found.end() - (found[0] == ",") for found in _TOKEN.finditer(text) if found[0] in {"{", "[", ","}]
    return ends[: -_MEMBERS - 1 : -1]


def _first_complete(text: str, cuts: Iterable[int]) -> str:
    """The text up to the first of these places where closing it makes it JSON; `""` if there is none."""
    return next(filter(is_json, (text[:cut] + _closing(text[:cut]) for cut in cuts)), "")


def _closing(text: str) -> str:
    """The characters that close the open string and brackets of a text."""
    brackets: list[str] = []
    quote = ""
    for found in _TOKEN.finditer(text):
        first = found[0][0]
        if first in _CLOSING:
            brackets.append(_CLOSING[first])
        elif first in "}]":
            del brackets[-1:]
        elif first == '"' and not found["closed"]:
            quote = '"'
    return quote + "".join(reversed(brackets))


WRAPPED: Final = "INVALID_JSON"
"""The name that Pydantic AI gives arguments that are not JSON; each client has its own."""

MAX_PADDED: Final = 128
"""Maximum length of a list of calls that is filled up."""
_HALF_PAIR: Final = re.compile(r"[\ud800-\udfff]")
_OWN_STRINGS: Final = re.compile(r"Array|map\[.*\]|\{.*\}", re.DOTALL)
"""How other languages than JavaScript write an object: PHP, Go; Python, Java, Ruby."""


_RULES: Final[Mapping[Invalid, Callable[[str], str]]] = {
    Invalid.RAW: str,
    Invalid.EMPTY: lambda _: "{}",
    Invalid.HEAD: lambda text: head(text) or "{}",
    Invalid.COMPLETED: lambda text: completed(text) or "{}",
    Invalid.SHORTENED: lambda text: shortened(text) or "{}",
    Invalid.WRAPPED: lambda text: json.dumps({WRAPPED: text}, ensure_ascii=False),
}


def kept_arguments(text: str, invalid: Invalid, no_object: NoObject) -> str:
    """The arguments that the client uses for `text`, the joined fragments."""
    if not text.strip() or is_object(text) or (no_object is NoObject.KEPT and is_json(text)):
        return text
    return _RULES[invalid](text)


def fits(text: str, invalid: Invalid, no_object: NoObject, returned: str) -> bool:
    """Whether a client with these rules, whose arguments are `text`, returns `returned` in its next request."""
    used = kept_arguments(text, invalid, no_object)
    # Go reads half of a surrogate pair in an event as the replacement character.
    for one in (used,) if used.isascii() else (used, _HALF_PAIR.sub("\ufffd", used)):
        if same(one, returned) or one.strip() == returned.strip():
            return True
    if used == OWN_STRING:
        return bool(_OWN_STRINGS.fullmatch(returned.strip())) and not is_json(returned)
    if used == text or is_object(text):
        return False
    if invalid is Invalid.WRAPPED:
        value = value_of(returned)
        return value == text or (isinstance(value, dict) and text in value.values())
    if invalid is not Invalid.COMPLETED:
        return False
    # Some parsers make a list of several values.
    if (several := listed(text)) and same(several, returned):
        return True
    # Some strip white space first: a string that was truncated after a space ends without it.
    return same(kept_arguments(text.rstrip(), invalid, no_object), returned)


def has_objects(group: Group, form: CallForm) -> bool:
    """Whether the arguments of a call are objects, and not text that a client parses."""
    return form is CallForm.WHOLE and all(one.fragment.well_formed for one in group.entries)


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
        case Kept.CLOSED:
            return [one for one, after in pairwise([*known, None]) if one and (not after or _is_closed(one, after))]
    return [
        one
        for one in known
        if has_objects(one, form) or is_valid(arguments_of(one, form, model.source, model.arguments, model.objects))
    ]


def _is_closed(group: Group, after: Group) -> bool:
    """Whether a call is closed before another one opens."""
    return any(one.fragment.phase in _CLOSES and one.event < after.entries[0].event for one in group.entries)


def _padded(groups: Sequence[Group]) -> list[Group]:
    """The calls at the places of their indexes, and empty ones at the others."""
    places = {one.index: one for one in groups if one.index is not None and 0 <= one.index < MAX_PADDED}
    if len(places) < len(groups):
        return list(groups)
    return [places.get(place) or Group(place, place) for place in range(max(places, default=-1) + 1)]
