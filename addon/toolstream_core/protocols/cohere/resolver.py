"""Which call an event of Cohere v2 belongs to: by its index, from its start to its end. Calls follow one another."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.json_text import is_object
from toolstream_core.calls.resolver import same_arguments
from toolstream_core.calls.started_calls import StartedCalls
from toolstream_core.model import Fragment, Phase

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.calls.open_call import OpenCall


class CohereCalls(StartedCalls):
    """A `tool-call-start` opens, also at an index in use; a start for the open call again goes on with it.

    A delta or end of another index than any open call's is the one open call's.
    """

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._still_open: dict[int, OpenCall] = {}
        """Calls that were started and not ended, by their position."""

    @override
    def _cut_short(self, call: OpenCall) -> None:
        call.cut, call.over = not call.arguments.empty, call.arguments.empty

    @override
    def _place(self, fragment: Fragment, event: int) -> OpenCall | None:
        if fragment.phase is Phase.WHOLE:
            return self._open(fragment)
        if fragment.phase is Phase.CLOSE:
            self._ended_last = self._ended(fragment)
            return self._ended_last
        if fragment.phase is Phase.OPEN:
            call = self._started_again(fragment) or self._open(fragment)
            self._ended_last = None
        else:
            call = self._continued(fragment)
        if not self.overflowed:
            self._newest[fragment.index] = call
            if not call.closed:
                self._still_open[call.position] = call
        return call

    def _continued(self, fragment: Fragment) -> OpenCall:
        """The call that a delta goes on with."""
        newest = self._newest.get(fragment.index)
        if newest is not None and not newest.closed and not self._left_behind(newest):
            return newest
        call = self._only_open(fragment) or newest
        return self._open(fragment) if call is None or _says_another(call, fragment) else call

    def _left_behind(self, call: OpenCall) -> bool:
        """Whether a call is whole, and the next one has started and is not."""
        newest = self._opened[-1]
        return newest is not call and call.arguments.whole and not (newest.closed or newest.arguments.whole)

    def _only_open(self, fragment: Fragment) -> OpenCall | None:
        """The one open call that the fragment may be of: what follows whole arguments under a number is not."""
        numbered = isinstance(fragment.index, int) and fragment.phase is Phase.MORE
        able = [call for call in self._still_open.values() if not (numbered and call.arguments.whole)]
        return able[0] if len(able) == 1 else None

    def _ended(self, fragment: Fragment) -> OpenCall | None:
        newest = self._newest.get(fragment.index)
        if newest is not None and not newest.closed:
            return newest
        return None if newest is not None else self._only_open(fragment)

    @override
    def _fill_phase(self, call: OpenCall, fragment: Fragment) -> None:
        super()._fill_phase(call, fragment)
        if fragment.phase is Phase.CLOSE:
            call.over = True
            self._still_open.pop(call.position, None)


def _says_another(call: OpenCall, fragment: Fragment) -> bool:
    """Whether a delta behind the end of a whole call says other whole arguments: those of no call that was started."""
    text = fragment.arguments
    if not (call.closed and isinstance(text, str) and is_object(text)):
        return False
    meant, whole = call.meant(may_be_empty=False)
    return whole and not same_arguments(text, meant)
