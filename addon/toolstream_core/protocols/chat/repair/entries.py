"""The entries of Chat Completions events: how each has to change for the client to understand it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.calls import nonblank
from toolstream_core.defects.arguments import MISNAMED_ARGUMENTS, NULL_ARGUMENTS, OBJECT_ARGUMENTS
from toolstream_core.model import ABSENT, Phase
from toolstream_core.protocols.chat.edit import choice_number
from toolstream_core.protocols.chat.repair.doubled import DoubledCalls
from toolstream_core.protocols.chat.repair.edits import DROP, Edits
from toolstream_core.protocols.chat.repair.identity import Identity
from toolstream_core.protocols.chat.repair.identity_rules import Came, Place
from toolstream_core.protocols.chat.repair.other_forms import Form
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json, Seen
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.protocols.chat.repair.stream import ChatStream
    from toolstream_core.protocols.chat.repair.waiting import Part, Waiting


class Entries:
    """The entries of one stream."""

    def __init__(self, stream: ChatStream) -> None:
        """For one stream."""
        self._stream = stream
        self._identity = Identity(stream)
        self.doubled = DoubledCalls(stream)

    def edits(self, part: Part, waiting: Waiting) -> Edits | None:
        """How the entry has to change to be understood; `None` where it is to go."""
        fragment, client_call = part.fragment, part.client_call
        client_call.event = waiting.frame.number
        raw = waiting.entry(part) if not fragment.well_formed else {}
        index = raw.get("index", ABSENT)
        part.kept = self._is_kept(part, index)
        if part.kept:
            return _under_no_other(part)
        if client_call.twin is not None and client_call.doubled:
            if not self._identity.drops(Place.ANY, Came.CALL_AGAIN, client_call) or _hides(waiting, part):
                return {}
            self.doubled.drop(part)
            return None
        if not client_call.has_header and client_call.nothing:
            return (
                None
                if self._identity.drops(Place.HEADER, Came.NOTHING, client_call) and not _hides(waiting, part)
                else {}
            )
        opened, before = client_call.has_header, (client_call.id, client_call.name)
        rewrite = self._identity.continuation if opened else self._identity.header
        edits = rewrite(part.choice, client_call, fragment, index)
        if not fragment.well_formed or not isinstance(fragment.arguments, str):
            self._edit_arguments(part, raw, edits)
        elif part.emitted.text != fragment.arguments:
            edits["arguments"] = part.emitted.text
        bare = not opened and fragment.arguments is ABSENT and "arguments" not in edits
        if bare and _has_unread(waiting.entry(part)):
            self._stream.unread_at = client_call.event
        elif bare and client_call.judge(NULL_ARGUMENTS, "the call opens without arguments"):
            edits["arguments"] = part.emitted.text
        client_call.has_arguments = client_call.has_arguments or bool(part.emitted.text)
        names = fragment.name is not ABSENT and bool(fragment.name) and "name" not in edits
        says = part.emitted.text or before != (client_call.id, client_call.name) or names
        if opened and edits and not says and not (_has_more(waiting, part) or _hides(waiting, part)):
            return None
        return edits

    def _is_kept(self, part: Part, index: Json) -> bool:
        """Whether an entry stays as it came; notes what follows from that for those behind it."""
        fragment, client_call, forms = part.fragment, part.client_call, part.client_call.forms
        kept = fragment.phase is Phase.WHOLE or ((part.form is Form.FOREIGN or part.emitted.stray) and part.stays)
        kept = kept or (forms.given_up and not _is_at(fragment.index, client_call))
        if fragment.index != client_call.wire_index and client_call.has_header:
            if not kept and self._is_apart(part, index):
                kept = True
                if _came_with_index(client_call):
                    self._identity.go_on_index(client_call, fragment, index, {})
            if fragment.arguments:
                part.choice.apart = part.choice.apart or kept
                forms.joined.update(() if kept else (fragment.index,))
        if kept and fragment.arguments and fragment.phase is Phase.MORE and client_call.has_header:
            forms.given_up = True
        forms.mixed = forms.mixed or (kept and part.form is Form.FOREIGN)
        return kept

    def _is_apart(self, part: Part, index: Json) -> bool:
        """Whether an entry of another index than the header's may be of another call, or not the next part.

        Several calls are open and what `index` is in the payload says nothing, an event came that nobody could read,
        one without an index stayed as it came, or the call's own index came before: no provider changes it midway.
        A call that has such entries already has all of them: else it may become whole without some.
        """
        fragment, client_call = part.fragment, part.client_call
        guessed = client_call.call.guessed and index is not ABSENT and index is not None
        unread = self._stream.unread_at >= client_call.first_event
        doubtful = unread or part.choice.apart or _came_with_index(client_call)
        if not guessed and (client_call.forms.joined or not doubtful):
            return False
        return not (nonblank(fragment.id) or nonblank(fragment.name)) and part.emitted.text == fragment.arguments

    @staticmethod
    def _edit_arguments(part: Part, raw: dict[str, Json], edits: Edits) -> None:
        given, text, client_call = part.fragment.arguments, part.emitted.text, part.client_call
        if part.form is Form.MISNAMED and client_call.forms.mixed:
            return
        function = raw.get("function")
        value = function.get("arguments", ABSENT) if isinstance(function, dict) else ABSENT
        scalar = isinstance(value, bool | int | float | list)
        if given is None and not scalar and client_call.judge(NULL_ARGUMENTS, "the arguments are null"):
            edits["arguments"] = text
        elif isinstance(function, dict) and value is ABSENT and isinstance(given, str) and "parameters" in function:
            if client_call.judge(MISNAMED_ARGUMENTS, "the arguments are under the key parameters"):
                edits.update({"parameters": DROP, "arguments": text})
        elif not isinstance(value, str) and value is not None and value is not ABSENT:
            if client_call.judge(OBJECT_ARGUMENTS, f"the arguments are no text, but {type(value).__name__}"):
                edits["arguments"] = text
        elif text != (given if isinstance(given, str) else ""):
            edits["arguments"] = text


def _came_with_index(client_call: ClientCall) -> bool:
    """Whether arguments came with the call's index in an event between its header's and the one at hand."""
    has_index = client_call.has_arguments and isinstance(client_call.wire_index, int)
    return has_index and client_call.call.runs.more_than(2)


def _is_at(index: Seen[int], client_call: ClientCall) -> bool:
    """Whether an index is the call's own: the one that the client has, or that its header came with."""
    return index == client_call.index or (index == client_call.wire_index and isinstance(index, int))


def _under_no_other(part: Part) -> Edits:
    """What an entry that stays as it came needs where the client has its index as that of a call of another index.

    It is nobody's then, and gets an index that no call has, unless it is this call's and others went on under that.
    """
    index, indexes = part.fragment.index, part.choice.indexes
    if part.fragment.phase is Phase.WHOLE or not isinstance(index, int) or not indexes.gave_away(index):
        return {}
    if indexes.taken[index] is part.client_call and part.client_call.forms.joined:
        return {}
    part.kept = False
    return {"index": indexes.nobodys(index)}


def _has_more(waiting: Waiting, part: Part) -> bool:
    """Whether the entry has fields beside those that every entry has."""
    entry = waiting.entry(part)
    return bool(entry.keys() - {"index", "id", "type", "function", "name", "arguments"})


def _has_unread(entry: dict[str, Json]) -> bool:
    """Whether what may be arguments stands in the entry under a key that nobody knows."""
    function = entry.get("function")
    values = function.values() if isinstance(function, dict) else ()
    return any(isinstance(value, str) and value.lstrip().startswith("{") for value in values)


def _hides(waiting: Waiting, part: Part) -> bool:
    """Whether the choice has a message too, which counts where its delta has no entries."""
    choices = enumerate(json_access.items(json_access.get(waiting.frame.json, "choices")))
    mine = (choice for place, choice in choices if choice_number(choice, place) == part.fragment.choice)
    return any(json_access.get(choice, "message") for choice in mine)
