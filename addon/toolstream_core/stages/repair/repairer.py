"""The common part of repairs: reports defects, and the changes for those whose repair is on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, override

from toolstream_core.calls import OpenCall
from toolstream_core.defects.defect import Defect
from toolstream_core.model import ABSENT, Change, Event, Severity
from toolstream_core.stages.context import Context
from toolstream_core.stages.stage import Stage
from toolstream_core.wire.frame import Frame

MAX_EVENTS: Final = 4096
"""Events that wait before all of them are sent."""
MAX_BYTES: Final = 16 * 1024 * 1024
"""The same in bytes."""
MAX_COMMENTS: Final = 8
"""Comments that wait. More of them show that the stream is slow."""


class Reporter:
    """Reports the findings and changes of one repairer.

    `report` returns whether the defect's repair is on, so nothing is rewritten without a finding.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._repairs = context.repairs
        self.has_gap = False
        """Whether an event could not be read: a call may lack a part, so no stop is added."""
        self._reported: set[tuple[str, int | None]] = set()
        self._defects: list[str] = []
        self._shapes: tuple[str, ...] = ()
        """The shapes for which an event is rewritten."""
        self._last_defects: tuple[str, ...] = ()
        self._last_shapes: tuple[str, ...] = ()
        """The defects and shapes of the last rewritten event, also for later changes that have none."""
        self.repaired: set[str] = set()
        """Names of all defects for which events were rewritten."""

    def report(
        self,
        defect: Defect,
        event: int,
        message: str,
        call: OpenCall | None = None,
        *,
        severity: Severity | None = None,
    ) -> bool:
        """Report a defect, once for each call. Returns whether to repair it here, at each occurrence."""
        key = (defect.code, id(call) if call is not None else None)
        if key not in self._reported:
            self._reported.add(key)
            self._context.found(defect.found(event, message, call.position if call else None, severity=severity))
        if defect.code not in self._repairs:
            return False
        if defect.name not in self._defects:
            self._defects.append(defect.name)
        return True

    def note_gap(self, doubtful: Defect) -> None:
        """Note an event that could not be read. `doubtful` is only reported from now on."""
        self.has_gap = True
        self._repairs -= {doubtful.code}

    def repairs_at_end(self, defect: Defect) -> bool:
        """Whether the repair of a defect that is reported after the response is on."""
        if defect.code in self._repairs:
            self.attribute_to(defect)
            return True
        return False

    def attribute_to(self, defect: Defect) -> None:
        """Attribute the next change to a defect, too."""
        if defect.name not in self._defects:
            self._defects.append(defect.name)

    def on(self, defect: Defect) -> bool:
        """Whether a defect's repair is on."""
        return defect.code in self._repairs

    def shape(self, names: tuple[str, ...]) -> None:
        """Attribute the next change to shapes."""
        self._shapes = tuple(dict.fromkeys((*self._shapes, *names)))

    def audit(self, event: int, before: Sequence[Frame], after: Sequence[Frame]) -> None:
        """Report a rewritten event as a change, with the defects and shapes that it is attributed to."""
        defects, shapes, self._shapes = tuple(self._defects), self._shapes, ()
        self._defects.clear()
        self._last_defects, self._last_shapes = defects or self._last_defects, shapes or self._last_shapes
        if defects or (self._last_defects and not shapes):
            self.repaired.update(self._last_defects)
            names, kind = (*self._last_defects, *shapes), "repair"
        else:
            names, kind = self._last_shapes, "shape" if self._last_shapes else "repair"
        self._context.changed(Change(names, event, before, after, kind))


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
        self.repairs_at_end, self.attribute_to, self.on = reporter.repairs_at_end, reporter.attribute_to, reporter.on
        self._before: list[Frame] = []
        self._after: list[Frame] = []
        """Received events since the first waiting one, and the frames that were sent for them."""

    def forwarded(self, frame: Frame | None, out: list[Frame], *, waits: bool = False) -> None:
        """Report the frames that were sent for an event, or for the end of the body; `waits`: some may follow."""
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
"""Keys of calls and their parts, in all protocols."""


def is_unread(event: Event) -> bool:
    """Whether a call may lack the content of an event that is not JSON, or of an unknown kind.

    Comments sent as data, `[DONE]`, and events of unknown kinds without a key of calls do not count.
    """
    frame = event.frame
    data = (frame.data or b"").strip()
    if not data or data.startswith(b":") or data == b"[DONE]":
        return False
    return frame.json is ABSENT or any(key in data for key in _OF_CALLS)


def hides_arguments(event: Event) -> bool:
    """Whether an event with calls has arguments under unknown keys."""
    fragments = event.content.fragments
    if not fragments or any(one.arguments is not ABSENT for one in fragments):
        return False
    return b'"arguments"' in event.frame.raw
