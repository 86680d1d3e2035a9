"""The state of a client that follows the documentation exactly: its calls, and the parts that it lacks."""

from __future__ import annotations

from typing import NamedTuple

from toolstream_core.calls import OpenCall
from toolstream_core.calls.arguments import JoinedText
from toolstream_core.calls.repetition import Compared, SameId, beginning
from toolstream_core.defects.defect import Defect
from toolstream_core.defects.framing import SPLIT_CHOICES
from toolstream_core.defects.identity import CHANGING_INDEX, DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.model import ABSENT, Json
from toolstream_core.protocols.chat.edit import as_one, continuation
from toolstream_core.protocols.chat.repair.intended import IntendedCall
from toolstream_core.repair.client_text import ClientText, is_in_step
from toolstream_core.repair.shapes import NO_SHAPE, Policy, is_complete
from toolstream_core.stages.context import Context
from toolstream_core.stages.repair.repairer import Reporter
from toolstream_core.wire import json_access


class Lack(NamedTuple):
    """The part of a call's arguments that a client lacks."""

    text: str
    defect: Defect | None = None
    """The defect for which it differs from the received fragment."""
    is_ambiguous: bool = False
    """Whether the fragment is forwarded unchanged, because its repair is unknown."""
    as_received: bool = False
    """Whether the client then has exactly the received text."""
    contradicts: bool = False
    """Whether the client has other arguments than the intended ones: the fragment is forwarded unchanged."""


class WithheldEntries:
    """Withheld entries of a call, joined to one."""

    def __init__(self, entry: Json, delta: str, upto: int) -> None:
        """`delta`: the arguments in `entry`; `upto`: the number of characters received up to it."""
        self._entry, self.upto = entry, upto
        self._more = JoinedText()
        """The arguments of later entries."""
        self._delta = JoinedText([delta])

    @property
    def entry(self) -> Json:
        """The joined entry."""
        if self._more:
            self._entry = as_one(self._entry, continuation(ABSENT, self._more.text()))
            self._more = JoinedText()
        return self._entry

    @property
    def delta(self) -> str:
        """The arguments in all entries."""
        return self._delta.text()

    def join(self, entry: Json, delta: str, upto: int) -> bool:
        """Add an entry; false if it cannot be joined."""
        index, text = (json_access.get(self._entry, *path) for path in (("index",), ("function", "arguments")))
        match entry:
            case {"index": at, "function": {"arguments": str(more), **others}, **keys} if (
                more and isinstance(text, str) and at == index and not (others or keys)
            ):
                self._more.add(more)
            case _:
                both = as_one(self.entry, entry)
                if both is None:
                    return False
                self._entry = both
        self._delta.add(delta)
        self.upto = upto
        return True


class ClientCall:
    """A call in the client, and the intended call."""

    def __init__(self, intended: IntendedCall, order: int) -> None:
        """`order`: its position among the calls."""
        self.intended = intended
        self.order = order
        self.place: Json = None
        """Its index at the client."""
        self.id = self.name = ""
        self.text = ClientText(intended.call.arguments)
        """Its arguments at the client."""
        self.received = 0
        """The number of characters received up to the last event that was sent; waiting events have the rest."""
        self.is_open = False
        """Whether its first entry was sent."""
        self.header: dict[str, Json] = {}
        """The received fields of the entry that opened it."""
        self.defect: Defect | None = None
        """The defect for which a part was last withheld or changed."""
        self.held: list[WithheldEntries] = []
        """Its withheld entries, joined if their keys allow it."""
        self.held_for: tuple[str, ...] = ()
        """The shapes that withhold them."""
        self.in_message = False
        """Whether only a complete message has it."""
        self.seen_as = ("", "")
        """Its id and name after the last fragment."""

    @property
    def is_complete(self) -> bool:
        """Whether the client has everything that was received, and the arguments have ended."""
        arguments = self.intended.arguments
        if not (self.is_open and self.intended.call.name and arguments.ended):
            return False
        return self.text.diverged or (arguments.is_json and self._has_all())

    def is_in_step(self, fragment: str = "") -> bool:
        return is_in_step(self.intended.reader, self.text, fragment)

    def _has_all(self, lacking: str = "") -> bool:
        """Whether the client has exactly the text so far, except for `lacking` at its end."""
        arguments = self.intended.arguments
        return self.text.is_in_step(arguments, arguments.size - len(lacking))

    def note_sent(self, text: str, *, as_received: bool) -> None:
        """Record that more arguments were sent; `as_received`: the client then has exactly the received text."""
        if not self.text.diverged:
            self.text.add(text, self.intended.arguments, as_received=as_received)

    def lack(self, fragment: str, *, upto: int | None = None, final: bool = False) -> Lack:
        """The part of the arguments that the client lacks; `fragment`: the last received one.

        `upto`: the number of characters up to the current event; waiting events have the rest.
        `final`: no more fragments arrive.
        """
        if self.text.diverged:
            return Lack(fragment)
        intended, reader = self.intended, self.intended.reader
        is_last = upto is None or upto == reader.received.size
        if is_last and (self.is_in_step(fragment) if fragment else self.is_open and self._has_all()):
            return Lack(fragment, as_received=True)
        text, defect, is_ambiguous = intended.text(final=final)
        has, is_cumulative = self.text.text, reader.cumulative is not None
        if text and has.startswith(text) and not is_cumulative:  # it also has text that may be replaced
            return Lack("", defect)
        if not text.startswith(has):
            return Lack(fragment, defect, contradicts=True)
        if is_cumulative:
            return Lack(text[len(has) :], defect)
        raw = intended.arguments.text()
        if upto is not None:
            received = raw[: max(upto - reader.begin, 0)]
            text = received if text.startswith(received) else text
        as_received = raw.startswith(text) and self._has_all(raw[self.text.size :])
        return Lack(text[len(has) :], defect, is_ambiguous, as_received)

    @property
    def has_all(self) -> bool:
        """Whether the client has all arguments of a complete call."""
        return (self.intended.is_complete_object or self.intended.has_no_arguments) and not self.lack("").text


class Turn:
    """The calls of one choice at the client."""

    def __init__(self) -> None:
        self.calls: list[ClientCall] = []
        self.ids: set[str] = set()
        """The ids of calls at the client."""
        self.indexes: dict[Json, ClientCall] = {}
        """The last call of each received index."""
        self.next_place = 0
        """The index of the next call at the client."""
        self.finished = False
        """Whether a finish reason arrived."""
        self.withholds = False
        """Whether a policy withheld a call."""
        self.complete = False
        """Whether the response ended normally: calls without arguments are complete then."""
        self._open: dict[int, ClientCall] = {}
        """Calls that may lack something, by `order`."""
        self._changed: dict[int, ClientCall] = {}
        """Calls with new fragments since the last `_update_sets`."""
        self._undecided: dict[int, ClientCall] = {}
        """Calls with new fragments since the last `decide_all`."""
        # Positions of calls: whose arguments have begun and are incomplete; that lack a part, or all arguments; that no
        # finish reason makes complete; of arguments without a call.
        self._incomplete: set[int] = set()
        self._lacking: set[int] = set()
        self._partial: set[int] = set()
        self._without_call: set[int] = set()
        self._possible_placeholders: dict[int, ClientCall] = {}
        """Calls whose received text may be a placeholder."""
        self.same_id = SameId(_compared)

    def add(self, intended: IntendedCall) -> ClientCall:
        """Add a call that opens."""
        one = ClientCall(intended, len(self.calls))
        for before in self.calls[-1:]:
            if before.intended.is_blank:
                before.intended.decide()
                self._changed[before.order] = before
        self.calls.append(one)
        return one

    def note(self, state: ClientCall) -> None:
        """Update the state of a call, and of others, after a fragment."""
        intended = state.intended
        self._open[state.order] = self._changed[state.order] = self._undecided[state.order] = state
        if state.is_open and intended.is_placeholder is not None:
            return
        if intended.is_placeholder is None and intended.may_be_placeholder:
            self._possible_placeholders[state.order] = state
        elif intended.is_placeholder is None and not (
            intended.call.arguments.empty or intended.reader.may_become_placeholder
        ):
            self._possible_placeholders.pop(state.order, None)
            verdict = intended.replaces_placeholder
            for one_of_them in (state, *self._possible_placeholders.values()):
                one_of_them.intended.is_placeholder = verdict
            self._changed |= self._possible_placeholders
            self._possible_placeholders.clear()

    def skipped(self, state: ClientCall) -> None:
        """Note that fragments of a call were skipped."""
        self._changed[state.order] = state

    @property
    def has_incomplete(self) -> bool:
        """Whether the arguments of a call have begun and are not complete."""
        self._update_sets()
        return bool(self._incomplete)

    @property
    def has_arguments_without_call(self) -> bool:
        """Whether arguments arrived without a call."""
        self._update_sets()
        return bool(self._without_call)

    @property
    def lacks(self) -> bool:
        """Whether a call lacks a part, or has no arguments."""
        self._update_sets()
        return bool(self._lacking)

    @property
    def is_complete(self) -> bool:
        """Whether all calls are complete at the finish reason."""
        self._update_sets()
        return (self.next_place > 0 or self.withholds) and not self._partial

    def _update_sets(self) -> None:
        for order, one in self._changed.items():
            intended = one.intended
            for found, holds in (
                (self._incomplete, intended.incomplete),
                (self._lacking, intended.lacks),
                (self._partial, intended.is_id_alone or not (intended.is_blank or intended.is_complete_at_finish)),
                (self._without_call, not (intended.call.id or intended.call.name or intended.call.arguments.empty)),
            ):
                (found.add if holds else found.discard)(order)
        self._changed.clear()

    def place_of(self, state: ClientCall) -> Json:
        """The index for a call that was not sent yet."""
        return self.next_place if state.place is None else state.place

    def withheld(self, state: ClientCall, *, keeps_place: bool) -> None:
        """Note that a policy withholds a call; `keeps_place`: later calls that are sent first leave its index free."""
        self.withholds = True
        if keeps_place and state.place is None and not state.intended.is_blank:
            state.place = self.next_place
            self.note_place(state.place)

    def note_place(self, place: Json) -> None:
        """Note that the client has a call with this index."""
        if isinstance(place, int):
            self.next_place = max(self.next_place, place + 1)

    def unfinished(self) -> list[ClientCall]:
        """The calls that may lack something."""
        for order, one in list(self._open.items()):
            if one.is_complete:
                del self._open[order]
        return list(self._open.values())

    def decide_all(self, *, ended: bool = False, final: bool = True) -> None:
        """Decide all calls without later events; `ended`: the body has ended; `final`: as for `IntendedCall.decide`."""
        for one in self._undecided.values():
            one.intended.decide(cut_off=ended and not self.finished, final=final)
        self._changed |= self._undecided
        self._undecided.clear()


def _compared(state: ClientCall) -> Compared:
    """The facts of a call for comparison with others of its id. No arguments count as `{}` at the end."""
    intended, arguments = state.intended, state.intended.call.arguments
    if intended.identified and arguments.empty:
        return Compared(intended.call.name, "{}")
    read = arguments.is_json or intended.reader.cumulative is not None
    complete = read and arguments.is_complete and not (arguments.has_trailing_text or state.text.diverged)
    ended = intended.identified or arguments.is_complete
    return Compared(intended.call.name, arguments.canonical if complete else None, beginning(arguments), ended)


class Client:
    """The client of one stream."""

    def __init__(self, context: Context, reporter: Reporter, policy: Policy = NO_SHAPE) -> None:
        """`policy`: the encoding that the client supports."""
        self.context = context
        self.policy = policy
        self.reporter = reporter
        self.turns: dict[int, Turn] = {}
        self._by_call: dict[int, ClientCall] = {}
        self._joined: dict[int, int] = {}
        """By choice: the choice with the calls to which its arguments belong."""
        self._withholds = policy.withholds
        self._may_be_doubled = reporter.on(DOUBLED_CALL) or reporter.on(DUPLICATE_ID)

    def choice(self, number: int) -> int:
        """The choice that the content of choice `number` belongs to: the first, unless several were requested."""
        if self._joined:
            number = self._joined.get(number, number)
        request = self.context.exchange.request
        if not number or not isinstance(request, dict):
            return number
        wanted, message = json_access.integer(json_access.get(request, "n")), f"choice {number} came, one was asked for"
        return 0 if wanted in {ABSENT, None, 1} and self.reporter.report(SPLIT_CHOICES, 0, message) else number

    def join(self, number: int, call: OpenCall, event: int) -> None:
        """Report that choice `number` has arguments of a call of another choice."""
        message = f"the choice goes from {call.choice} to {number}"
        if number not in self._joined and self.reporter.report(CHANGING_INDEX, event, message, call):
            self._joined[number] = call.choice

    def turn(self, choice: int) -> Turn:
        """The calls of a choice."""
        choice = self.choice(choice) if choice or self._joined else choice
        return self.turns.get(choice) or self.turns.setdefault(choice, Turn())

    def turn_of(self, state: ClientCall) -> Turn:
        """The calls of a call's choice."""
        return self.turn(state.intended.call.choice)

    def find(self, call: OpenCall) -> ClientCall | None:
        """The state of a call, if it has opened."""
        return self._by_call.get(id(call))

    def call(self, call: OpenCall) -> ClientCall:
        """The state of a call, which opens if it is new."""
        one = self._by_call.get(id(call))
        if one is None:
            intended = IntendedCall(call, self.context, self.reporter.on)
            one = self._by_call[id(call)] = self.turn(call.choice).add(intended)
        return one

    def is_duplicate(self, state: ClientCall) -> bool:
        """Whether a call only repeats an earlier one."""
        return bool(self._repeats(state))

    def waits(self, state: ClientCall) -> bool:
        """Whether an event of a call waits because later events may change it."""
        if state.intended.waits_for_text:
            return True
        if state.is_open:
            return False
        if state.intended.waits_for_identity:
            return True
        return self._may_be_doubled and self._repeats(state) is None

    def _repeats(self, state: ClientCall) -> bool | None:
        call = state.intended.call
        if call.header_of is not None:
            again = call.is_header_again
            if again or (again is None and not state.intended.identified):
                return again
        return self.turn(call.choice).same_id.repeats(call.id, state)

    @property
    def held(self) -> list[ClientCall]:
        """The calls with withheld entries."""
        if not self._withholds:
            return []
        return [one for turn in self.turns.values() for one in turn.unfinished() if one.held]

    def withholding(self, state: ClientCall, *, final: bool) -> tuple[str, ...]:
        """The shapes that withhold a call now; `final`: no more fragments of it arrive."""
        parts = [part for part in self.policy.parts if part.withholds] if self._withholds else ()
        return tuple(name for part in parts if not self._may_send(part, state, final=final) for name in part.names)

    def _may_send(self, part: Policy, state: ClientCall, *, final: bool) -> bool:
        """Whether a single policy lets a call be sent now."""
        if part.complete_only:
            return self._may_send_complete(state, final=final)
        if part.sequential:
            return final or all(map(_is_sent, self.turn_of(state).calls[: state.order]))
        return final or state.is_open or state.text.diverged or bool(state.lack("", upto=state.received).text)

    def _may_send_complete(self, state: ClientCall, *, final: bool) -> bool:
        """Whether a call is complete, more of it is unlikely, and all earlier ones were sent."""
        turn = self.turn_of(state)
        if state.is_open or not (
            _all_received(state) and is_complete(state.intended.call, self.context, ended=turn.complete)
        ):
            return state.is_open
        if final:
            return True
        if not state.lack("", upto=state.received).text:
            return False
        is_followed = turn.finished or state.order < len(turn.calls) - 1 or not state.intended.call.runs.more_than(1)
        return is_followed and all(earlier.is_open for earlier in turn.calls[: state.order])

    def decide_all(self, *, ended: bool = False, final: bool = True) -> None:
        """As `Turn.decide_all`, for all choices."""
        for turn in self.turns.values():
            turn.decide_all(ended=ended, final=final)


def _all_received(state: ClientCall) -> bool:
    """Whether no waiting event has more of its arguments."""
    return state.received >= state.intended.reader.received.size


def _is_sent(state: ClientCall) -> bool:
    """Whether the client has all of a complete call, or will not get it."""
    return (
        state.intended.is_blank
        or state.defect is DOUBLED_CALL
        or (state.has_all and not state.intended.has_no_arguments)
    )
