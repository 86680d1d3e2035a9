"""Reports the defects of one stream, and returns which of them to repair."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.defect import Defect
    from toolstream_core.model import Severity
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


class Reporter:
    """The findings and changes of one repairer.

    One code path for check and repair: `report` returns whether the defect's repair is on, so
    nothing is rewritten without a finding.
    """

    def __init__(self, context: Context) -> None:
        self._context = context
        self._repairs = context.repairs
        self._reported: set[tuple[str, int | None]] = set()
        self._why: list[str] = []
        self._shapes: tuple[str, ...] = ()
        """The shapes for which an event is rewritten."""
        self._reasons: tuple[str, ...] = ()
        self._reshaped: tuple[str, ...] = ()
        """Why an event was last repaired, and reshaped: later events may have to follow."""
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
        if defect.name not in self._why:
            self._why.append(defect.name)
        return True

    def repairs_at_end(self, defect: Defect) -> bool:
        """Whether a defect's repair is on, if the defect is reported when the response is over."""
        if defect.code in self._repairs:
            self.because(defect)
            return True
        return False

    def because(self, defect: Defect) -> None:
        """Name the defect that demands a change that another defect's repair makes."""
        if defect.name not in self._why:
            self._why.append(defect.name)

    def on(self, defect: Defect) -> bool:
        """Whether a defect's repair is on."""
        return defect.code in self._repairs

    def shape(self, names: tuple[str, ...]) -> None:
        """Name the shapes that demand a change."""
        self._shapes = tuple(dict.fromkeys((*self._shapes, *names)))

    def audit(self, event: int, before: Sequence[Frame], after: Sequence[Frame]) -> None:
        """Report a rewritten event as a change, with the defects and shapes that demanded it; called once for each."""
        why, shapes, self._shapes = tuple(self._why), self._shapes, ()
        self._why.clear()
        self._reasons, self._reshaped = why or self._reasons, shapes or self._reshaped
        if why or (self._reasons and not shapes):
            self.repaired.update(self._reasons)
            names, kind = (*self._reasons, *shapes), "repair"
        else:
            names, kind = self._reshaped, "shape" if self._reshaped else "repair"
        self._context.changed(Change(names, event, before, after, kind))
