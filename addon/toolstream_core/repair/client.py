"""All calls of one stream, as the client has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.repair.client_call import Turn, same
from toolstream_core.repair.difference import has_all, lack
from toolstream_core.repair.intended import IntendedCall
from toolstream_core.repair.shapes import NO_SHAPE, is_complete

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.repair.client_call import ClientCall
    from toolstream_core.repair.shapes import Policy
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.reporter import Reporter


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

    def turn_of(self, one: ClientCall) -> Turn:
        """The calls of a call's choice."""
        return self.turns.get(one.intended.call.choice) or self.turns[0]

    def find(self, call: OpenCall) -> ClientCall | None:
        """A call that has opened."""
        return self._by_call.get(id(call))

    def call(self, call: OpenCall, choice: int) -> ClientCall:
        """A call, which opens where it is new."""
        one = self._by_call.get(id(call))
        if one is None:
            one = self._by_call[id(call)] = self.turn(choice).add(IntendedCall(call, self.context, self.reporter.on))
        return one

    def doubles(self, one: ClientCall) -> bool:
        """Whether a call only repeats an earlier one."""
        earlier = self.turn_of(one).earlier(one)
        return earlier is not None and same(one, earlier)

    def waits(self, one: ClientCall) -> bool:
        """Whether what a call is may still change."""
        if one.intended.waits_for_text or one.intended.is_guessed:
            return True
        if one.is_open:
            return False
        if one.intended.waits_for_identity:
            return True
        complete = one.intended.settled or one.intended.call.arguments.is_complete
        return not complete and self._may_be_doubled and self.turn_of(one).earlier(one) is not None

    @property
    def held(self) -> list[ClientCall]:
        """The calls with withheld entries."""
        if not self._holds:
            return []
        return [one for turn in self.turns.values() for one in turn.unfinished() if one.held]

    def withholding(self, one: ClientCall, *, over: bool) -> tuple[str, ...]:
        """The shapes for which nothing of a call may be sent now; `over`: the provider sends no more of it."""
        parts = [part for part in self.policy.parts if part.holds] if self._holds else ()
        return tuple(name for part in parts if not self._may_send(part, one, over=over) for name in part.names)

    def _may_send(self, part: Policy, one: ClientCall, *, over: bool) -> bool:
        """Whether anything of a call may be sent now to a client with one need."""
        if part.leaves_out:
            return self._may_send_complete(one, over=over)
        if part.in_turn:
            return over or all(map(_is_sent, self.turn_of(one).calls[: one.order]))
        return over or one.is_open or one.text.diverged or bool(lack(one, "", upto=one.received).text)

    def _may_send_complete(self, one: ClientCall, *, over: bool) -> bool:
        """A call is sent after all earlier ones, once it is complete and more of it is unlikely."""
        turn = self.turn_of(one)
        if one.is_open or not (_has_come(one) and is_complete(one.intended.call, self.context, over=turn.complete)):
            return one.is_open
        if over:
            return True
        if not lack(one, "", upto=one.received).text:
            return False
        is_followed = turn.finished or one.order < len(turn.calls) - 1 or not one.intended.call.runs.more_than(1)
        before = [earlier for earlier in turn.calls[: one.order] if not earlier.is_open]
        return is_followed and not any(self._may_become_complete(turn, earlier) for earlier in before)

    def _may_become_complete(self, turn: Turn, one: ClientCall) -> bool:
        """Whether a call that the client lacks is complete, or may yet be."""
        return not (turn.finished and _has_come(one)) or is_complete(
            one.intended.call, self.context, over=turn.complete
        )

    def settle(self, *, ended: bool = False) -> None:
        """Nothing follows that could change what has come; `ended`: because the body is over."""
        for turn in self.turns.values():
            turn.settle(ended=ended)


def _has_come(one: ClientCall) -> bool:
    """Whether no event with more of its arguments waits."""
    return one.received >= one.intended.meaning.received.size


def _is_sent(one: ClientCall) -> bool:
    """Whether the client has all of a complete call, or gets none of it."""
    return one.intended.nothing or one.defect is DOUBLED_CALL or (not one.intended.silent and has_all(one))
