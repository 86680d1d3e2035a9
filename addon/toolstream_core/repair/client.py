"""All calls of one stream, as the client has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID
from toolstream_core.repair.client_call import Turn, same
from toolstream_core.repair.intended import IntendedCall
from toolstream_core.repair.shapes import NO_SHAPE

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
        return self.policy.withholding(self.turn_of(one), one, self.context, over=over) if self._holds else ()

    def settle(self, *, ended: bool = False) -> None:
        """Nothing follows that could change what has come; `ended`: because the body is over."""
        for turn in self.turns.values():
            turn.settle(ended=ended)
