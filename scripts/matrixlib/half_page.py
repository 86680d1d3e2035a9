"""What the results show of incomplete and repeated calls, for docs/clients.md."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from matrixlib.half_calls import BY_RESULTS, GAVE_UP, NOT_JUDGED, RAN, REJECTED, UNKNOWN, HalfCell
from matrixlib.table import table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from matrixlib.cells import Cell
    from matrixlib.record import Record

RULE: Final = """\
In some cells a client returned an incomplete call, returned a call twice, or gave up. These cells were run again in
three ways: raw, with `--repair safe`, and with `--repair safe --shape whole-calls`. They are graded by the result that
the client sent for the call:

- `ran`: the result equals that of the healthy run. The tool ran.
- `rejected`: the result is marked as an error, or differs from that of the healthy run. The client is right.
- `unknown`: no result shows whether the tool ran.

A client that was stopped while it retried has the reason "retried in a loop", not "gave up".
"""
_WAYS: Final = ("raw", "safe", "whole_calls")
_SIGNS: Final = {"ran": RAN, "rejected": {REJECTED}, "unknown": {UNKNOWN}}
_COLUMNS: Final = ("raw", "`safe`", "`whole-calls`")


def half_calls(records: Sequence[tuple[str, Record]]) -> Iterator[str]:
    """When it was measured, what was not run again, and a table of the cases."""
    cells = [cell for _, record in records for cell in record.half_cells]
    runs = [record.half_calls for _, record in records if record.half_calls is not None]
    yield from (*RULE.splitlines(), "")
    yield "- Date: " + _told(run.date for run in runs)
    yield "- Commit: " + _told(f"`{commit}`" for run in runs for commit in run.commits)
    yield "- Command: " + _told(f"`{run.command}`" for run in runs)
    yield "- Graded by the results of an earlier run, not run again: " + _told(_kept(records), "none")
    unknown = (f"{name} `{cell.case}`" for name, record in records for cell in record.cells if _is_unknown(cell))
    yield "- Unknown, raw or with `safe`: " + _told(unknown, "none")
    yield ""
    for way, column in zip(_WAYS, _COLUMNS, strict=True):
        ran, rejected, unclear = (_count(cells, way, signs) for signs in _SIGNS.values())
        yield f"- {column}: {ran} ran, {rejected} rejected, {unclear} unknown, of {len(cells)} cells"
    heads = [f"{what}, {column}" for column in _COLUMNS for what in _SIGNS]
    yield from ("", *table(["under", *heads, "other failures, `whole-calls`", "not judged"], _rows(cells)))


def _kept(records: Iterable[tuple[str, Record]]) -> Iterator[str]:
    """The cells of each client that rest on results, or in which it gave up, and that were not run again."""
    for name, record in records:
        again = {cell.case for cell in record.half_cells}
        kept = [cell for cell in record.cells if (cell.half or cell.raw == GAVE_UP) and cell.case not in again]
        if kept:
            yield f"{name} {record.version} ({len(kept)}, {record.date})"


def _is_unknown(cell: Cell) -> bool:
    return UNKNOWN in {cell.raw, cell.safe}


def _rows(cells: Sequence[HalfCell]) -> Iterator[Sequence[object]]:
    for case in sorted({cell.case for cell in cells if not BY_RESULTS.isdisjoint(cell)}):
        here = [cell for cell in cells if cell.case == case]
        counts = [_count(here, way, signs) for way in _WAYS for signs in _SIGNS.values()]
        wrong = sum(cell.whole_calls not in BY_RESULTS | {None, NOT_JUDGED} for cell in here)
        yield f"`{case}`", *counts, wrong, sum(NOT_JUDGED in cell for cell in here)


def _count(cells: Sequence[HalfCell], way: str, signs: Collection[str]) -> int:
    return sum(getattr(cell, way) in signs for cell in cells)


def _told(values: Iterator[str], none: str = "nothing was run") -> str:
    return ", ".join(dict.fromkeys(values)) or none
