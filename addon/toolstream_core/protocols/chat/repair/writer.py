"""Writes the entries of a Chat Completions stream, and reports the defect of each changed field."""

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
from toolstream_core.protocols.chat.repair.client import Client, ClientCall, Lack, Turn, WithheldEntries
from toolstream_core.protocols.chat.repair.finishing import Finishes
from toolstream_core.protocols.chat.repair.stream import CallFragment, Stream
from toolstream_core.repair.fields import Deviation, Fields, overlaid
from toolstream_core.repair.identity import judge_id, judge_name
from toolstream_core.repair.shapes import EVEN_IDS, WHOLE_CALLS
from toolstream_core.wire import json_access

LONGEST_EVEN: Final = 80
"""Bytes of an id to which others are lengthened; longer ones remain the only ones of their length."""


class WrittenEntry(NamedTuple):
    """The replacement of one entry."""

    entry: Json
    state: ClientCall
    changed: bool
    stays: bool = False
    """Whether it is forwarded unchanged, because its call is unknown."""
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
        self._withholds = client.policy.withholds
        self._report, self._ids = client.reporter.report, client.context.ids
        self._longest = 0
        """Bytes of the longest id, for clients that need `even_ids`."""
        self._lost: list[tuple[ClientCall, int]] = []
        """Calls without required arguments at the finish reason, each with the number of its event."""

    def delta(self, delta: dict[str, Json], parts: list[CallFragment], event: Event, *, final: bool) -> dict[str, Json]:
        """The delta with the parts of its calls that the client lacks; `final`: no more fragments arrive."""
        entries, number = [read_entry(one) for one in entries_of(delta)], event.frame.number
        last = {id(part.state): at for at, part in enumerate(parts)}
        sent: list[WrittenEntry] = []
        first: dict[int, int] = {}
        for at, (part, entry) in enumerate(zip(parts, entries, strict=True)):
            key = id(part.state)
            sent.append(self._unless_held(part, entry, number, final=final and last[key] == at))
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
        """Join the last entry to the one at `first`, which is of the same call, unless each is complete."""
        before, after = sent[first], sent[-1]
        repair = self._report(
            REPEATED_INDEX, number, "one event has two entries for the call", after.state.intended.call
        )
        if not repair or before.entry is None or after.entry is None:
            return
        one = joined(before.entry, after.entry)
        if one is not None:
            sent[first] = before._replace(entry=one, changed=True)
            sent[-1] = after._replace(entry=None, changed=True)

    def _container(self, delta: dict[str, Json], sent: list[WrittenEntry], number: int) -> Defect | None:
        """The defect of entries outside of a list, which are sent in one; `None` if nothing changes."""
        if isinstance(delta.get("tool_calls"), list) or all(one.stays for one in sent):
            return None
        of_list = bool(json_access.items(delta.get("tool_calls")))
        defect = TOOL_CALLS_OBJECT if of_list else LEGACY_FUNCTION_CALL
        message = "tool_calls is an object" if of_list else "the call comes as function_call"
        if self._report(defect, number, message):
            return defect
        if self._client.policy.complete_only:
            self._client.reporter.shape(WHOLE_CALLS.names)
            return defect
        for one in sent:
            one.state.text.diverged = True
        sent[:] = [one._replace(changed=False) for one in sent]
        return None

    def _unless_held(self, part: CallFragment, entry: ReceivedEntry, number: int, *, final: bool) -> WrittenEntry:
        """As `_entry`, unless the policy withholds the entry."""
        state, fragment, upto = part.state, part.delta, part.upto
        if not self._withholds:
            return self._entry(state, fragment, entry, number, upto=upto, final=final)
        state.received = upto
        if not state.is_open and self._drops_duplicate(state, number):
            state.held = []
            return WrittenEntry(None, state, changed=True)
        names = self._client.withholding(state, final=final)
        if not (names or state.held):
            return self._entry(state, fragment, entry, number, upto=upto, final=final)
        if not (state.held and state.held[-1].join(entry.raw, fragment, upto)):
            state.held.append(WithheldEntries(entry.raw, fragment, upto))
        if names:
            self._client.reporter.shape(names)
            state.held_for = names
            self._client.turn_of(state).withheld(state, keeps_place=not self._client.policy.complete_only)
            return WrittenEntry(None, state, changed=True)
        *apart, last = self.released(state, number, final=final) or [None]
        return WrittenEntry(last, state, changed=True, apart=apart)

    def released(self, state: ClientCall, number: int, *, final: bool, fills: bool = True) -> list[Json]:
        """The entries to send for the withheld ones of a call; `final`, `fills`: as for `_entry`."""
        held, state.held = state.held, []
        self._client.reporter.shape(state.held_for)
        out: list[Json] = []
        for at, one in enumerate(held, 1):
            is_last, entry = final and at == len(held), read_entry(one.entry)
            sent = self._entry(state, one.delta, entry, number, upto=one.upto, final=is_last, fills=fills)
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
        final: bool,
        fills: bool = True,
    ) -> WrittenEntry:
        """The entry to send for a received one with the arguments `fragment`; `upto`, `final`: as for `lack`.

        `fills`: whether a call without arguments gets `{}` if no more fragments arrive.
        """
        opens, state.received = not state.is_open, upto
        if fragment and entry.fields.get("name") == fragment and not entry.fields.get("arguments"):
            entry = entry.with_name_as_arguments()
        if opens and (gone := self._unopened(state, entry, number)) is not None:
            return gone
        more = self.lack(state, fragment, number, upto=upto, final=final, fills=final and fills)
        if (
            (state.text.diverged or more.is_ambiguous)
            and not opens
            and entry.fields.get("index", ABSENT) != state.header["index"]
        ):
            state.text.diverged = True
            return WrittenEntry(entry.raw, state, changed=False, stays=True)
        turn = self._client.turn_of(state)
        fields = self._fields(field_defects.EntryContext(state, turn, opens, more, entry.fields), number)
        if fields is entry.fields and (_is_usual(entry.raw) or not isinstance(entry.raw, dict)):
            return WrittenEntry(entry.raw, state, changed=False)
        if opens or fields.get("arguments") or fields.keys() - {"index", "arguments"} or entry.extra:
            return WrittenEntry(written(entry, fields), state, changed=True)
        return WrittenEntry(None, state, changed=True)

    def _unopened(self, state: ClientCall, entry: ReceivedEntry, number: int) -> WrittenEntry | None:
        """The entry to send for a call that repeats an earlier one, or is empty; `None` for any other."""
        if self._drops_duplicate(state, number):
            return WrittenEntry(None, state, changed=True)
        if not state.intended.is_blank:
            return None
        if self._report(MISSING_ID, number, "an entry has neither a name nor arguments") and not entry.extra:
            return WrittenEntry(None, state, changed=True)
        return WrittenEntry(entry.raw, state, changed=False)

    def _drops_duplicate(self, state: ClientCall, number: int) -> bool:
        """Whether a call is dropped because it repeats an earlier one."""
        message = "the call repeats an earlier one"
        if self._client.is_duplicate(state) and self._report(DOUBLED_CALL, number, message, state.intended.call):
            state.defect = DOUBLED_CALL
            return True
        return False

    def lack(self, state: ClientCall, fragment: str, number: int, *, upto: int, final: bool, fills: bool) -> Lack:
        """As `ClientCall.lack`; reports defects and updates the state. `fills`: as for `_entry`."""
        more = state.lack(fragment, upto=upto, final=final)
        state.defect = more.defect or state.defect
        if more.defect is not None and (more.contradicts or more.is_ambiguous):
            self._report(more.defect, self._stream.last_received, more.defect.meaning, state.intended.call)
        state.text.diverged = state.text.diverged or more.contradicts
        if fills and not (state.text.diverged or more.text or state.text.text.strip()):
            return self._empty(state, number) or more
        return more

    def added(self, state: ClientCall, more: Lack, number: int) -> Fields:
        """The fields of an entry that is added."""
        entry = field_defects.EntryContext(state, self._client.turn_of(state), not state.is_open, more, {})
        fields = self._intended(entry, number) | ({} if entry.opens else {"index": state.place})
        return self._note_sent(entry, fields, number, as_received=more.as_received)

    def _empty(self, state: ClientCall, number: int) -> Lack | None:
        """The `{}` that a complete call without arguments lacks; `None` if its arguments are required or lost."""
        intended = state.intended
        if not intended.has_no_arguments or not intended.call.name or self._stream.failed:
            return None
        finish = self._finishes.of(intended.call.choice)
        if self._client.turn_of(state).has_incomplete or any(map(is_cut, finish.received)):
            return None
        unknown = any(turn.has_arguments_without_call for turn in self._client.turns.values())
        if unknown or self._stream.unread_at >= next(iter(intended.call.runs)):
            return None
        if not intended.may_be_empty:
            self._lost.append((state, number))
            return None
        if not intended.call.arguments.empty:
            self._report(NULL_ARGUMENTS, number, "the arguments are null", intended.call)
        if not self._report(EMPTY_ARGUMENTS, number, "the call has no arguments, not even {}", intended.call):
            return None
        return Lack("{}", EMPTY_ARGUMENTS)

    def report_lost(self) -> None:
        """Report the calls whose arguments never arrived, at the end of the stream."""
        for one, number in self._lost:
            received = self._finishes.of(one.intended.call.choice).received
            if one.intended.has_no_arguments and not any(map(is_cut, received)):
                message = f"{one.intended.call.name} has required parameters and got no arguments"
                self._report(LOST_ARGUMENTS, number, message, one.intended.call)

    def _fields(self, entry: field_defects.EntryContext, number: int) -> Fields:
        """The fields to send; updates the state of the client."""
        intended = self._intended(entry, number)
        wanted = {**dict.fromkeys(entry.received, ABSENT), **intended}
        fields = overlaid(entry.received, wanted, partial(self._repairs, entry, number))
        as_intended = fields.get("arguments", "") == intended.get("arguments", "")
        index, indexes = entry.received.get("index", ABSENT), entry.turn.indexes
        indexes[index if type(index) is int else ~len(indexes)] = entry.state
        entry.state.text.diverged = entry.state.text.diverged or entry.more.is_ambiguous or not as_intended
        return self._note_sent(entry, fields, number, as_received=entry.more.as_received and as_intended)

    def _note_sent(
        self, entry: field_defects.EntryContext, fields: Fields, number: int, *, as_received: bool
    ) -> Fields:
        """Update the state of the client with these fields. Returns them, perhaps with a longer id."""
        if self._client.policy.even_ids:
            fields = self._with_even_id(entry, fields)
        if entry.opens:
            self._opened(entry, fields, number)
        else:
            self._note_continuation(entry, fields)
        text = fields.get("arguments", "")
        entry.state.note_sent(text if isinstance(text, str) else "", as_received=as_received)
        return fields

    def _intended(self, entry: field_defects.EntryContext, number: int) -> Fields:
        """The intended fields."""
        state, received, more = entry.state, entry.received, entry.more
        place = entry.turn.place_of(state) if entry.opens else state.place
        intended: Fields = {"index": place if type(place) is int else received.get("index", ABSENT)}
        kind = received.get("type", ABSENT)
        if entry.opens:
            call = state.intended.call
            name = judge_name(
                call.name,
                self._client.context.schemas,
                lambda defect, message: self._report(defect, number, message, call),
            )
            if name or self._stream.unread_at < 0:
                intended |= {
                    "id": self._identity(state, entry.turn),
                    "type": kind if kind and isinstance(kind, str) else "function",
                }
            else:  # an unreadable event may have opened the call
                intended |= {key: received[key] for key in ("id", "type") if key in received}
            intended |= {"name": name} if name else {key: received[key] for key in ("name",) if key in received}
        elif nonblank(kind) and not received.keys() & {"id", "name"}:
            intended["type"] = kind
        is_kept = more.is_ambiguous and more.text == received.get("arguments", received.get("parameters"))
        stays = state.text.diverged or is_kept
        if stays and not isinstance(received.get("arguments"), dict):
            return intended | {key: received[key] for key in ("arguments", "parameters") if key in received}
        if more.text or entry.opens or received.keys() & {"arguments", "parameters"}:
            intended["arguments"] = more.text
        return intended

    def _repairs(self, entry: field_defects.EntryContext, number: int, deviation: Deviation) -> bool:
        """Report how a field differs. Returns whether to repair it."""
        field, received, intended = deviation
        call, more = entry.state.intended.call, entry.more
        named = field_defects.BY_FIELD[field](received, intended, entry)
        if field == "index" and entry.opens and self._leaves_out(entry):
            self._client.reporter.shape(WHOLE_CALLS.names)
            return True
        if field == "arguments" and named is None and more.defect is not None:
            return self._report(more.defect, self._stream.last_received, more.defect.meaning, call) or more.is_ambiguous
        if field == "type" and named is None:
            again = [key for key in ("id", "name") if key in entry.received]
            return any(self._repairs(entry, number, Deviation(key, entry.received[key], ABSENT)) for key in again)
        if named is None:
            return True
        repairs = self._report(named.defect, number, named.message, call, severity=named.severity)
        is_rest = field == "name" and not entry.opens and received and call.name == f"{entry.state.name}{received}"
        return repairs and not is_rest

    def _leaves_out(self, entry: field_defects.EntryContext) -> bool:
        """Whether the policy left out an earlier call."""
        policy = self._client.policy
        return policy.complete_only and any(not one.is_open for one in entry.turn.calls[: entry.state.order])

    def _with_even_id(self, entry: field_defects.EntryContext, fields: Fields) -> Fields:
        """The fields with the id that the client has, or with one at least as long as the longest before."""
        given, state = fields.get("id"), entry.state
        if not (given and isinstance(given, str)):
            return fields
        identity = (
            self._even(given) if entry.opens else state.id if state.id and given == state.intended.call.id else given
        )
        if identity == given:
            return fields
        self._client.reporter.shape(EVEN_IDS.names)
        return {**fields, "id": identity}

    def _opened(self, entry: field_defects.EntryContext, fields: Fields, number: int) -> None:
        """Note that the first entry of a call was sent."""
        state, call = entry.state, entry.state.intended.call
        state.is_open = True
        state.header, state.place = entry.received | {"index": entry.received.get("index", ABSENT)}, fields.get("index")
        state.id, state.name = str(fields.get("id") or ""), str(fields.get("name") or "")
        entry.turn.note_place(state.place)
        entry.turn.ids.update({state.id, call.id} - {""})
        if call.id and state.id != call.id:
            self._ids.map_to(state.id, call.id, state.intended.tool)
        context = self._client.context
        judge_id(call.id, context, lambda defect, message: self._report(defect, number, message, call))

    def _note_continuation(self, entry: field_defects.EntryContext, fields: Fields) -> None:
        """Note that a later entry was sent, perhaps with a part of the name, or an id after a generated state."""
        state, call = entry.state, entry.state.intended.call
        state.name += fields.get("name") or ""
        late = call.id and nonblank(entry.received.get("id", ABSENT)) == call.id and self._ids.is_generated(state.id)
        if late and call.id not in entry.turn.ids:
            self._ids.map_to(state.id, call.id, state.intended.tool)

    def _identity(self, state: ClientCall, turn: Turn) -> str:
        given = state.intended.call.id
        if not given or (given in turn.ids and not self._client.is_duplicate(state)):
            return self._ids.make("call_")
        return given

    def _even(self, given: str) -> str:
        """The id, or a longer new one if an earlier id is longer. Clients compare bytes."""
        size = len(given.encode("utf-8", "replace"))
        if size < self._longest:
            return self._ids.make("call_", self._longest)
        self._longest = min(size, LONGEST_EVEN)
        return given


def _is_usual(raw: Json) -> bool:
    """Whether an entry has the form that clients read."""
    return isinstance(raw, dict) and (isinstance(raw.get("function"), dict) or not raw.keys() & {"name", "arguments"})
