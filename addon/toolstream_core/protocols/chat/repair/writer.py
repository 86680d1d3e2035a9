"""The entries of one Chat Completions stream: the missing fields, each with the name of its defect."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from toolstream_core.calls import nonblank
from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.defects.arguments import EMPTY_ARGUMENTS, LOST_ARGUMENTS, NULL_ARGUMENTS
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.framing import LEGACY_FUNCTION_CALL, TOOL_CALLS_OBJECT
from toolstream_core.defects.identity import DOUBLED_CALL, MISSING_ID, REPEATED_INDEX
from toolstream_core.model import ABSENT, Event, Json
from toolstream_core.protocols.chat.edit import ReceivedEntry, as_one, entries_of, joined, read_entry, written
from toolstream_core.protocols.chat.repair import field_defects
from toolstream_core.protocols.chat.repair.client import Client, ClientCall, Held, Lack, Turn
from toolstream_core.protocols.chat.repair.finishing import Finishes
from toolstream_core.protocols.chat.repair.stream import Stream, Touched
from toolstream_core.repair.fields import Deviation, Fields, laid_over
from toolstream_core.repair.identity import judge_id, judge_name
from toolstream_core.repair.shapes import EVEN_IDS, WHOLE_CALLS
from toolstream_core.wire import json_access

LONGEST_EVEN: Final = 80
"""Bytes of an id to which others are lengthened; longer ones remain the only ones of their length."""


class WrittenEntry(NamedTuple):
    """The replacement of one entry."""

    entry: Json
    one: ClientCall
    changed: bool
    stays: bool = False
    """Whether its call is unknown: it is forwarded unchanged."""
    apart: Sequence[Json] = ()
    """Entries of the call that are sent before it."""

    @property
    def entries(self) -> list[Json]:
        """All entries to send."""
        return [*self.apart, *([] if self.entry is None else [self.entry])]


class EntryWriter:
    """Writes the entries of one stream."""

    def __init__(self, client: Client, stream: Stream, finishes: Finishes) -> None:
        self._client, self._stream, self._finishes = client, stream, finishes
        self._holds = client.policy.holds
        self._report, self._ids = client.reporter.report, client.context.ids
        self._longest = 0
        """Bytes of the longest id, for clients that need `even_ids`."""
        self._lost: list[tuple[ClientCall, int]] = []
        """Calls that a finish found without the arguments they need, and its event."""

    def delta(self, delta: dict[str, Json], parts: list[Touched], event: Event, *, over: bool) -> dict[str, Json]:
        """The delta with the parts of its calls that the client lacks; `over`: no more of them arrives."""
        entries, number = [read_entry(one) for one in entries_of(delta)], event.frame.number
        last = {id(part.one): at for at, part in enumerate(parts)}
        sent: list[WrittenEntry] = []
        first: dict[int, int] = {}
        for at, (part, entry) in enumerate(zip(parts, entries, strict=True)):
            key = id(part.one)
            sent.append(self._unless_held(part, entry, number, over=over and last[key] == at))
            if key in first:
                self._join(sent, first[key], number)
            elif sent[-1].entry is not None:
                first[key] = at
        container = self._container(delta, sent, number)
        if not (container or any(one.changed for one in sent)):
            return delta
        kept = [entry for one in sent for entry in one.entries]
        without = {"function_call"} if container is LEGACY_FUNCTION_CALL else set()
        without |= set() if kept else {"function_call", "tool_calls"}
        rest = {key: value for key, value in delta.items() if key not in without}
        return {**rest, "tool_calls": kept} if kept else rest

    def _join(self, sent: list[WrittenEntry], first: int, number: int) -> None:
        """The last entry is of the same call as the one at `first`: they become one, unless each is complete."""
        before, after = sent[first], sent[-1]
        repair = self._report(REPEATED_INDEX, number, "one event has two entries for the call", after.one.intended.call)
        if not repair or before.entry is None or after.entry is None:
            return
        one = joined(before.entry, after.entry)
        if one is not None:
            sent[first] = before._replace(entry=one, changed=True)
            sent[-1] = after._replace(entry=None, changed=True)

    def _container(self, delta: dict[str, Json], sent: list[WrittenEntry], number: int) -> Defect | None:
        """Why entries outside of a list become a list; `None` if they are in one, or stay."""
        if isinstance(delta.get("tool_calls"), list) or all(one.stays for one in sent):
            return None
        of_list = bool(json_access.items(delta.get("tool_calls")))
        defect = TOOL_CALLS_OBJECT if of_list else LEGACY_FUNCTION_CALL
        message = "tool_calls is an object" if of_list else "the call comes as function_call"
        if self._report(defect, number, message):
            return defect
        if self._client.policy.leaves_out:
            self._client.reporter.shape(WHOLE_CALLS.names)
            return defect
        for one in sent:
            one.one.text.diverged = True
        sent[:] = [one._replace(changed=False) for one in sent]
        return None

    def _unless_held(self, part: Touched, entry: ReceivedEntry, number: int, *, over: bool) -> WrittenEntry:
        """As `_entry`, unless the policy withholds the entry."""
        state, fragment, upto = part.one, part.delta, part.upto
        if not self._holds:
            return self._entry(state, fragment, entry, number, upto=upto, over=over)
        state.received = upto
        if not state.is_open and self._is_double(state, number):
            state.held = []
            return WrittenEntry(None, state, changed=True)
        names = self._client.withholding(state, over=over)
        if not (names or state.held):
            return self._entry(state, fragment, entry, number, upto=upto, over=over)
        if not (state.held and state.held[-1].takes(entry.raw, fragment, upto)):
            state.held.append(Held(entry.raw, fragment, upto))
        if names:
            self._client.reporter.shape(names)
            state.held_for = names
            self._client.turn_of(state).withheld(state, keeps_place=not self._client.policy.leaves_out)
            return WrittenEntry(None, state, changed=True)
        *apart, last = self.released(state, number, over=over) or [None]
        return WrittenEntry(last, state, changed=True, apart=apart)

    def released(self, state: ClientCall, number: int, *, over: bool, made: bool = True) -> list[Json]:
        """The entries to send for the withheld ones of a call that may be sent. `over`, `made`: as for `_entry`."""
        held, state.held = state.held, []
        self._client.reporter.shape(state.held_for)
        out: list[Json] = []
        for at, one in enumerate(held, 1):
            is_last, entry = over and at == len(held), read_entry(one.entry)
            sent = self._entry(state, one.delta, entry, number, upto=one.upto, over=is_last, made=made)
            if sent.entry is not None:
                both = as_one(out[-1], sent.entry) if out else None
                out[-1:] = [both] if both is not None else [*out[-1:], sent.entry]
        return out

    def _entry(
        self,
        state: ClientCall,
        fragment: str,
        entry: ReceivedEntry,
        number: int,
        *,
        upto: int,
        over: bool,
        made: bool = True,
    ) -> WrittenEntry:
        """The entry to send for a received one with the arguments `fragment`; `upto` and `over` as for `lack`.

        `made`: whether a call without arguments gets `{}` if nothing more of it comes.
        """
        opens, state.received = not state.is_open, upto
        if fragment and entry.fields.get("name") == fragment and not entry.fields.get("arguments"):
            entry = entry.with_name_as_arguments()
        if opens and (gone := self._unopened(state, entry, number)) is not None:
            return gone
        more = self.lack(state, fragment, number, upto=upto, over=over, made=over and made)
        if (
            (state.text.diverged or more.stands)
            and not opens
            and entry.fields.get("index", ABSENT) != state.header["index"]
        ):
            state.text.diverged = True
            return WrittenEntry(entry.raw, state, changed=False, stays=True)
        turn = self._client.turn_of(state)
        fields = self._fields(field_defects.EntryContext(state, turn, opens, more, entry.fields), number)
        if fields is entry.fields and (_usual(entry.raw) or not isinstance(entry.raw, dict)):
            return WrittenEntry(entry.raw, state, changed=False)
        if opens or fields.get("arguments") or fields.keys() - {"index", "arguments"} or entry.extra:
            return WrittenEntry(written(entry, fields), state, changed=True)
        return WrittenEntry(None, state, changed=True)

    def _unopened(self, state: ClientCall, entry: ReceivedEntry, number: int) -> WrittenEntry | None:
        """The entry to send for a call that need not open: it repeats an earlier one, or is empty."""
        if self._is_double(state, number):
            return WrittenEntry(None, state, changed=True)
        if not state.intended.nothing:
            return None
        if self._report(MISSING_ID, number, "an entry has neither a name nor arguments") and not entry.extra:
            return WrittenEntry(None, state, changed=True)
        return WrittenEntry(entry.raw, state, changed=False)

    def _is_double(self, state: ClientCall, number: int) -> bool:
        """Whether a call repeats an earlier one, and is left out for that."""
        message = "the call repeats an earlier one"
        if self._client.doubles(state) and self._report(DOUBLED_CALL, number, message, state.intended.call):
            state.defect = DOUBLED_CALL
            return True
        return False

    def lack(self, state: ClientCall, fragment: str, number: int, *, upto: int, over: bool, made: bool) -> Lack:
        """As `ClientCall.lack`, with its consequences; `made` as for `_entry`."""
        more = state.lack(fragment, upto=upto, over=over)
        state.defect = more.defect or state.defect
        if more.defect is not None and (more.contradicts or more.stands):
            self._report(more.defect, self._stream.arrived, more.defect.meaning, state.intended.call)
        state.text.diverged = state.text.diverged or more.contradicts
        if made and not (state.text.diverged or more.text or state.text.text.strip()):
            return self._empty(state, number) or more
        return more

    def added(self, state: ClientCall, more: Lack, number: int) -> Fields:
        """The fields of an entry that is added."""
        at = field_defects.EntryContext(state, self._client.turn_of(state), not state.is_open, more, {})
        fields = self._intended(at, number) | ({} if at.opens else {"index": state.place})
        return self._note_sent(at, fields, number, as_received=more.as_received)

    def _empty(self, state: ClientCall, number: int) -> Lack | None:
        """The missing `{}`."""
        meaning = state.intended
        if not meaning.silent or not meaning.call.name or self._stream.failed:
            return None
        finish = self._finishes.of(meaning.call.choice)
        if self._client.turn_of(state).has_incomplete or any(map(is_cut, finish.received)):
            return None
        unknown = any(turn.has_anonymous for turn in self._client.turns.values())
        if unknown or self._stream.unread_at >= next(iter(meaning.call.runs)):
            return None
        if not meaning.may_be_empty:
            self._lost.append((state, number))
            return None
        if not meaning.call.arguments.empty:
            self._report(NULL_ARGUMENTS, number, "the arguments are null", meaning.call)
        if not self._report(EMPTY_ARGUMENTS, number, "the call has no arguments, not even {}", meaning.call):
            return None
        return Lack("{}", EMPTY_ARGUMENTS)

    def report_lost(self) -> None:
        """At the end of the stream: report the calls whose arguments never arrived."""
        for one, number in self._lost:
            if one.intended.silent:
                message = f"{one.intended.call.name} has required parameters and got no arguments"
                self._report(LOST_ARGUMENTS, number, message, one.intended.call)

    def _fields(self, at: field_defects.EntryContext, number: int) -> Fields:
        """The fields to send; the client has them from now on."""
        intended = self._intended(at, number)
        wanted = {**dict.fromkeys(at.was, ABSENT), **intended}
        fields = laid_over(at.was, wanted, partial(self._repairs, at, number))
        as_meant = fields.get("arguments", "") == intended.get("arguments", "")
        index, indexes = at.was.get("index", ABSENT), at.turn.indexes
        indexes[index if type(index) is int else ~len(indexes)] = at.one
        at.one.text.diverged = at.one.text.diverged or at.more.stands or not as_meant
        return self._note_sent(at, fields, number, as_received=at.more.as_received and as_meant)

    def _note_sent(self, at: field_defects.EntryContext, fields: Fields, number: int, *, as_received: bool) -> Fields:
        """The fields with the id that the client needs; the client has them from now on."""
        if self._client.policy.even_ids:
            fields = self._with_even_id(at, fields)
        if at.opens:
            self._opened(at, fields, number)
        else:
            self._note_continuation(at, fields)
        text = fields.get("arguments", "")
        at.one.got(text if isinstance(text, str) else "", as_received=as_received)
        return fields

    def _intended(self, at: field_defects.EntryContext, number: int) -> Fields:
        """The fields for a client that follows the documentation exactly."""
        one, was, more = at.one, at.was, at.more
        place = at.turn.place_of(one) if at.opens else one.place
        intended: Fields = {"index": place if type(place) is int else was.get("index", ABSENT)}
        kind = was.get("type", ABSENT)
        if at.opens:
            call = one.intended.call
            name = judge_name(
                call.name,
                self._client.context.schemas,
                lambda defect, message: self._report(defect, number, message, call),
            )
            if name or self._stream.unread_at < 0:
                intended |= {
                    "id": self._identity(one, at.turn),
                    "type": kind if kind and isinstance(kind, str) else "function",
                }
            else:  # an unreadable event may have opened the call
                intended |= {key: was[key] for key in ("id", "type") if key in was}
            intended |= {"name": name} if name else {key: was[key] for key in ("name",) if key in was}
        elif nonblank(kind) and not was.keys() & {"id", "name"}:
            intended["type"] = kind
        stays = one.text.diverged or (more.stands and more.text == was.get("arguments", was.get("parameters")))
        if stays and not isinstance(was.get("arguments"), dict):
            return intended | {key: was[key] for key in ("arguments", "parameters") if key in was}
        if more.text or at.opens or was.keys() & {"arguments", "parameters"}:
            intended["arguments"] = more.text
        return intended

    def _repairs(self, at: field_defects.EntryContext, number: int, deviation: Deviation) -> bool:
        """Report how a field differs. Returns whether to repair it."""
        field, was, should = deviation
        call, named, more = at.one.intended.call, field_defects.BY_FIELD[field](was, should, at), at.more
        if field == "index" and at.opens and self._leaves_out(at):
            self._client.reporter.shape(WHOLE_CALLS.names)
            return True
        if field == "arguments" and named is None and more.defect is not None:
            return self._report(more.defect, self._stream.arrived, more.defect.meaning, call) or more.stands
        if field == "type" and named is None:
            again = [key for key in ("id", "name") if key in at.was]
            return any(self._repairs(at, number, Deviation(key, at.was[key], ABSENT)) for key in again)
        if named is None:
            return True
        repairs = self._report(named.defect, number, named.message, call, severity=named.severity)
        is_rest = field == "name" and not at.opens and was and at.one.intended.call.name == f"{at.one.name}{was}"
        return repairs and not is_rest

    def _leaves_out(self, at: field_defects.EntryContext) -> bool:
        """Whether an earlier call was left out."""
        policy = self._client.policy
        return policy.leaves_out and any(not one.is_open for one in at.turn.calls[: at.one.order])

    def _with_even_id(self, at: field_defects.EntryContext, fields: Fields) -> Fields:
        """The fields with the id that the client has, or with one at least as long as the longest before."""
        given, one = fields.get("id"), at.one
        if not (given and isinstance(given, str)):
            return fields
        identity = self._even(given) if at.opens else one.id if one.id and given == one.intended.call.id else given
        if identity == given:
            return fields
        self._client.reporter.shape(EVEN_IDS.names)
        return {**fields, "id": identity}

    def _opened(self, at: field_defects.EntryContext, fields: Fields, number: int) -> None:
        """The client has a call's header."""
        one, call = at.one, at.one.intended.call
        one.is_open = True
        one.header, one.place = at.was | {"index": at.was.get("index", ABSENT)}, fields.get("index")
        one.id, one.name = str(fields.get("id") or ""), str(fields.get("name") or "")
        at.turn.placed(one.place)
        at.turn.ids.update({one.id, call.id} - {""})
        if call.id and one.id != call.id:
            self._ids.stands_for(one.id, call.id, one.intended.tool)
        context = self._client.context
        judge_id(call.id, context, lambda defect, message: self._report(defect, number, message, call))

    def _note_continuation(self, at: field_defects.EntryContext, fields: Fields) -> None:
        """The client has more of a call: perhaps a part of its name, and an id that replaces a generated one."""
        one, call = at.one, at.one.intended.call
        one.name += fields.get("name") or ""
        late = call.id and nonblank(at.was.get("id", ABSENT)) == call.id and self._ids.made(one.id)
        if late and call.id not in at.turn.ids:
            self._ids.stands_for(one.id, call.id, one.intended.tool)

    def _identity(self, state: ClientCall, turn: Turn) -> str:
        given = state.intended.call.id
        if not given or (given in turn.ids and not self._client.doubles(state)):
            return self._ids.make("call_")
        return given

    def _even(self, given: str) -> str:
        """The id, or a longer one in its place if an earlier one is longer. Clients compare bytes."""
        size = len(given.encode("utf-8", "replace"))
        if size < self._longest:
            return self._ids.make("call_", self._longest)
        self._longest = min(size, LONGEST_EVEN)
        return given


def _usual(raw: Json) -> bool:
    """Whether an entry has the form that clients read."""
    return isinstance(raw, dict) and (isinstance(raw.get("function"), dict) or not raw.keys() & {"name", "arguments"})
