"""What helps a client in a case that it failed: what its verdicts advise, else the repair of what was planted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolstream_core.checking.case import Kind
from toolstream_core.checking.grading import Grade
from toolstream_core.defects.row import Safety
from toolstream_core.defects.table import ROWS
from toolstream_core.faults.presets import PRESETS
from toolstream_core.report.verdict import as_flags

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SAFE: Final = frozenset(row.name for row in ROWS if row.repair is Safety.SAFE)
"""The defects that have a safe repair."""
_PARTS: Final[Mapping[str, Sequence[str]]] = {preset.name: preset.parts for preset in PRESETS}


def planted(kind: str, name: str) -> Sequence[str]:
    """The faults that a case plants, by the case's kind and name: a preset has several."""
    return {Kind.FAULT: (name,), Kind.PRESET: _PARTS.get(name, ())}.get(Kind(kind), ())


def advice(case: Mapping[str, Any], client: Mapping[str, Any]) -> str:
    """Options of `check` for a case of the report of `client`; `""` where none is known.

    A client that crashed or gave up sent no request that could be explained. It gets the safe repairs of what was
    injected, unless it was run behind repair: they undo it, and the client has passed the healthy case.
    """
    if case["grade"] != Grade.FAILED:
        return ""
    verdicts = [turn["verdict"] for turn in case["turns"] if turn["verdict"] is not None]
    tried = next((verdict["advice"][0] for verdict in verdicts if verdict["advice"]), "")
    if tried or client["repair"] or any(verdict["sent"] for verdict in verdicts):
        return as_flags(tried)
    repairs = [name for name in planted(case["kind"], case["name"]) if name in SAFE]
    return f"--repair {','.join(repairs)}" if repairs else ""
