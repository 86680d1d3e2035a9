"""The calls of one Cohere stream, as the client has them and as the wire has started them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, override

from toolstream_core.protocols.cohere.repair.output import NamedEventRepairer
from toolstream_core.protocols.requests.tools import earlier_ids

if TYPE_CHECKING:
    from toolstream_core.protocols.cohere.repair.client_call import ClientCall
    from toolstream_core.protocols.cohere.wire import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.repair.emitted import Emitted
    from toolstream_core.wire.frame import Frame

MAX_UNDECIDED: Final = 64
"""Events behind a start that came again, for which the next delta decides on it."""


class Unsure(NamedTuple):
    """A delta of which the next event decides what it becomes; `emitted` is `None` for an event of no call."""

    frame: Frame
    payload: Payload
    changed: Payload
    emitted: Emitted | None


class ClientCalls(NamedEventRepairer):
    """Knows every call that the client has been given."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.last: ClientCall | None = None
        """The call that started last."""
        self.calls: list[ClientCall] = []
        """Those that the client has been given."""
        self.by_id: dict[str, list[ClientCall]] = {}
        """Calls by the id that the provider gave them."""
        self.indexes: dict[int | None, ClientCall] = {}
        """Calls by the number at which the wire started them, the last of each; `None` for one that has none."""
        self._by_call: dict[int, ClientCall] = {}
        self._started = 0
        """How many calls the wire has started, those among them that the client does not get."""
        self._unsure: list[Unsure] = []
        self._astray = False
        """Whether arguments came that belong to no call."""
        self.overflowed = False
        """Whether more calls came than are kept apart."""
        self._earlier: frozenset[str] | None = None

    @property
    def earlier_ids(self) -> frozenset[str]:
        """Ids of the calls of earlier turns, from the request."""
        if self._earlier is None:
            self._earlier = earlier_ids(self.context.exchange.request)
        return self._earlier

    @property
    def keeps_start(self) -> bool:
        """Whether the next delta decides on a start that came again."""
        return self.last is not None and self.last.left_out is not None and len(self._before) < MAX_UNDECIDED

    @property
    def runnable(self) -> bool:
        """Whether calls came, and each of them can be run."""
        return bool(self.calls) and not self._astray and all(one.runnable for one in self.calls)
