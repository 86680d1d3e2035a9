"""The cells of the matrix: one client under one fault, raw and behind repair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.checking.grading import Reason
from toolstream_core.defects.row import Safety
from toolstream_core.defects.table import ROWS
from toolstream_core.faults.presets import PRESETS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matrixlib.clients import MatrixClient

PASSED: Final = frozenset({"ok", "not-strict"})
JUDGED: Final = PASSED | {"failed"}
"""Grades that say something of a client."""
_SAFE: Final = {row.name for row in ROWS if row.repair is Safety.SAFE}
_ROWS: Final = {row.name for row in ROWS}
_PARTS: Final = {preset.name: preset.parts for preset in PRESETS}
_ORDER: Final = [reason.value for reason in Reason]


class Cell(NamedTuple):
    """What one client did in one case, both times."""

    client: str
    case: str
    name: str
    kind: str
    raw: dict[str, Any]
    safe: dict[str, Any]
    note: str = ""
    """Why it is not right behind repair, where that is understood."""

    @property
    def repairable(self) -> bool:
        """Whether every defect that is planted here has a safe repair."""
        parts = _PARTS.get(self.name, (self.name,)) if self.kind == "preset" else (self.name,)
        return self.kind in {"fault", "preset"} and all(part in _SAFE or part not in _ROWS for part in parts)

    @property
    def failed_raw(self) -> bool:
        """Whether the client failed as it is."""
        return bool(self.raw["grade"] == "failed")

    @property
    def failed_safe(self) -> bool:
        """Whether it failed behind repair."""
        return bool(self.safe["grade"] == "failed")

    @property
    def worse(self) -> bool:
        """Whether repair took something away."""
        return self.raw["grade"] in PASSED and self.safe["grade"] not in PASSED

    @property
    def saved(self) -> bool:
        """Whether repair made it right."""
        return self.failed_raw and self.safe["grade"] in PASSED


def cells_of(client: MatrixClient, found: dict[str, Any]) -> Iterator[Cell]:
    """The cells of a client that were judged raw, in the order of its cases."""
    safe = {case["id"]: case for case in found["safe"]["clients"][0]["cases"]}
    for case in found["raw"]["clients"][0]["cases"]:
        if case["grade"] in JUDGED and case["id"] in safe:
            note = client.notes.get(case["name"], "")
            yield Cell(client.name, case["id"], case["name"], case["kind"], case, safe[case["id"]], note)


def badness(reason: str | None) -> int:
    """The smaller, the worse."""
    return _ORDER.index(reason) if reason in _ORDER else len(_ORDER)
