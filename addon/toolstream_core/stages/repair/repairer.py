"""The common part of repairs: report what is wrong, and change it where asked to."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.model import Change
from toolstream_core.stages.stage import Stage
from toolstream_core.wire.frame import joined

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.defects.row import Row
    from toolstream_core.model import Severity
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


class Repairer(Stage):
    """Tells what is wrong with a stream, and mends what it was asked to mend.

    One code path for check and repair: `report` says whether the defect's repair is on, so nothing is rewritten
    that is no finding. A frame that needs nothing goes on as the same object.
    """

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._told: set[tuple[str, int | None]] = set()
        self._why: list[str] = []
        self._reasons: tuple[str, ...] = ()
        """Why an event was last rewritten: those after it may have to follow suit."""
        self._before: list[Frame] = []
        self._after: list[Frame] = []
        """Events since one that may still change, and what has gone on for them."""

    def report(
        self,
        row: Row,
        event: int,
        message: str,
        call: OpenCall | None = None,
        *,
        severity: Severity | None = None,
    ) -> bool:
        """Tell a defect, once for each call; whether it is to be mended here, each time it shows."""
        key = (row.code, id(call) if call is not None else None)
        if key not in self._told:
            self._told.add(key)
            self._context.found(row.found(event, message, call.position if call else None, severity=severity))
        return self.repairs_row(row)

    def repairs_row(self, row: Row) -> bool:
        """Whether a row's repair is on, where the defect itself is told when the answer is over."""
        if row.code not in self._context.repairs:
            return False
        if row.name not in self._why:
            self._why.append(row.name)
        return True

    def because(self, row: Row) -> None:
        """Name the defect that demands a change, where another one's repair makes it."""
        if row.name not in self._why:
            self._why.append(row.name)

    def on(self, row: Row) -> bool:
        """Whether a row's repair is switched on."""
        return row.code in self._context.repairs

    def went(self, frame: Frame | None, out: list[Frame], *, waits: bool = False) -> None:
        """Audit what went on for an event, or for the body's end; one that `waits` for the next is not changed yet."""
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

    def audit(self, event: int, before: Iterable[Frame], after: Iterable[Frame]) -> None:
        """Keep what the rewriting of an event was for; called once for each rewritten event."""
        names = self._reasons = tuple(self._why) or self._reasons
        self._why = []
        self._context.changed(Change(names, event, joined(before), joined(after)))
