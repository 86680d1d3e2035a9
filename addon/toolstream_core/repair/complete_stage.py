"""Repairs streams with each call in one event. Knows no protocol."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple, override

from toolstream_core.calls import ResolvedFragment, nonblank
from toolstream_core.calls.json_text import canonical, has_nothing, is_object
from toolstream_core.calls.repetition import Compared, SameId
from toolstream_core.defects.arguments import DOUBLE_ENCODED_ARGUMENTS, ENVELOPED_ARGUMENTS, PLACEHOLDER_ARGUMENTS
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.finish import CALLS_IN_DONE, IN_BAND_ERROR
from toolstream_core.defects.framing import UNTERMINATED_EVENT
from toolstream_core.defects.identity import DECORATED_NAME, DOUBLED_CALL, DUPLICATE_ID, MISSING_NAME
from toolstream_core.model import Event, Json
from toolstream_core.repair.complete_form import PARTIAL, CompleteCallForm, Entry
from toolstream_core.repair.fields import Deviation, Fields, overlaid
from toolstream_core.repair.identity import judge_id
from toolstream_core.repair.shapes import NO_SHAPE, ONE_CALL_PER_EVENT, WHOLE_CALLS, Policy
from toolstream_core.stages.context import Context
from toolstream_core.stages.repair.incomplete_calls import IncompleteCalls
from toolstream_core.stages.repair.repairer import MAX_COMMENTS, Repairer, Reporter
from toolstream_core.wire import numbers
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_paths import Path
from toolstream_core.wire.write import Writer

_DIFFERENCES: Final[Mapping[str, tuple[Defect, str]]] = {
    "name": (DECORATED_NAME, "the name is {0!r}, the tool is {1}"),
    "id": (DUPLICATE_ID, "id {0} is that of another call"),
    "arguments": (DOUBLE_ENCODED_ARGUMENTS, "the arguments are JSON text where an object belongs"),
}
"""Defect and message by the field that differs from the intended call."""
_WRAPPED: Final = (ENVELOPED_ARGUMENTS, "the arguments are wrapped in an object")
"""The same for arguments that are an object."""
_IN_PARTS: Final = "the arguments are JSON text in several parts, where an object belongs"
_LATER: Final = (PLACEHOLDER_ARGUMENTS, "a part names the call without arguments, and a nameless one brings them")
"""The same for arguments that arrive in another entry than the name."""


class CompleteCallClient:
    """Compares each entry of a call with the intended call and with what the client has of it."""

    def __init__(self, form: CompleteCallForm, context: Context, reporter: Reporter) -> None:
        """`form`: the JSON paths of the protocol's calls."""
        self._form = form
        self._context = context
        self._report = reporter.report
        self._compares_ids = DOUBLED_CALL.name in form.defects
        self._joined: set[int] = set()
        """The `id(call)` of calls in several events that were sent as one entry."""
        self._has_arguments: dict[int, bool] = {}
        """By `id(call)` of a sent call: whether the client has its arguments."""
        self._same_id = SameId(_compared)
        """The calls that were sent, by choice and id."""

    def joined(self, entry: Entry, fields: Fields | None) -> Fields | None:
        """All fields of an ended streamed call, for its first entry, which lacks `fields`; `None` for later ones."""
        if id(entry.call) in self._joined:
            return None
        self._joined.add(id(entry.call))
        if not (entry.name and entry.call.ended):
            return None
        kept = {key: value for key, value in (fields or {}).items() if key not in PARTIAL}
        return {**kept, "arguments": numbers.loads(entry.call.arguments.text() or "{}")}

    def is_joined(self, entry: Entry) -> bool:
        """Whether an entry is of a call that is streamed, or was joined."""
        return entry.is_partial or id(entry.call) in self._joined

    def lack(self, entry: Entry, number: int, latest: int) -> Fields | None:
        """The fields to send for an entry of event `number`; `None` if the client has the entire call.

        These are the intended fields, except for deviations whose repair is off. `latest`: the number of the last
        received event.
        """
        call, fields = entry.call, entry.fields
        if entry.is_text_part and call.arguments.is_complete:
            return self._text_part_fields(entry, latest)
        if not call.name:
            self._report(MISSING_NAME, number, "the call has no name", call)
        identity = nonblank(entry.fragment.id)
        if identity:
            judge_id(identity, self._context, lambda defect, message: self._report(defect, number, message, call))
        if intended := self._intended(entry):
            fields = overlaid(fields, intended, partial(self._repairs, entry, number, latest))
        if entry.is_partial or not self._compares_ids:
            return fields
        if not entry.name:
            return None if self._has(entry, number) else fields
        self._has_arguments[id(call)] = bool(fields.get("arguments"))
        return self._with_own_id(entry, identity, fields, latest) if identity else fields

    def _text_part_fields(self, entry: Entry, number: int) -> Fields | None:
        """The fields to send for a part of JSON text: all arguments as an object, in the entry with the name."""
        call = entry.call
        if not self._report(DOUBLE_ENCODED_ARGUMENTS, number, _IN_PARTS, call):
            return entry.fields
        if id(call) in self._joined:
            return None
        self._joined.add(id(call))
        return {**entry.fields, "arguments": numbers.loads(call.intended_arguments()[0])}

    def _intended(self, entry: Entry) -> Fields:
        """The known fields in which the intended call differs from an entry."""
        name, value = entry.name, entry.fields.get("arguments")
        intended: Fields = {}
        if name and (plain := self._context.tool(name)) != name:
            intended["name"] = plain
        if value and isinstance(value, dict):
            if entry.call.arguments.envelope_size:
                intended["arguments"] = numbers.loads(entry.call.arguments.reading()[0])
            return intended
        if entry.lacks_arguments:
            if not has_nothing(text := entry.call.arguments.text()):
                intended["arguments"] = numbers.loads(text) if is_object(text) else text
        elif isinstance(value, str) and is_object(value):
            intended["arguments"] = numbers.loads(value)
        return intended

    def _repairs(self, entry: Entry, number: int, latest: int, differs: Deviation) -> bool:
        """Report a field that differs from the intended call. Returns whether to repair it."""
        later = differs.field == "arguments" and differs.intended and entry.lacks_arguments
        wrapped = differs.field == "arguments" and isinstance(differs.received, dict) and bool(differs.received)
        defect, message = _LATER if later else _WRAPPED if wrapped else _DIFFERENCES[differs.field]
        text = message.format(differs.received, differs.intended)
        return self._report(defect, latest if later else number, text, entry.call)

    def _has(self, entry: Entry, number: int) -> bool:
        """Whether the client has the arguments of an entry without a name. If it has only the name, report that."""
        has = self._has_arguments.get(id(entry.call))
        if has is None or has_nothing(entry.fragment.arguments):
            return False
        defect, message = _LATER
        return self._report(defect, number, message, entry.call) and has

    def _with_own_id(self, entry: Entry, identity: str, fields: Fields, number: int) -> Fields | None:
        """The fields of a call with the id of an earlier one: `None` if it repeats that, else with a new id."""
        key: tuple[Hashable, ...] = (entry.fragment.choice, identity)
        call = (entry.name, entry.call.arguments.text())
        if has_nothing(call[1]):  # the arguments may follow under this id
            key, call = (*key, entry.name), (entry.name, "{}")
        if self._same_id.add(key, call):
            return fields
        if self._same_id.repeats(key, call):
            return None if self._report(DOUBLED_CALL, number, "the call repeats an earlier one", entry.call) else fields
        intended = {"id": self._context.ids.make("call_")}
        return overlaid(fields, intended, partial(self._repairs, entry, number, number))


def _compared(call: tuple[str, str]) -> Compared:
    """The name and arguments of a call, for comparison with others of its id."""
    name, text = call
    return Compared(name, canonical(text))


class Waiting(NamedTuple):
    """An event that was not sent yet, with its calls."""

    event: Event
    entries: Sequence[Entry]


class CompleteCallStage(Repairer):
    """Compares each call of an event with the intended call, and rewrites the fields that differ.

    An event waits only if the next one may bring the arguments of its last call, or if it is the last one of a body
    and lacks its line feed. For a client that reads only complete calls, an event also waits for the rest of a call
    that is streamed in several events, which is then written as one.
    """

    def __init__(self, form: CompleteCallForm, context: Context, policy: Policy = NO_SHAPE) -> None:
        """`form`: the JSON paths of the protocol's calls; `policy`: the encoding that the client supports."""
        super().__init__(context)
        self._form, self._policy = form, policy
        self._waits_for_arguments = self.on(PLACEHOLDER_ARGUMENTS) and PLACEHOLDER_ARGUMENTS.name in form.defects
        self._waits_for_text = self.on(DOUBLE_ENCODED_ARGUMENTS)
        self._end_has_calls = CALLS_IN_DONE.name in form.defects
        self._client = CompleteCallClient(form, context, self.reporter)
        self._queue: list[Waiting] = []
        self._ended: set[int] = set()
        """The choices that have a finish reason."""
        self._failed = False
        self._signatures: list[Json] = []
        """The signatures that the client has."""

    @property
    @override
    def holding(self) -> bool:
        return bool(self._queue)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, content = event.frame, event.content
        entries = () if frame.data is None else self._form.entries(frame.json, resolved)
        if content.finishes or content.error:
            self._ended.update([finish.choice for finish in content.finishes])
            self._failed = self._failed or bool(content.error)
        self._queue.append(Waiting(event, entries))
        return self._sent()

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        return self._sent(ending=True, clean=clean)

    @override
    def release(self) -> list[Frame]:
        held, self._queue = [one.event.frame for one in self._queue], []
        return held

    def _sent(self, *, ending: bool = False, clean: bool = True) -> list[Frame]:
        """The frames of all events that need not wait. An internal error leaves these in the queue."""
        out: list[Frame] = []
        queue, at = self._queue, 0
        while at < len(queue) and (ending or not self._waits(queue[at], queue[at + 1 :])):
            first, rest = queue[at], queue[at + 1 :]
            frame = first.event.frame
            frames = self._frames(first, rest)
            if frame.trailing and self._form.is_lines:
                frames = self._ended_line(frame, frames) if clean else [frame]
            if len(frames) != 1 or frames[0] is not frame:
                self.audit(frame.number, [frame], frames)
            out += frames
            at += 1
        del queue[:at]
        return out

    def _waits(self, first: Waiting, rest: Sequence[Waiting]) -> bool:
        """Whether an event, after which `rest` arrived, may still change."""
        event, entries = first
        if event.frame.trailing and self._form.is_lines:
            return True
        if self._policy.complete_only and any(self._lacks_rest(one) for one in entries):
            return True
        for one in entries if self._waits_for_text else ():
            if one.is_text_part and self._lacks_text(one):
                return True
        if not (self._waits_for_arguments and entries) or event.content.finishes:
            return False
        if rest and (len(rest) > MAX_COMMENTS or any(one.event.frame.data is not None for one in rest)):
            return False
        last = {one.fragment.choice: one for one in entries}
        named = [one.call for one in last.values() if one.lacks_arguments]
        takes_none = self._context.has_no_parameters
        return any(has_nothing(call.arguments.text()) and not takes_none(call.name) for call in named)

    def _lacks_rest(self, entry: Entry) -> bool:
        """Whether an entry names a streamed call whose rest has not arrived."""
        return entry.is_partial and bool(entry.name) and not entry.call.ended and self._is_open(entry)

    def _lacks_text(self, entry: Entry) -> bool:
        """Whether an entry has a part of JSON text whose rest has not arrived."""
        return not entry.call.arguments.is_complete and self._is_open(entry)

    def _is_open(self, entry: Entry) -> bool:
        """Whether more of the choice's calls may arrive."""
        return not self._failed and entry.fragment.choice not in self._ended

    def _ended_line(self, frame: Frame, frames: list[Frame]) -> list[Frame]:
        """The frames of a body's last line, which lacks its line feed."""
        message = "the last line lacks its line feed"
        if isinstance(frame.json, dict) and self.report(UNTERMINATED_EVENT, frame.number, message):
            return [*frames[:-1], self._context.writer.ended(frames[-1])]
        return frames

    def _frames(self, first: Waiting, rest: Sequence[Waiting]) -> list[Frame]:
        """The frames to send for an event, after which `rest` arrived."""
        (event, entries), form, writer = first, self._form, self._context.writer
        number = event.frame.number
        if event.content.error or event.content.finishes:
            self._judge_failure(event)
        if not entries:
            return [event.frame]
        changes = self._changes(first, rest)
        if self._end_has_calls and event.content.end:
            message = "the line that says done carries calls, and readers may stop at that first"
            if self.report(CALLS_IN_DONE, number, message, entries[0].call):
                frames = form.frames_apart(event, changes, writer)
                return self._one_call_each(frames) if self._policy.one_call_per_event else frames
        if self._context.reports_only:
            return [event.frame]
        frame = form.rewritten(event, changes, writer)
        joined = False
        for one in entries:
            if self._policy.complete_only or one.is_text_part:
                joined = joined or self._client.is_joined(one)
        if joined and number and changes and form.is_empty(frame.json):
            return []
        return self._one_call_each([frame]) if self._policy.one_call_per_event else [frame]

    def _changes(self, first: Waiting, rest: Sequence[Waiting]) -> dict[Path, Json]:
        """The changes in the calls of an event, after which `rest` arrived."""
        changes: dict[Path, Json] = {}
        number = first.event.frame.number
        may_sign = self._form.signatures and b"ignature" in first.event.frame.raw
        for one in first.entries:
            fields = self._client.lack(one, number, rest[-1].event.frame.number if rest else number)
            if self._policy.complete_only and self._client.is_joined(one):
                fields = self._client.joined(one, fields)
                self.reporter.shape(WHOLE_CALLS.names)
            signature = self._form.signature(first.event.frame.json, one) if may_sign else None
            is_new = signature is not None and signature not in self._signatures
            if is_new:
                self._signatures.append(signature)
            if fields is None and is_new:
                changes |= self._form.without_call(one)
            elif fields is not one.fields:
                changes |= self._form.changes(one, fields)
                if fields and fields.get("arguments") is not one.fields.get("arguments"):
                    changes |= self._keys_of_later_entries(one, (first, *rest))
        return changes

    def _one_call_each(self, frames: list[Frame]) -> list[Frame]:
        """Split frames into one for each call."""
        out: list[Frame] = []
        for frame in frames:
            first, *rest = [frame.json] if frame.trailing else self._form.apart(frame.json)
            if rest:
                self.reporter.shape(ONE_CALL_PER_EVENT.names)
            out.append(self._context.writer.rewrite(frame, first) if rest else frame)
            out += [self._context.writer.make(one, frame.number, frame.name) for one in rest]
        return out

    def _keys_of_later_entries(self, entry: Entry, events: Sequence[Waiting]) -> dict[Path, Json]:
        """The unknown keys of a call's later entries, for its first entry."""
        changes: dict[Path, Json] = {}
        mine = events[0].event.frame.json
        for event, entries in events:
            for other in entries:
                if other.call is entry.call and not other.name:
                    changes |= self._form.other_keys(mine, entry, event.frame.json, other)
        self._signatures += [value for path, value in changes.items() if path[-1] in self._form.signatures]
        return changes

    def _judge_failure(self, event: Event) -> None:
        content, number = event.content, event.frame.number
        if content.error:
            self.report(IN_BAND_ERROR, number, f"the provider reports an error: {content.error}")
            return
        for finish in content.finishes:
            if finish.reason in self._form.failed:
                self.report(IN_BAND_ERROR, number, f"the provider gave up on a call: {finish.reason}")


def incomplete_calls(form: CompleteCallForm, context: Context) -> IncompleteCalls:
    """Withholds the end of a response with an incomplete call; the content of the last event is sent.

    The bracket that closes a JSON array is an end, too.
    """

    def split(event: Event, writer: Writer) -> tuple[list[Frame], list[Frame]]:
        *content, end = form.frames_apart(event, {}, writer)
        return content, [end]

    return IncompleteCalls(context, is_end=lambda event: event.frame.raw.strip() == b"]", split=split)
