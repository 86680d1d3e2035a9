"""Which call an event of Cohere v2 belongs to: by its index, from its start to its end. Calls follow one another."""

from __future__ import annotations

from typing import ClassVar, override

from toolstream_core.calls.open_call import OpenCall
from toolstream_core.calls.started_calls import SequentialCalls
from toolstream_core.model import Fragment, Phase
from toolstream_core.protocols.cohere.reader import FOREIGN_INDEX


class CohereCalls(SequentialCalls):
    """A `tool-call-start` opens, `tool-call-end` ends; one of an index that no call has ends the one open call."""

    foreign_index: ClassVar[int] = FOREIGN_INDEX

    @override
    def _cut_short(self, call: OpenCall) -> None:
        call.cut, call.ended = not call.arguments.empty, call.arguments.empty

    @override
    def _started(self, fragment: Fragment) -> OpenCall:
        self._ended_last = None
        return self._open_at(fragment) if fragment.phase is Phase.WHOLE else super()._started(fragment)

    @property
    @override
    def _only_taking(self) -> OpenCall | None:
        """Calls never overlap: one with complete arguments gets no more, also before its end."""
        taking = [call for call in self._still_open.values() if not call.arguments.is_complete]
        return taking[0] if len(taking) == 1 else None

    @override
    def _is_past(self, call: OpenCall) -> bool:
        """Also a complete call if the next one has started and is incomplete."""
        newest = self._opened[-1]
        complete = (
            newest is not call and call.arguments.is_complete and not (newest.closed or newest.arguments.is_complete)
        )
        return call.closed or complete

    @override
    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        """The arguments in a start are the first ones."""
        if fragment.phase is Phase.OPEN and isinstance(fragment.arguments, str):
            call.arguments.add(fragment.arguments)
        else:
            super()._fill_phase(call, fragment)
