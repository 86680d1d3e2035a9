"""Which call an event of Cohere v2 belongs to: by its index, from its start to its end. Calls follow one another."""

from __future__ import annotations

from typing import ClassVar, override

from toolstream_core.calls.open_call import OpenCall
from toolstream_core.calls.started_calls import StartedCalls
from toolstream_core.model import Fragment, Phase
from toolstream_core.protocols.cohere.reader import FOREIGN_INDEX


class CohereCalls(StartedCalls):
    """A `tool-call-start` opens, `tool-call-end` ends; one of an index that no call has ends the one open call."""

    foreign_index: ClassVar[int] = FOREIGN_INDEX
    sequential: ClassVar[bool] = True

    @override
    def _cut_short(self, call: OpenCall) -> None:
        call.cut, call.ended = not call.arguments.empty, call.arguments.empty

    @override
    def _started(self, fragment: Fragment) -> OpenCall:
        self._ended_last = None
        return self._open_at(fragment) if fragment.phase is Phase.WHOLE else super()._started(fragment)

    @override
    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        """The arguments in a start are the first ones."""
        if fragment.phase is Phase.OPEN and isinstance(fragment.arguments, str):
            call.arguments.add(fragment.arguments)
        else:
            super()._fill_phase(call, fragment)
