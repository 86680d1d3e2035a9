"""The id, name and arguments that a client has for a call, computed from all its entries at once, to check stepping."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls.json_text import is_object
from toolstream_core.clients.fields import OWN_STRING
from toolstream_core.clients.grouping import ALONE
from toolstream_core.clients.model import Arguments, Id, Name, Objects, Source
from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.protocol import CallForm

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.clients.grouping import Group
    from toolstream_core.clients.model import ClientModel, Entry
    from toolstream_core.model import Fragment, Seen

COMPLETE = {Source.DONE: Phase.ARGUMENTS, Source.ITEM: Phase.CLOSE, Source.COMPLETED: Phase.WHOLE}
DELTAS = (Phase.OPEN, Phase.MORE)


def id_and_name(model: ClientModel, group: Group) -> tuple[str, str]:
    """The id and name of a call, as the client has them."""
    names = [one.fragment.name for one in identifying(model, group, joined=model.name is Name.JOINED)]
    ids = [one.fragment.id for one in identifying(model, group, joined=model.id is Id.JOINED)]
    made_up = model.id in (Id.OWN, Id.UNIQUE)
    its_id = group.item_id if model.id is Id.ITEM else "" if made_up else selected(ids, model.id.name)
    return its_id, selected(names, model.name.name)


def identifying(model: ClientModel, group: Group, *, joined: bool) -> Sequence[Entry]:
    """The entries that give the id and name of a call."""
    stated = (one for one in group.entries if one.fragment.phase is ALONE.get(model.source))
    alone = [one for one in stated if isinstance(one.fragment.name, str)]
    deltas = [one for one in group.entries if joined and one.fragment.phase in DELTAS]
    return alone or deltas or group.entries


def selected(seen: Sequence[Seen[str]], rule: str) -> str:
    """The value that a rule selects from several."""
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


def arguments(model: ClientModel, form: CallForm, group: Group) -> str:
    """The text of the arguments, before the client parses it as JSON."""
    fragments = [one.fragment for one in (*group.before, *group.entries)]
    if form is CallForm.ANNOUNCED:
        for phase in complete_phases(model.source):
            if complete := [one for one in fragments if one.phase is phase and one.arguments]:
                return text(complete[-1], model.objects)
        fragments = announced(fragments, model.source)
    elif form is CallForm.DELTAS:
        fragments = [one for one in fragments if one.phase in (*DELTAS, Phase.WHOLE)]
    apart = form is CallForm.ANNOUNCED and model.source is not Source.START_AND_DELTAS
    if model.arguments is Arguments.AFTER_OPENING and not (apart and fragments and fragments[0].phase is Phase.MORE):
        fragments = fragments[1:]
    texts = [one for fragment in fragments if (one := text(fragment, model.objects))]
    if model.arguments is Arguments.FIRST:
        return "".join(texts[:1])
    return "".join(texts[-1:] if model.arguments is Arguments.LAST else texts)


def complete_phases(source: Source) -> tuple[Phase, ...]:
    """The phases that contain the complete arguments, for a client with this source."""
    if source is Source.PROTOCOL:
        return Phase.WHOLE, Phase.CLOSE, Phase.ARGUMENTS
    return (COMPLETE[source],) if source in COMPLETE else ()


def announced(fragments: Sequence[Fragment], source: Source) -> list[Fragment]:
    """The fragments whose arguments a client uses if a call's start can have arguments."""
    start = [one for one in fragments if one.phase is Phase.OPEN]
    deltas = [one for one in fragments if one.phase is Phase.MORE and one.arguments]
    match source:
        case Source.START:
            return start
        case Source.START_AND_DELTAS:
            return [one for one in fragments if one in start or one in deltas]
        case Source.DONE | Source.ITEM | Source.COMPLETED:
            return []
    return deltas or start


def text(fragment: Fragment, objects: Objects) -> str:
    """The arguments of a fragment as text, an object as the client converts it."""
    text_of_arguments = fragment.arguments if isinstance(fragment.arguments, str) else ""
    if (
        objects is Objects.JSON
        or fragment.well_formed
        or fragment.kind is Kind.CUSTOM
        or not is_object(text_of_arguments)
    ):
        return text_of_arguments
    return OWN_STRING if objects is Objects.OWN_STRING else ""
