"""Calls that come complete: each fragment is a call of its own. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.resolver import Calls

if TYPE_CHECKING:
    from toolstream_core.calls.open_call import OpenCall
    from toolstream_core.model import Fragment


class CompleteCalls(Calls):
    """The calls of one response."""

    @override
    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        del event
        return self._open(fragment)

    @override
    def _fill(self, call: OpenCall, fragment: Fragment) -> None:
        super()._fill(call, fragment)
        call.over = True
