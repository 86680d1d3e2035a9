"""The calls of one choice of a Chat Completions stream, as the client has them, and how the choice finished."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.chat.repair.client_call import ClientCall
from toolstream_core.protocols.chat.repair.indexes import Indexes
from toolstream_core.protocols.chat.repair.same_id import Twins
from toolstream_core.protocols.chat.repair.unfinished import Unfinished

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Seen
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.reporter import Reporter


class Choice:
    """The calls of one choice, as the client has received them."""

    def __init__(self, number: int) -> None:
        """A choice of which nothing has been sent."""
        self.number = number
        self.calls: list[ClientCall] = []
        self.indexes = Indexes()
        self.ids: dict[str, ClientCall] = {}
        self.twins = Twins()
        self.placeholders: dict[int, ClientCall] = {}
        """By `id`: calls whose first `{}` may stand for what follows."""
        self.doubtful: dict[int, ClientCall] = {}
        """By `id`: calls that are settled where the next one opens."""
        self.keeping: dict[int, ClientCall] = {}
        """By `id`: calls of which some arguments may have been kept back."""
        self.apart = self.custom = False
        """Whether arguments without an index stayed as they came, as those of no call for sure; whether it has calls of
        custom tools, whose events are forwarded unchanged."""
        self.unsettled: list[ClientCall] = []
        self.unfinished = Unfinished()
        self.finish: str | None = None
        """The finish reason that the client has."""
        self.finish_event = self.held_event = 0
        self.resumed = False
        """Whether calls went on behind it."""
        self.loose = False
        """Whether a finish went on a second time when there was no call yet."""
        self.reasons: set[str] = set()
        """Every finish reason that came."""
        self.shortened: frozenset[int] = frozenset()
        """By `id`, the calls that were half when the client was sent `length` because of them."""
        self.held: str | None = None
        """A finish reason that came too early and is still owed."""

    def open(self, call: OpenCall, context: Context, reporter: Reporter) -> ClientCall:
        """A call opens."""
        client_call = ClientCall(call, self.number, len(self.calls), context, reporter)
        self.calls.append(client_call)
        self.unsettled.append(client_call)
        self.unfinished.touch(client_call)
        return client_call

    def pass_custom(self, index: Seen[int]) -> None:
        """An entry of a call of a custom tool is forwarded."""
        self.custom = True
        if isinstance(index, int):
            self.indexes.pass_by(index)

    def decide(self, client_call: ClientCall) -> None:
        """A first `{}` or `null` of a call does not stand for anything that follows."""
        self.unfinished.touch(client_call)
        client_call.decide()

    def settle_call(self, client_call: ClientCall) -> None:
        """Nothing more is waited for that could change what a call is."""
        self.unfinished.touch(client_call)
        client_call.settle()

    def settle(self, *, cut_off: bool = False) -> None:
        """Nothing more is waited for; `cut_off`: more was to come."""
        waiting, self.unsettled = self.unsettled, []
        for client_call in waiting:
            client_call.cut_off = cut_off
            self.settle_call(client_call)
        self.placeholders.clear()
        self.doubtful.clear()

    @property
    def has_calls(self) -> bool:
        """Whether it has any call; an entry of nothing is none."""
        return self.custom or any(not client_call.nothing for client_call in self.calls)

    @property
    def whole(self) -> bool:
        """Whether it has calls, and all are whole where the answer has said how it finished."""
        return self.has_calls and not self.unfinished.any_lacking
