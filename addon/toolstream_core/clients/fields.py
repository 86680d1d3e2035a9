"""What a client reads of a call: name, id and arguments, of the entries that it takes for the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.open_call import nonblank
from toolstream_core.clients.model import Arguments, Id, Name, Objects, Source
from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.call_form import CallForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.clients.entries import Entry
    from toolstream_core.clients.opened import Group
    from toolstream_core.model import Fragment, Seen

OWN_STRING: Final = "[object Object]"
"""What JavaScript makes of an object where it wants a string."""
_SAID_AGAIN: Final = {Source.DONE: Phase.ARGUMENTS, Source.ITEM: Phase.CLOSE, Source.COMPLETED: Phase.WHOLE}
ALONE: Final = {source: _SAID_AGAIN[source] for source in (Source.ITEM, Source.COMPLETED)}
"""The phase of the events from which a client takes the name and the id too."""
_DELTAS: Final = frozenset({Phase.OPEN, Phase.MORE})


def readable(group: Group, source: Source) -> bool:
    """Whether a client that reads `source` gets to know the call at all."""
    if source in ALONE:
        return any(one.fragment.phase is ALONE[source] for one in group.entries)
    return source is not Source.DELTAS or any(one.fragment.phase in _DELTAS for one in group.entries)


def name_of(group: Group, rule: Name) -> str:
    """The name that the client gives the call."""
    return _one([one.fragment.name for one in _saying(group, joined=rule is Name.JOINED)], rule.name)


def id_of(group: Group, rule: Id) -> str:
    """The id that the client gives the call."""
    if rule is Id.ITEM:
        return group.item_id
    return _one([one.fragment.id for one in _saying(group, joined=rule is Id.JOINED)], rule.name)


def _saying(group: Group, *, joined: bool) -> list[Entry]:
    """The entries whose identity counts: nobody joins to the deltas what says the call once more."""
    deltas = [one for one in group.entries if joined and one.fragment.phase in _DELTAS]
    stated = (one for one in group.entries if one.fragment.phase is group.alone)
    alone = [one for one in stated if isinstance(one.fragment.name, str)]
    return alone or deltas or group.entries


def _one(seen: Sequence[Seen[str]], rule: str) -> str:
    """The value of several that a rule, by its name in `Name` and `Id`, takes."""
    present = [one for one in seen if isinstance(one, str)]
    given = [one for one in present if one]
    match rule:
        case "OPENING":
            return seen[0] if seen and isinstance(seen[0], str) else ""
        case "OVERWRITTEN":
            return present[-1] if present else ""
        case "LAST":
            return given[-1] if given else ""
        case "JOINED":
            return "".join(given)
    return given[0] if given else ""


def arguments_of(group: Group, form: CallForm, source: Source, rule: Arguments, objects: Objects) -> str:
    """The text that the client takes for the call's arguments, before it looks whether that is JSON."""
    entries: Sequence[Entry] = group.entries
    if form is CallForm.ANNOUNCED:
        again = _said_again(entries, source)
        if again is not None:
            return _text(again, objects)
    entries = [one for one in entries if form is CallForm.WHOLE or one.fragment.phase in (*_DELTAS, Phase.WHOLE)]
    if form is CallForm.ANNOUNCED:
        entries = _announced(entries, source)
    return _put_together(entries, rule, objects)


def _said_again(entries: Sequence[Entry], source: Source) -> Fragment | None:
    """The fragment that says the arguments as a whole, where the client goes by it."""
    phases = (Phase.WHOLE, Phase.CLOSE, Phase.ARGUMENTS) if source is Source.PROTOCOL else (_SAID_AGAIN.get(source),)
    for phase in phases:
        said = [one.fragment for one in entries if one.fragment.phase is phase and one.fragment.arguments]
        if said:
            return said[-1]
    return None


def _announced(entries: Sequence[Entry], source: Source) -> Sequence[Entry]:
    """The start's arguments count where no deltas follow."""
    start = [one for one in entries if one.fragment.phase is Phase.OPEN]
    deltas = [one for one in entries if one.fragment.phase is Phase.MORE and one.fragment.arguments]
    match source:
        case Source.START:
            return start
        case Source.START_AND_DELTAS:
            return [*start, *deltas]
        case Source.DONE | Source.ITEM | Source.COMPLETED:
            return []
    return deltas or start


def _put_together(entries: Sequence[Entry], rule: Arguments, objects: Objects) -> str:
    if rule is Arguments.AFTER_OPENING:
        entries = entries[1:]
    texts = [text for one in entries if (text := _text(one.fragment, objects))]
    match rule:
        case Arguments.FIRST:
            return texts[0] if texts else ""
        case Arguments.LAST:
            return texts[-1] if texts else ""
    return "".join(texts)


def _text(fragment: Fragment, objects: Objects) -> str:
    text = fragment.arguments if isinstance(fragment.arguments, str) else ""
    if objects is Objects.JSON or fragment.well_formed or fragment.kind is Kind.CUSTOM or not is_object(text):
        return text
    return OWN_STRING if objects is Objects.OWN_STRING else ""


def named(group: Group) -> bool:
    """Whether any entry of the call names its tool."""
    return any(nonblank(one.fragment.name) for one in group.entries)
