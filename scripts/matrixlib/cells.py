"""The cells of the matrix: one client under one fault, raw and with repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from matrixlib.half_calls import BY_RESULTS, NOT_JUDGED, PASSED, REJECTED, RIGHT, UNKNOWN, wrong
from toolstream_core.checking.grading import Reason
from toolstream_core.checking.runner import SAFE, injected
from toolstream_core.defects.table import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

JUDGED: Final = PASSED | {REJECTED, "failed"}
"""Grades that say something of a client."""
_NO_FAILURE: Final = RIGHT | {UNKNOWN, NOT_JUDGED}
_ROWS: Final = {row.name for row in ROWS}
_ORDER: Final = [reason.value for reason in Reason]


class Cell(NamedTuple):
    """What one client did wrong in one case, raw, with repair, or both times."""

    client: str
    case: str
    """PROTOCOL/KIND/NAME."""
    raw: str | None
    """What it did wrong; `None` where it was right."""
    safe: str | None
    """The same with repair."""

    @property
    def name(self) -> str:
        """The name of the fault."""
        return self.case.rpartition("/")[2]

    @property
    def repairable(self) -> bool:
        """Whether every defect that is injected here has a safe repair."""
        faults = injected(self.case.split("/")[1], self.name)
        return bool(faults) and all(fault in SAFE or fault not in _ROWS for fault in faults)

    @property
    def failed_raw(self) -> bool:
        """Whether it failed raw."""
        return self.raw not in _NO_FAILURE

    @property
    def failed_safe(self) -> bool:
        """Whether it failed with repair."""
        return self.safe not in _NO_FAILURE

    @property
    def worse(self) -> bool:
        """Whether repair took something away."""
        return self.raw in RIGHT and self.failed_safe

    @property
    def half(self) -> bool:
        """Whether results decide on it, raw or with repair."""
        return not BY_RESULTS.isdisjoint({self.raw, self.safe})

    @property
    def saved(self) -> bool:
        """Whether repair made it right."""
        return self.failed_raw and self.safe in RIGHT


def failed_cells(client: str, raw: dict[str, Any], safe: dict[str, Any]) -> Iterator[Cell]:
    """The cells of a client, as `toolstream check` told them, that have a grade raw and are not `ok` both times."""
    behind = {case["id"]: case for case in safe["cases"]}
    for case in raw["cases"]:
        if case["grade"] in JUDGED | {UNKNOWN} and case["id"] in behind:
            cell = Cell(client, case["id"], wrong(case), wrong(behind[case["id"]]))
            if cell.raw is not None or cell.safe is not None:
                yield cell


def badness(reason: str) -> int:
    """The smaller, the worse."""
    return _ORDER.index(reason) if reason in _ORDER else len(_ORDER)
