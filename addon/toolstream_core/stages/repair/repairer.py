"""The common part of repairs: reports defects, and repairs those that are selected; which events cannot be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.model import ABSENT
from toolstream_core.stages.repair.reporter import Reporter
from toolstream_core.stages.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


type RepairerMaker = Callable[[Context], Repairer]


class Repairer(Stage):
    """Reports the defects of a stream, and repairs the selected ones.

    Its parts get the `reporter`, not the repairer. A frame that needs no repair is forwarded as the same object.
    """

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        reporter = self.reporter = Reporter(context)
        self.report, self.audit = reporter.report, reporter.audit
        self.repairs_at_end, self.because, self.on = reporter.repairs_at_end, reporter.because, reporter.on
        self._before: list[Frame] = []
        self._after: list[Frame] = []
        """Events since one that may still change, and the frames that were forwarded for them."""
        self.has_gap = False
        """Whether an event could not be read: a call may lack a part, so no end of a call is added."""

    def forwarded(self, frame: Frame | None, out: list[Frame], *, waits: bool = False) -> None:
        """Audit the frames for an event, or for the body's end. One that `waits` for the next is not changed yet."""
        if not (waits or self._before) and len(out) == 1 and out[0] is frame:
            return
        if frame is not None:
            self._before.append(frame)
        self._after += out
        if waits:
            return
        before, after = self._before, self._after
        self._before, self._after = [], []
        if before != after:
            self.audit((before or after)[0].number, before, after)


_OF_CALLS: Final = (b'"arguments"', b'"partial_json"', b'"tool_calls"', b'"toolUse"', b'"delta"')
"""Keys under which protocols have calls or parts of them."""


def is_unread(event: Event) -> bool:
    """Whether a call may lack the content of an event that is too large, not JSON, or of an unknown kind.

    Comments sent as data, `[DONE]`, and events of unknown kinds without a key of calls do not count.
    """
    frame = event.frame
    if frame.oversize:
        return True
    data = (frame.data or b"").strip()
    if not data or data.startswith(b":") or data == b"[DONE]":
        return False
    return frame.json is ABSENT or any(key in data for key in _OF_CALLS)


def hides_arguments(event: Event) -> bool:
    """Whether an event of calls has arguments under unknown keys, which the calls therefore lack."""
    fragments = event.content.fragments
    if not fragments or any(one.arguments is not ABSENT for one in fragments):
        return False
    return b'"arguments"' in event.frame.raw
