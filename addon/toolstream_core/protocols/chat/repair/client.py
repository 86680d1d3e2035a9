"""The calls of one stream in a client that follows the documentation exactly, and the parts that it lacks."""

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
    """Why it differs from the received fragment."""
    stands: bool = False
    """Whether the fragment is forwarded unchanged all the same."""
    as_received: bool = False
    """Whether the client has exactly the received text once it has this."""
    contradicts: bool = False
    """Whether the client has other arguments than the intended ones: the fragment is forwarded unchanged."""


class Held:
    """Entries of a call that a policy withholds, joined to one."""

    def __init__(self, entry: Json, delta: str, upto: int) -> None:
        """`delta`: the arguments that it brings; `upto`: how many characters of them had arrived with it."""
        self._entry, self.upto = entry, upto
        self._more = JoinedText()
        """Arguments after those of `_entry`."""
        self._delta = JoinedText([delta])

    @property
    def entry(self) -> Json:
        """The entry to send for all of them."""
        if self._more:
            self._entry = as_one(self._entry, continuation(ABSENT, self._more.text()))
            self._more = JoinedText()
        return self._entry

    @property
    def delta(self) -> str:
        """The arguments of all of them."""
        return self._delta.text()

    def takes(self, entry: Json, delta: str, upto: int) -> bool:
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
    """A call as the client has it, and the intended call."""

    def __init__(self, intended: IntendedCall, order: int) -> None:
        """A call that was not sent yet; `order`: its position among the calls."""
        self.intended = intended
        self.order = order
        self.place: Json = None
        """The index under which the client has it, or will have it."""
        self.id = self.name = ""
        self.text = ClientText(intended.call.arguments)
        """Its arguments as the client has joined them."""
        self.received = 0
        """Length of the received arguments up to the last event that was sent; waiting events have the rest."""
        self.is_open = False
        """Whether the client knows of it."""
        self.header: dict[str, Json] = {}
        """The received fields of the entry that opened it."""
        self.defect: Defect | None = None
        """The deviation for which a part of it was last withheld or changed."""
        self.held: list[Held] = []
        """The entries that a policy withholds, joined if their keys allow it."""
        self.held_for: tuple[str, ...] = ()
        """The shapes for which they are withheld."""
        self.in_message = False
        """Whether it is only in messages."""
        self.seen_as = ("", "")
        """Its id and name after the fragment before."""

    @property
    def is_complete(self) -> bool:
        """Whether nothing of it can be missing, unless more of it arrives."""
        arguments = self.intended.arguments
        if not (self.is_open and self.intended.call.name and arguments.ended):
            return False
        return self.text.diverged or (arguments.is_json and self._has_all())

    def needs(self, fragment: str = "") -> bool:
        """As `is_in_step`."""
        return is_in_step(self.intended.meaning, self.text, fragment)

    def _has_all(self, lacking: str = "") -> bool:
        """Whether the client has exactly the text so far, except for its end."""
        arguments = self.intended.arguments
        return self.text.is_in_step(arguments, arguments.size - len(lacking))

    def got(self, text: str, *, as_received: bool) -> None:
        """More of its arguments was sent; `as_received`: the client now has exactly the received text so far."""
        if not self.text.diverged:
            self.text.add(text, self.intended.arguments, as_received=as_received)

    def lack(self, fragment: str, *, upto: int | None = None, over: bool = False) -> Lack:
        """The part of the arguments that the client lacks; `fragment` is the last received one.

        `upto`: the number of characters up to the current event; waiting events send the rest.
        `over`: the provider sends no more of them.
        """
        if self.text.diverged:
            return Lack(fragment)
        intended, meaning = self.intended, self.intended.meaning
        is_last = upto is None or upto == meaning.received.size
        if is_last and (self.needs(fragment) if fragment else self.is_open and self._has_all()):
            return Lack(fragment, as_received=True)
        text, defect, stands = intended.text(over=over)
        has, is_cumulative = self.text.text, meaning.cumulative is not None
        if text and has.startswith(text) and not is_cumulative:  # it also has text that may be replaced
            return Lack("", defect)
        if not text.startswith(has):
            return Lack(fragment, defect, contradicts=True)
        if is_cumulative:
            return Lack(text[len(has) :], defect)
        raw = intended.arguments.text()
        if upto is not None:
            received = raw[: max(upto - meaning.begin, 0)]
            text = received if text.startswith(received) else text
        as_received = raw.startswith(text) and self._has_all(raw[self.text.size :])
        return Lack(text[len(has) :], defect, stands, as_received)

    @property
    def has_all(self) -> bool:
        """Whether the client has all arguments of a complete call."""
        return (self.intended.is_complete_object or self.intended.silent) and not self.lack("").text


class Turn:
    """The calls of one choice, or of one response, as the client has them."""

    def __init__(self) -> None:
        self.calls: list[ClientCall] = []
        self.ids: set[str] = set()
        """The ids that the client has."""
        self.indexes: dict[Json, ClientCall] = {}
        """The received indexes, and the last call of each."""
        self.next_place = 0
        """The place of the next call for the client."""
        self.finished = False
        """Whether a finish reason arrived."""
        self.withholds = False
        """Whether a policy withheld a call."""
        self.complete = False
        """Whether the response ended normally: calls without arguments are complete then."""
        self._open: dict[int, ClientCall] = {}
        """Calls that may lack something, by `order`."""
        self._changed: dict[int, ClientCall] = {}
        """Calls with new fragments since they were last judged."""
        self._unsettled: dict[int, ClientCall] = {}
        """Calls with new fragments since they were last settled."""
        # Positions of calls: whose arguments have begun and are incomplete; that lack a part, or all arguments; that no
        # finish reason makes complete; of arguments without a call.
        self._incomplete: set[int] = set()
        self._lacking: set[int] = set()
        self._broken: set[int] = set()
        self._anonymous: set[int] = set()
        self._undecided: dict[int, ClientCall] = {}
        """Calls whose received text may stand for later arguments."""
        self.same_id = SameId(_compared)

    def add(self, intended: IntendedCall) -> ClientCall:
        """A call opens."""
        one = ClientCall(intended, len(self.calls))
        for before in self.calls[-1:]:
            if before.intended.nothing:
                before.intended.settle()
                self._changed[before.order] = before
        self.calls.append(one)
        return one

    def note(self, state: ClientCall) -> None:
        """Take a fragment of a call: update the state of this call and of others."""
        intended = state.intended
        self._open[state.order] = self._changed[state.order] = self._unsettled[state.order] = state
        if state.is_open and intended.is_placeholder is not None:
            return
        if intended.is_placeholder is None and intended.may_be_placeholder:
            self._undecided[state.order] = state
        elif intended.is_placeholder is None and not (
            intended.call.arguments.empty or intended.meaning.may_become_placeholder
        ):
            self._undecided.pop(state.order, None)
            verdict = intended.replaces_placeholder
            for one_of_them in (state, *self._undecided.values()):
                one_of_them.intended.is_placeholder = verdict
            self._changed |= self._undecided
            self._undecided.clear()

    def skipped(self, state: ClientCall) -> None:
        """Plain fragments of a call were forwarded unseen."""
        self._changed[state.order] = state

    @property
    def has_incomplete(self) -> bool:
        """Whether the arguments of a call have begun and are not complete."""
        self._judge()
        return bool(self._incomplete)

    @property
    def has_anonymous(self) -> bool:
        """Whether arguments arrived without a call."""
        self._judge()
        return bool(self._anonymous)

    @property
    def lacks(self) -> bool:
        """Whether a call lacks a part, or has no arguments."""
        self._judge()
        return bool(self._lacking)

    @property
    def is_complete(self) -> bool:
        """Whether all calls are complete at the finish reason."""
        self._judge()
        return (self.next_place > 0 or self.withholds) and not self._broken

    def _judge(self) -> None:
        for order, one in self._changed.items():
            intended = one.intended
            for found, holds in (
                (self._incomplete, intended.incomplete),
                (self._lacking, intended.lacks),
                (self._broken, intended.is_id_alone or not (intended.nothing or intended.is_complete_at_finish)),
                (self._anonymous, not (intended.call.id or intended.call.name or intended.call.arguments.empty)),
            ):
                (found.add if holds else found.discard)(order)
        self._changed.clear()

    def place_of(self, state: ClientCall) -> Json:
        """The place of a call that the client does not have yet."""
        return self.next_place if state.place is None else state.place

    def withheld(self, state: ClientCall, *, keeps_place: bool) -> None:
        """A policy withholds a call; `keeps_place`: later ones that are sent before it leave a place for it."""
        self.withholds = True
        if keeps_place and state.place is None and not state.intended.nothing:
            state.place = self.next_place
            self.placed(state.place)

    def placed(self, place: Json) -> None:
        """The client has a call there."""
        if isinstance(place, int):
            self.next_place = max(self.next_place, place + 1)

    def unfinished(self) -> list[ClientCall]:
        """The calls that may lack something."""
        for order, one in list(self._open.items()):
            if one.is_complete:
                del self._open[order]
        return list(self._open.values())

    def settle(self, *, ended: bool = False, over: bool = True) -> None:
        """No later event can change the received calls; `ended`: because the body is over.

        `over`: as for `IntendedCall.settle`.
        """
        for one in self._unsettled.values():
            one.intended.settle(cut_off=ended and not self.finished, over=over)
        self._changed |= self._unsettled
        self._unsettled.clear()


def _compared(state: ClientCall) -> Compared:
    """How a call compares with others of its id. Its arguments count if they are one object, for the client too.

    None at all are `{}` in the end.
    """
    intended, arguments = state.intended, state.intended.call.arguments
    if intended.settled and arguments.empty:
        return Compared(intended.call.name, "{}")
    read = arguments.is_json or intended.meaning.cumulative is not None
    complete = read and arguments.is_complete and not (arguments.spilled or state.text.diverged)
    settled = intended.settled or arguments.is_complete
    return Compared(intended.call.name, arguments.meaning if complete else None, beginning(arguments), settled)


class Client:
    """The client of one stream: its calls and what it needs."""

    def __init__(self, context: Context, reporter: Reporter, policy: Policy = NO_SHAPE) -> None:
        """Nothing was sent; `policy`: what the client needs."""
        self.context = context
        self.policy = policy
        self.reporter = reporter
        self.turns: dict[int, Turn] = {}
        self._by_call: dict[int, ClientCall] = {}
        self._joined: dict[int, int] = {}
        """By choice: the one with the calls to which its arguments belong."""
        self._holds = policy.holds
        self._may_be_doubled = reporter.on(DOUBLED_CALL) or reporter.on(DUPLICATE_ID)

    def choice(self, number: int) -> int:
        """The choice to which the content of choice `number` belongs: the first, unless several were requested."""
        if self._joined:
            number = self._joined.get(number, number)
        request = self.context.exchange.request
        if not number or not isinstance(request, dict):
            return number
        wanted, message = json_access.integer(json_access.get(request, "n")), f"choice {number} came, one was asked for"
        return 0 if wanted in {ABSENT, None, 1} and self.reporter.report(SPLIT_CHOICES, 0, message) else number

    def join(self, number: int, call: OpenCall, event: int) -> None:
        """Choice `number` has arguments of a call of another choice."""
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
        """A call that has opened."""
        return self._by_call.get(id(call))

    def call(self, call: OpenCall) -> ClientCall:
        """A call, which opens if it is new."""
        one = self._by_call.get(id(call))
        if one is None:
            intended = IntendedCall(call, self.context, self.reporter.on)
            one = self._by_call[id(call)] = self.turn(call.choice).add(intended)
        return one

    def doubles(self, state: ClientCall) -> bool:
        """Whether a call only repeats an earlier one."""
        return bool(self._repeats(state))

    def waits(self, state: ClientCall) -> bool:
        """Whether the identity of a call may still change."""
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
            if again or (again is None and not state.intended.settled):
                return again
        return self.turn(call.choice).same_id.repeats(call.id, state)

    @property
    def held(self) -> list[ClientCall]:
        """The calls with withheld entries."""
        if not self._holds:
            return []
        return [one for turn in self.turns.values() for one in turn.unfinished() if one.held]

    def withholding(self, state: ClientCall, *, over: bool) -> tuple[str, ...]:
        """The shapes for which no part of a call may be sent now; `over`: the provider sends no more of it."""
        parts = [part for part in self.policy.parts if part.holds] if self._holds else ()
        return tuple(name for part in parts if not self._may_send(part, state, over=over) for name in part.names)

    def _may_send(self, part: Policy, state: ClientCall, *, over: bool) -> bool:
        """Whether anything of a call may be sent now to a client with one need."""
        if part.leaves_out:
            return self._may_send_complete(state, over=over)
        if part.in_turn:
            return over or all(map(_is_sent, self.turn_of(state).calls[: state.order]))
        return over or state.is_open or state.text.diverged or bool(state.lack("", upto=state.received).text)

    def _may_send_complete(self, state: ClientCall, *, over: bool) -> bool:
        """A call is sent after all earlier ones, once it is complete and more of it is unlikely."""
        turn = self.turn_of(state)
        if state.is_open or not (
            _has_come(state) and is_complete(state.intended.call, self.context, over=turn.complete)
        ):
            return state.is_open
        if over:
            return True
        if not state.lack("", upto=state.received).text:
            return False
        is_followed = turn.finished or state.order < len(turn.calls) - 1 or not state.intended.call.runs.more_than(1)
        return is_followed and all(earlier.is_open for earlier in turn.calls[: state.order])

    def settle(self, *, ended: bool = False, over: bool = True) -> None:
        """As `Turn.settle`, for all choices."""
        for turn in self.turns.values():
            turn.settle(ended=ended, over=over)


def _has_come(state: ClientCall) -> bool:
    """Whether no event with more of its arguments waits."""
    return state.received >= state.intended.meaning.received.size


def _is_sent(state: ClientCall) -> bool:
    """Whether the client has all of a complete call, or gets none of it."""
    return state.intended.nothing or state.defect is DOUBLED_CALL or (not state.intended.silent and state.has_all)
