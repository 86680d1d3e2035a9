"""Which call of a Gemini Live answer a fragment belongs to: each is a call of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.resolver import Calls

if TYPE_CHECKING:
    from toolstream_core.calls.open_call import OpenCall
    from toolstream_core.model import Fragment


class GeminiLiveCalls(Calls):
    """The calls of one answer."""

    @override
    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        del event
        return self._open(fragment)
