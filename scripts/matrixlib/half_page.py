"""What became of half calls, as docs/clients.md says it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from matrixlib.half_calls import ERROR, HALF, NOT_JUDGED, HalfCell
from matrixlib.table import table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from matrixlib.record import Record

RULE: Final = """\
The cells in which a client ran half a call, raw or behind `--repair safe`, and no others, were run once more in three
ways: raw, behind `--repair safe`, and behind `--repair safe --shape whole-calls`. A call was half if it never came
whole and came back in a later request. Where the result that came with it is none that the driver's tools give, the
client answered the call with an error, and ran nothing. Programs with tools of their own do not tell that apart: all
that came back counts as run.
"""
_WAYS: Final = ("raw", "safe", "whole_calls")
_COLUMNS: Final = ("raw", "`safe`", "`whole-calls`")


def half_calls(records: Sequence[tuple[str, Record]]) -> Iterator[str]:
    """The count, when it was measured, a table of the cases, and who was left out."""
    cells = [cell for _, record in records for cell in record.half_cells]
    runs = [record.half_calls for _, record in records if record.half_calls is not None]
    yield from (*RULE.splitlines(), "")
    yield "- Date: " + _told(run.date for run in runs)
    yield "- Commit: " + _told(f"`{commit}`" for run in runs for commit in run.commits)
    yield "- Command: " + _told(f"`{run.command}`" for run in runs)
    left = [name for name, record in records if record.half_calls is None and any(cell.half for cell in record.cells)]
    yield "- Not run so: " + (", ".join(left) or "none")
    ran, errors = ([_count(cells, way, reason) for way in _WAYS] for reason in (HALF, ERROR))
    yield from ("", f"In {len(cells)} cells, {ran[0]} half calls were run raw, {ran[1]} behind `safe`, {ran[2]} behind")
    yield f"`whole-calls`; {errors[0]}, {errors[1]} and {errors[2]} were answered with an error."
    untold = _count(cells, "whole_calls", NOT_JUDGED)
    yield f"Not judged behind `whole-calls`: {untold}."
    heads = [f"{what}, {column}" for column in _COLUMNS for what in ("run", "error")]
    yield from ("", *table(["under", *heads, "else wrong, `whole-calls`", "not judged"], _rows(cells)))


def _rows(cells: Sequence[HalfCell]) -> Iterator[Sequence[object]]:
    for case in sorted({cell.case for cell in cells}):
        here = [cell for cell in cells if cell.case == case]
        counts = [_count(here, way, reason) for way in _WAYS for reason in (HALF, ERROR)]
        wrong = sum(cell.whole_calls not in {None, HALF, ERROR, NOT_JUDGED} for cell in here)
        yield f"`{case}`", *counts, wrong, sum(NOT_JUDGED in cell for cell in here)


def _count(cells: Sequence[HalfCell], way: str, reason: str) -> int:
    return sum(getattr(cell, way) == reason for cell in cells)


def _told(values: Iterator[str]) -> str:
    return ", ".join(dict.fromkeys(values)) or "nothing was run"
