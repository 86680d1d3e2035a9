"""Which call a Converse block belongs to: by its index, from its start to its stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.started_calls import StartedCalls
from toolstream_core.model import ABSENT, Phase

if TYPE_CHECKING:
    from toolstream_core.calls.open_call import OpenCall
    from toolstream_core.model import EventContent, Fragment


class ConverseCalls(StartedCalls):
    """A `contentBlockStart` opens, also at an index in use; a start for the open call again goes on with it."""

    _stopped = False
    """Whether the message has stopped: what starts then is new."""

    @override
    def conclude(self, content: EventContent) -> None:
        super().conclude(content)
        self._stopped = self._stopped or content.end

    @override
    def _started_again(self, fragment: Fragment) -> OpenCall | None:
        return None if self._stopped else super()._started_again(fragment)

    @override
    def _place(self, fragment: Fragment, event: int) -> OpenCall | None:
        newest = self._newest.get(fragment.index) or self._only_open(fragment)
        if fragment.phase is Phase.CLOSE:
            self._ended_last = None if newest is None or newest.closed else newest
            return self._ended_last
        if fragment.phase is Phase.MORE:
            call = newest or self._lonely() or self._open(fragment)
        else:
            call = self._started_again(fragment) or self._open(fragment)
            self._newest.pop(ABSENT, None)  # what comes without an index may be of the new call, too
        if not self.overflowed:
            self._newest[fragment.index] = call
        return call

    def _only_open(self, fragment: Fragment) -> OpenCall | None:
        """The call that a delta or a stop without an index belongs to: the newest, where it alone is open."""
        if isinstance(fragment.index, int) or fragment.phase not in {Phase.MORE, Phase.CLOSE}:
            return None
        still_open = [call for call in self._opened[-2:] if not call.closed]
        return still_open[0] if len(still_open) == 1 else None

    def _lonely(self) -> OpenCall | None:
        """Where a delta of an index that was never started belongs: to the one open call that got none, a guess."""
        waiting = [call for call in self._opened[-2:] if not (call.closed or call.arguments.whole)]
        if len(waiting) != 1 or not waiting[0].arguments.empty:
            return None
        waiting[0].guessed = True
        return waiting[0]

    @override
    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        if fragment.phase is Phase.WHOLE:
            super()._fill_phase(call, fragment)
        elif fragment.phase is Phase.CLOSE:
            call.closed = call.over = True
        elif isinstance(fragment.arguments, str):
            call.start_with(fragment.arguments)
