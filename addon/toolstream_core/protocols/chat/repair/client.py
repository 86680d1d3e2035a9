"""All calls of one stream, as the client has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.protocols.chat.repair.client_call import Turn, same
from toolstream_core.protocols.chat.repair.difference import has_all, lack
from toolstream_core.protocols.chat.repair.intended import IntendedCall
from toolstream_core.repair.shapes import NO_SHAPE, is_complete

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.repair.shapes import Policy
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.repairer import Reporter


class Client:
    """The client of one stream: its calls and what it needs."""

    def __init__(self, context: Context, reporter: Reporter, policy: Policy = NO_SHAPE) -> None:
        """Nothing was sent; `policy`: what the client needs."""
        self.context = context
        self.policy = policy
        self.reporter = reporter
        self.turns: dict[int, Turn] = {}
        self._by_call: dict[int, ClientCall] = {}
        self._holds = policy.holds
        self._may_be_doubled = reporter.on(DOUBLED_CALL) or reporter.on(DUPLICATE_ID)

    def turn(self, choice: int) -> Turn:
        """The calls of a choice."""
        return self.turns.get(choice) or self.turns.setdefault(choice, Turn())

    def turn_of(self, state: ClientCall) -> Turn:
        """The calls of a call's choice."""
        return self.turns.get(state.intended.call.choice) or self.turns[0]

    def find(self, call: OpenCall) -> ClientCall | None:
        """A call that has opened."""
        return self._by_call.get(id(call))

    def call(self, call: OpenCall, choice: int) -> ClientCall:
        """A call, which opens where it is new."""
        one = self._by_call.get(id(call))
        if one is None:
            one = self._by_call[id(call)] = self.turn(choice).add(IntendedCall(call, self.context, self.reporter.on))
        return one

    def doubles(self, state: ClientCall) -> bool:
        """Whether a call only repeats an earlier one."""
        earlier = self.turn_of(state).earlier(state)
        return earlier is not None and same(state, earlier)

    def waits(self, state: ClientCall) -> bool:
        """Whether what a call is may still change."""
        if state.intended.waits_for_text or state.intended.is_guessed:
            return True
        if state.is_open:
            return False
        if state.intended.waits_for_identity:
            return True
        complete = state.intended.settled or state.intended.call.arguments.is_complete
        return not complete and self._may_be_doubled and self.turn_of(state).earlier(state) is not None

    @property
    def held(self) -> list[ClientCall]:
        """The calls with withheld entries."""
        if not self._holds:
            return []
        return [one for turn in self.turns.values() for one in turn.unfinished() if one.held]

    def withholding(self, state: ClientCall, *, over: bool) -> tuple[str, ...]:
        """The shapes for which nothing of a call may be sent now; `over`: the provider sends no more of it."""
        parts = [part for part in self.policy.parts if part.holds] if self._holds else ()
        return tuple(name for part in parts if not self._may_send(part, state, over=over) for name in part.names)

    def _may_send(self, part: Policy, state: ClientCall, *, over: bool) -> bool:
        """Whether anything of a call may be sent now to a client with one need."""
        if part.leaves_out:
            return self._may_send_complete(state, over=over)
        if part.in_turn:
            return over or all(map(_is_sent, self.turn_of(state).calls[: state.order]))
        return over or state.is_open or state.text.diverged or bool(lack(state, "", upto=state.received).text)

    def _may_send_complete(self, state: ClientCall, *, over: bool) -> bool:
        """A call is sent after all earlier ones, once it is complete and more of it is unlikely."""
        turn = self.turn_of(state)
        if state.is_open or not (
            _has_come(state) and is_complete(state.intended.call, self.context, over=turn.complete)
        ):
            return state.is_open
        if over:
            return True
        if not lack(state, "", upto=state.received).text:
            return False
        is_followed = turn.finished or state.order < len(turn.calls) - 1 or not state.intended.call.runs.more_than(1)
        before = [earlier for earlier in turn.calls[: state.order] if not earlier.is_open]
        return is_followed and not any(self._may_become_complete(turn, earlier) for earlier in before)

    def _may_become_complete(self, turn: Turn, state: ClientCall) -> bool:
        """Whether a call that the client lacks is complete, or may yet be."""
        return not (turn.finished and _has_come(state)) or is_complete(
            state.intended.call, self.context, over=turn.complete
        )

    def settle(self, *, ended: bool = False) -> None:
        """Nothing follows that could change what has come; `ended`: because the body is over."""
        for turn in self.turns.values():
            turn.settle(ended=ended)


def _has_come(state: ClientCall) -> bool:
    """Whether no event with more of its arguments waits."""
    return state.received >= state.intended.meaning.received.size


def _is_sent(state: ClientCall) -> bool:
    """Whether the client has all of a complete call, or gets none of it."""
    return state.intended.nothing or state.defect is DOUBLED_CALL or (not state.intended.silent and has_all(state))
