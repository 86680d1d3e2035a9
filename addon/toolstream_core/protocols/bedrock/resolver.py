"""Which call a Converse block belongs to: by its index, from its start to its stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.calls.open_call import nonblank
from toolstream_core.calls.resolver import Calls
from toolstream_core.model import Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.calls.open_call import OpenCall
    from toolstream_core.model import EventContent, Fragment, Seen


class ConverseCalls(Calls):
    """A `contentBlockStart` opens, also at an index in use; a start for the open call again goes on with it."""

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._newest: dict[Seen[int], OpenCall] = {}
        self._ended = False
        """Whether the message has stopped: what starts then is new."""
        self._stopped_last: OpenCall | None = None
        """The call that was stopped last, where no other block was stopped behind it."""

    @override
    def conclude(self, said: EventContent) -> None:
        """The block that a limit cuts is stopped too, and is no less cut for that."""
        super().conclude(said)
        self._ended = self._ended or said.end
        last = self._stopped_last
        if last is not None and not last.arguments.whole and any(is_cut(finish.reason) for finish in said.finishes):
            last.cut, last.over = True, False

    @override
    def _place(self, fragment: Fragment, event: int) -> OpenCall | None:
        newest = self._newest.get(fragment.index)
        if fragment.phase is Phase.CLOSE:
            self._stopped_last = None if newest is None or newest.closed else newest
            return self._stopped_last
        if fragment.phase is Phase.MORE:
            call = newest or self._lonely() or self._open(fragment)
        else:
            call = self._started_again(fragment) or self._open(fragment)
        if not self.overflowed:
            self._newest[fragment.index] = call
        return call

    def _lonely(self) -> OpenCall | None:
        """Where a delta of an index that was never started belongs: to the one open call that got none, a guess."""
        waiting = [call for call in self._opened[-2:] if not (call.closed or call.arguments.whole)]
        if len(waiting) != 1 or not waiting[0].arguments.empty:
            return None
        waiting[0].guessed = True
        return waiting[0]

    def _started_again(self, fragment: Fragment) -> OpenCall | None:
        last = self._opened[-1] if self._opened else None
        if last is None or last.closed or self._ended or not nonblank(fragment.id):
            return None
        return last if (last.index, last.id) == (fragment.index, fragment.id) else None

    @override
    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        if fragment.phase is Phase.WHOLE:
            super()._fill_phase(call, fragment)
        elif fragment.phase is Phase.CLOSE:
            call.closed = call.over = True
        elif isinstance(fragment.arguments, str):
            call.start_input = fragment.arguments
