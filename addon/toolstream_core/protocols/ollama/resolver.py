"""The calls of Ollama's chat, and arguments that other servers send as text in several lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import override

from toolstream_core.calls import Parameters
from toolstream_core.calls.open_call import OpenCall, nonblank
from toolstream_core.calls.resolver import CompleteCalls
from toolstream_core.model import Fragment


class OllamaCalls(CompleteCalls):
    """Each entry is a call. One without a name continues the arguments of the last call, if both are text.

    Docker Model Runner sends calls so (open-webui/open-webui#26880).
    """

    def __init__(self, tools: Mapping[str, Parameters] | None = None) -> None:
        """`tools`: as for `Calls`."""
        super().__init__(tools)
        self._text_call: OpenCall | None = None
        """The last call, if its arguments are text."""

    @override
    def _place(self, fragment: Fragment, event: int) -> OpenCall:
        del event
        last, is_text = self._text_call, fragment.arguments == "" or not fragment.well_formed
        if is_text and last is not None and last.arguments.last_complete is None and _continues(last, fragment):
            return last
        call = self._open(fragment)
        self._text_call = call if is_text else None
        return call


def _continues(last: OpenCall, fragment: Fragment) -> bool:
    """Whether a part of JSON text is the next one of the last call's arguments."""
    return not nonblank(fragment.name) and (last.incomplete or last.arguments.empty)
