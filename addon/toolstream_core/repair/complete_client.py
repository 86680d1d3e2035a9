"""The client state of a stream whose calls come complete in one event. Knows no protocol."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from toolstream_core.calls import nonblank
from toolstream_core.calls.json_text import has_nothing, is_object, same_arguments
from toolstream_core.defects.arguments import DOUBLE_ENCODED_ARGUMENTS, PLACEHOLDER_ARGUMENTS
from toolstream_core.defects.identity import DECORATED_NAME, DOUBLED_CALL, DUPLICATE_ID, MISSING_NAME
from toolstream_core.repair.complete_form import PARTIAL
from toolstream_core.repair.fields import laid_over
from toolstream_core.repair.identity import judge_id, plain_name
from toolstream_core.wire import numbers

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.defects.defect import Defect
    from toolstream_core.repair.complete_form import CompleteCallForm, Entry
    from toolstream_core.repair.fields import Deviation, Fields
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.repairer import Reporter

MAX_SAME_ID: Final = 16
"""Calls of one id with which a further one is compared."""
_DIFFERENCES: Final[Mapping[str, tuple[Defect, str]]] = {
    "name": (DECORATED_NAME, "the name is {0!r}, the tool is {1}"),
    "id": (DUPLICATE_ID, "id {0} is that of another call"),
    "arguments": (DOUBLE_ENCODED_ARGUMENTS, "the arguments are JSON text where an object belongs"),
}
"""Defect and message by the field that differs from the intended call."""
_IN_PARTS: Final = "the arguments are JSON text in several parts, where an object belongs"
_LATER: Final = (PLACEHOLDER_ARGUMENTS, "a part names the call without arguments, and a nameless one brings them")
"""The same for arguments that come in another entry than the name."""


class CompleteCallClient:
    """Compares each entry of a call with the intended call and with what the client has of it."""

    def __init__(self, form: CompleteCallForm, context: Context, reporter: Reporter) -> None:
        """`form`: where the protocol has its calls."""
        self._form = form
        self._context = context
        self._report = reporter.report
        self._compares_ids = DOUBLED_CALL.name in form.defects
        self._joined: set[int] = set()
        """The calls that were joined."""
        self._has_arguments: dict[int, bool] = {}
        """By named call that was sent: whether the client has its arguments."""
        self._same_id: dict[tuple[int, str], list[tuple[str, str]]] = {}
        """Names and arguments of the calls that were sent, by choice and id."""

    def joined(self, entry: Entry, fields: Fields | None) -> Fields | None:
        """The fields of a streamed call as one entry: all in the first entry, which lacks `fields`, if it is over."""
        if id(entry.call) in self._joined:
            return None
        self._joined.add(id(entry.call))
        if not (entry.name and entry.call.over):
            return None
        kept = {key: value for key, value in (fields or {}).items() if key not in PARTIAL}
        return {**kept, "arguments": numbers.loads(entry.call.arguments.text() or "{}")}

    def is_joined(self, entry: Entry) -> bool:
        """Whether an entry is of a call that is streamed, or was joined."""
        return entry.is_partial or id(entry.call) in self._joined

    def lack(self, entry: Entry, number: int, latest: int) -> Fields | None:
        """The fields that the client lacks of an entry in event `number`; `None` if it has the entire call.

        These are the intended fields, except for deviations whose repair is off. `latest`: the number of the last
        event that came.
        """
        call, fields = entry.call, entry.fields
        if entry.is_text_part and call.arguments.is_complete:
            return self._of_text(entry, latest)
        if not call.name:
            self._report(MISSING_NAME, number, "the call has no name", call)
        identity = nonblank(entry.fragment.id)
        if identity:
            earlier = self._context.earlier_ids
            judge_id(identity, earlier, lambda defect, message: self._report(defect, number, message, call))
        if intended := self._intended(entry):
            fields = laid_over(fields, intended, partial(self._repairs, entry, number, latest))
        if entry.is_partial or not self._compares_ids:
            return fields
        if not entry.name:
            return None if self._has(entry, number) else fields
        self._has_arguments[id(call)] = bool(fields.get("arguments"))
        return self._with_own_id(entry, identity, fields, latest) if identity else fields

    def _of_text(self, entry: Entry, number: int) -> Fields | None:
        """The fields of an entry with a part of JSON text: all arguments as an object in that with the name."""
        call = entry.call
        if not self._report(DOUBLE_ENCODED_ARGUMENTS, number, _IN_PARTS, call):
            return entry.fields
        if id(call) in self._joined:
            return None
        self._joined.add(id(call))
        return {**entry.fields, "arguments": numbers.loads(call.intended_arguments()[0])}

    def _intended(self, entry: Entry) -> Fields:
        """The fields in which the intended call differs from an entry, as far as it is known now."""
        name, value, offered = entry.name, entry.fields.get("arguments"), self._context.schemas
        intended: Fields = {}
        if name and name not in offered and (plain := plain_name(name, offered)) != name:
            intended["name"] = plain
        if value and isinstance(value, dict):
            return intended
        if entry.lacks_arguments:
            if not has_nothing(text := entry.call.arguments.text()):
                intended["arguments"] = numbers.loads(text) if is_object(text) else text
        elif isinstance(value, str) and is_object(value):
            intended["arguments"] = numbers.loads(value)
        return intended

    def _repairs(self, entry: Entry, number: int, latest: int, differs: Deviation) -> bool:
        """Report a field that differs from the intended call; whether it is to be repaired."""
        later = differs.field == "arguments" and differs.intended and entry.lacks_arguments
        defect, message = _LATER if later else _DIFFERENCES[differs.field]
        text = message.format(differs.received, differs.intended)
        return self._report(defect, latest if later else number, text, entry.call)

    def _has(self, entry: Entry, number: int) -> bool:
        """Whether the client has the arguments of an entry without a name; if it has only the name, report this."""
        has = self._has_arguments.get(id(entry.call))
        if has is None or has_nothing(entry.fragment.arguments):
            return False
        defect, message = _LATER
        return self._report(defect, number, message, entry.call) and has

    def _with_own_id(self, entry: Entry, identity: str, fields: Fields, number: int) -> Fields | None:
        """The fields of a call under the id of an earlier one: none if it repeats that, else with another id."""
        name, text = nonblank(entry.fragment.name), entry.call.arguments.text()
        if has_nothing(text):
            return fields
        earlier = self._same_id.setdefault((entry.fragment.choice, identity), [])
        if earlier and any(other == name and same_arguments(arguments, text) for other, arguments in earlier):
            return None if self._report(DOUBLED_CALL, number, "the call repeats an earlier one", entry.call) else fields
        if earlier:
            intended = {"id": self._context.ids.make("call_")}
            fields = laid_over(fields, intended, partial(self._repairs, entry, number, number))
        if len(earlier) < MAX_SAME_ID:
            earlier.append((name, text))
        return fields
