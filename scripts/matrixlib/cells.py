"""The cells of the matrix: one client under one fault, raw and behind repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from matrixlib.half_calls import HALF, NOT_JUDGED, PASSED
from toolstream_core.checking.grading import Reason
from toolstream_core.checking.helping import SAFE, planted
from toolstream_core.defects.table import ROWS

if TYPE_CHECKING:
    from collections.abc import Iterator

JUDGED: Final = PASSED | {"failed"}
"""Grades that say something of a client."""
_ROWS: Final = {row.name for row in ROWS}
_ORDER: Final = [reason.value for reason in Reason]


class Cell(NamedTuple):
    """What one client did wrong in one case, raw, behind repair, or both times."""

    client: str
    case: str
    """PROTOCOL/KIND/NAME."""
    raw: str | None
    """What it did wrong; `None` where it was right."""
    safe: str | None
    """The same behind repair."""

    @property
    def name(self) -> str:
        """The name of the fault."""
        return self.case.rpartition("/")[2]

    @property
    def repairable(self) -> bool:
        """Whether every defect that is planted here has a safe repair."""
        faults = planted(self.case.split("/")[1], self.name)
        return bool(faults) and all(fault in SAFE or fault not in _ROWS for fault in faults)

    @property
    def failed_safe(self) -> bool:
        """Whether it failed behind repair."""
        return self.safe not in {None, NOT_JUDGED}

    @property
    def worse(self) -> bool:
        """Whether repair took something away."""
        return self.raw is None and self.safe is not None

    @property
    def half(self) -> bool:
        """Whether it ran half a call, raw or behind repair."""
        return HALF in {self.raw, self.safe}

    @property
    def saved(self) -> bool:
        """Whether repair made it right."""
        return self.raw is not None and self.safe is None


def failed_cells(client: str, raw: dict[str, Any], safe: dict[str, Any]) -> Iterator[Cell]:
    """The cells of a client, as `toolstream check` told them, that were judged raw and are not right both times."""
    behind = {case["id"]: case for case in safe["cases"]}
    for case in raw["cases"]:
        if case["grade"] in JUDGED and case["id"] in behind:
            cell = Cell(client, case["id"], _wrong(case), _wrong(behind[case["id"]]))
            if cell.raw is not None or cell.safe is not None:
                yield cell


def _wrong(case: dict[str, Any]) -> str | None:
    if case["grade"] in PASSED:
        return None
    return str(case["reason"] or case["message"] or "failed") if case["grade"] == "failed" else NOT_JUDGED


def badness(reason: str) -> int:
    """The smaller, the worse."""
    return _ORDER.index(reason) if reason in _ORDER else len(_ORDER)
