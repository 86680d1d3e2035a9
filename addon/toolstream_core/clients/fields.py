"""What a client reads of a call: name, id and arguments, of the entries that it takes for the call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.open_call import nonblank
from toolstream_core.clients.model import Arguments, Id, Name, Objects, Source
from toolstream_core.clients.value import Value
from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.call_form import CallForm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.clients.model import ClientModel
    from toolstream_core.clients.opened import Group
    from toolstream_core.clients.value import Edit
    from toolstream_core.model import Fragment

OWN_STRING: Final = "[object Object]"
"""What JavaScript makes of an object where it wants a string."""
ALONE: Final = {Source.ITEM: Phase.CLOSE, Source.COMPLETED: Phase.WHOLE}
"""The phase of the events from which a client takes the name and the id too."""
MADE_UP: Final = frozenset({Id.OWN, Id.UNIQUE})
"""Ids that the client generates."""
_DELTAS: Final = frozenset({Phase.OPEN, Phase.MORE})
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
"""The events from which a client takes arguments, with their ranks: what is said once more counts before deltas."""


def readable(group: Group, source: Source) -> bool:
    """Whether a client that reads `source` gets to know the call at all."""
    if source in ALONE:
        return any(one.fragment.phase is ALONE[source] for one in group.entries)
    return source is not Source.DELTAS or any(one.fragment.phase in _DELTAS for one in group.entries)


class CallValues:
    """Id, name and arguments of one call as the client of a model reads them, entry by entry."""

    def __init__(self, model: ClientModel, form: CallForm) -> None:
        """Nothing has come."""
        self._model, self._form = model, form
        self.id, self.name, self.arguments = Value(), Value(), Value()

    def take(self, group: Group, fragment: Fragment) -> tuple[Edit | None, Edit | None, Edit | None]:
        """What a fragment changes in id, name and arguments; it is one of `group` by now."""
        model = self._model
        return (
            None if model.id in MADE_UP else _take_id(self.id, group, fragment, model.id),
            _take_name(self.name, group, fragment, model.name),
            _take_arguments(self.arguments, fragment, self._form, model.source, model.arguments, model.objects),
        )


def name_of(group: Group, rule: Name) -> str:
    """The name that the client gives the call."""
    value = Value()
    for one in group.entries:
        _take_name(value, group, one.fragment, rule)
    return value.text()


def id_of(group: Group, rule: Id) -> str:
    """The id that the client gives the call."""
    value = Value()
    for one in group.entries:
        _take_id(value, group, one.fragment, rule)
    return value.text()


def arguments_of(group: Group, form: CallForm, source: Source, rule: Arguments, objects: Objects) -> str:
    """The text that the client takes for the call's arguments, before it looks whether that is JSON."""
    value = Value()
    for one in group.entries:
        _take_arguments(value, one.fragment, form, source, rule, objects)
    return value.text()


def _take_name(value: Value, group: Group, fragment: Fragment, rule: Name) -> Edit | None:
    return value.take(fragment.name, rule.name, _rank(group, fragment, joined=rule is Name.JOINED))


def _take_id(value: Value, group: Group, fragment: Fragment, rule: Id) -> Edit | None:
    if rule is Id.ITEM:
        return value.take(group.item_id, Id.LAST.name)
    name = Id.FIRST.name if rule in MADE_UP else rule.name
    return value.take(fragment.id, name, _rank(group, fragment, joined=rule is Id.JOINED))


def _rank(group: Group, fragment: Fragment, *, joined: bool) -> int:
    """How much an entry's identity counts: nobody joins to the deltas what says the call once more."""
    if fragment.phase is group.alone and isinstance(fragment.name, str):
        return 2
    return 1 if joined and fragment.phase in _DELTAS else 0


def _take_arguments(
    value: Value, fragment: Fragment, form: CallForm, source: Source, rule: Arguments, objects: Objects
) -> Edit | None:
    if form is CallForm.ANNOUNCED:
        rank = _ANNOUNCED[source].get(fragment.phase)
    else:
        rank = 0 if form is CallForm.WHOLE else _OF_DELTAS.get(fragment.phase)
    if rank is None or (rank and not fragment.arguments):
        return None
    return value.take(_text(fragment, objects), rule.name if rank <= _DELTA else "OVERWRITTEN", rank)


def _text(fragment: Fragment, objects: Objects) -> str:
    text = fragment.arguments if isinstance(fragment.arguments, str) else ""
    if objects is Objects.JSON or fragment.well_formed or fragment.kind is Kind.CUSTOM or not is_object(text):
        return text
    return OWN_STRING if objects is Objects.OWN_STRING else ""


def named(group: Group) -> bool:
    """Whether any entry of the call names its tool."""
    return any(nonblank(one.fragment.name) for one in group.entries)
