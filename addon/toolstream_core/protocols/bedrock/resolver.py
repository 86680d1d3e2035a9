"""Which call a Converse block belongs to: by its index, from its start to its stop."""

from __future__ import annotations

from typing import override

from toolstream_core.calls.open_call import OpenCall
from toolstream_core.calls.started_calls import StartedCalls
from toolstream_core.model import EventContent, Fragment


class ConverseCalls(StartedCalls):
    """A `contentBlockStart` opens, `contentBlockStop` ends; one without an index ends the one open call."""

    _stopped = False
    """Whether the message has stopped: later starts are new calls."""

    @override
    def conclude(self, content: EventContent) -> None:
        super().conclude(content)
        self._stopped = self._stopped or content.end

    @override
    def _started_again(self, fragment: Fragment) -> OpenCall | None:
        return None if self._stopped else super()._started_again(fragment)

    @override
    def _ended(self, fragment: Fragment) -> OpenCall | None:
        given = isinstance(fragment.index, int) or fragment.index in self._newest
        return super()._ended(fragment) if given else self._only_open
