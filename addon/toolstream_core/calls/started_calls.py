"""Calls that one event starts and another ends, each with the call's index."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.resolver import Calls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import EventContent, Fragment, Seen


class StartedCalls(Calls):
    """A start opens a call, also at an index in use; a start for the open call again goes on with it."""

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._newest: dict[Seen[int], OpenCall] = {}
        """By index, the call that was started there last."""
        self._ended_last: OpenCall | None = None
        """The call that was ended last, where nothing else was ended behind it."""

    @override
    def conclude(self, content: EventContent) -> None:
        """The call that a limit cuts is ended too, and is no less cut for that."""
        super().conclude(content)
        last = self._ended_last
        if last is not None and not last.arguments.whole and any(is_cut(finish.reason) for finish in content.finishes):
            self._cut_short(last)

    def _cut_short(self, call: OpenCall) -> None:
        """A limit cut this call, whose end has come."""
        call.cut, call.over = True, False

    def _started_again(self, fragment: Fragment) -> OpenCall | None:
        """One call started twice: same index, id and name as far as it has one, not ended in between (ccx#183)."""
        last = self._opened[-1] if self._opened else None
        if last is None or last.closed or not nonblank(fragment.id) or nonblank(fragment.name) not in {"", last.name}:
            return None
        return last if (last.index, last.id) == (fragment.index, fragment.id) else None
