"""The calls of Ollama's chat, and arguments that other servers send as text in several lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.resolver import CompleteCalls

if TYPE_CHECKING:
    from collections.abc import Mapping

    from toolstream_core.model import Fragment


class OllamaCalls(CompleteCalls):
    """Each entry is a call. One without a name goes on with the arguments of the last call, if both are text.

    Docker Model Runner sends calls so (open-webui/open-webui#26880).
    """

    def __init__(self, tools: Mapping[str, bool] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._text_call: OpenCall | None = None
        """The last call, if its arguments are text."""

    @override
    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        last = self._text_call
        goes_on = _is_text(fragment) and not nonblank(fragment.name)
        if goes_on and last is not None and (last.incomplete or last.arguments.empty):
            return last
        call = super()._place(fragment, event)
        self._text_call = call if _is_text(fragment) else None
        return call


def _is_text(fragment: Fragment) -> bool:
    return fragment.arguments == "" or not fragment.well_formed
