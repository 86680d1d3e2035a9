"""The measurement of a client that the repository keeps: counts, and the cells that are not right."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from matrixlib.run import RERUN
from toolstream_core.checking.runner import SAFE, injected
from toolstream_core.defects.table import DEFECTS
from toolstream_core.verdict.outcome import Grade, Reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matrixlib.clients import MatrixClient


REJECTED: Final = Grade.CALL_REJECTED.value
"""The client returned the call with an error as its result."""
UNKNOWN: Final = Grade.UNKNOWN.value
"""No result shows whether the call ran."""
RAN: Final = frozenset({Reason.RAN_INCOMPLETE.value, Reason.RAN_TWICE.value})
"""The reasons for which a result shows that the tool ran."""
BY_RESULTS: Final = RAN | {REJECTED, UNKNOWN}
"""The values of cells that are graded by results."""
PASSED: Final = frozenset({Grade.OK.value, Grade.NOT_STRICT.value})
RIGHT: Final = frozenset({None, REJECTED})
"""The values of cells in which the client behaved correctly."""
GAVE_UP: Final = Reason.GAVE_UP.value
NOT_JUDGED: Final = "not judged"
"""The value of a cell if the run does not show the client's behavior."""


class RerunCell(NamedTuple):
    """A case in each of three ways: the client's failure, or `None` if it was right."""

    case: str
    """PROTOCOL/KIND/NAME."""
    raw: str | None
    safe: str | None
    whole_calls: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerun:
    """The date, the commits and the command of the runs."""

    date: str
    commits: tuple[str, ...]
    command: str


def wrong(case: dict[str, Any]) -> str | None:
    """The failure of a client in a case; `None` if it was right."""
    if case["grade"] in PASSED:
        return None
    if case["grade"] in {REJECTED, UNKNOWN}:
        return str(case["grade"])
    return str(case["reason"] or case["message"] or "failed") if case["grade"] == "failed" else NOT_JUDGED


JUDGED: Final = PASSED | {REJECTED, "failed"}
"""The grades that show a client's behavior."""
_NO_FAILURE: Final = RIGHT | {UNKNOWN, NOT_JUDGED}
_ROWS: Final = {row.name for row in DEFECTS}
_ORDER: Final = [reason.value for reason in Reason]


class Cell(NamedTuple):
    """The failure of a client in a case, raw, with repair, or both."""

    client: str
    case: str
    """PROTOCOL/KIND/NAME."""
    raw: str | None
    """The failure; `None` if it was right."""
    safe: str | None
    """The failure with repair."""

    @property
    def name(self) -> str:
        """The name of the fault."""
        return self.case.rpartition("/")[2]

    @property
    def repairable(self) -> bool:
        """Whether the case injects defects, each with a safe repair."""
        faults = injected(self.case.split("/")[1], self.name)
        defects = [fault for fault in faults if fault in _ROWS]  # a preset may only have shapes, which are valid
        return bool(defects) and all(fault in SAFE for fault in defects)

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
        """Whether it was right raw and failed with repair."""
        return self.raw in RIGHT and self.failed_safe

    @property
    def by_results(self) -> bool:
        """Whether it is graded by results, raw or with repair."""
        return not BY_RESULTS.isdisjoint({self.raw, self.safe})

    @property
    def saved(self) -> bool:
        """Whether repair made it right."""
        return self.failed_raw and self.safe in RIGHT


def failed_cells(client: str, raw: dict[str, Any], safe: dict[str, Any]) -> Iterator[Cell]:
    """The cells of a client in the reports of `toolstream check` that were graded raw and are not `ok` both times."""
    with_repair = {case["id"]: case for case in safe["cases"]}
    for case in raw["cases"]:
        if case["grade"] in JUDGED | {UNKNOWN} and case["id"] in with_repair:
            cell = Cell(client, case["id"], wrong(case), wrong(with_repair[case["id"]]))
            if cell.raw is not None or cell.safe is not None:
                yield cell


def badness(reason: str) -> int:
    """A sort key of a failure: smaller is worse."""
    return _ORDER.index(reason) if reason in _ORDER else len(_ORDER)


MEASURED: Final = Path(__file__).resolve().parents[2] / "tests" / "clients" / "measured.jsonl"
"""A JSON line for each client, without the cells that were right."""
COUNTS: Final = ("ok", "not-strict", "call-rejected", "failed", "unknown", "harness-failure", "skipped")
"""The grades that are counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """The run of a client, raw and with repair."""

    version: str | None
    not_run: str | None = None
    """Why it was not run; then the other fields are empty."""
    protocol: str = ""
    date: str = ""
    commits: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    faults: str | None = None
    """The selected cases; `None` for all."""
    raw: dict[str, int]
    """The number of cases with each grade of `COUNTS`."""
    safe: dict[str, int]
    """The number with repair."""
    rerun: Rerun | None = None
    """`None` if the cells that are graded by results were not run again."""
    rerun_cells: tuple[RerunCell, ...] = ()
    cells: tuple[Cell, ...] = ()
    passed: tuple[str, ...] = ()
    """The cells that were right, as `CASE RAW SAFE` with both grades; empty in records of earlier versions."""

    @property
    def judged(self) -> int:
        """The number of cells that show the client's behavior."""
        return sum(self.raw[grade] for grade in COUNTS if grade in JUDGED)


def record_of(client: MatrixClient, found: dict[str, Any]) -> Record:
    """The record of a client's runs: `about`, and the report of each run (`run.kept`)."""
    about = found["about"]
    not_run = about["not_run"] or _not_understood(found["raw"]["clients"][0]["cases"])
    if not_run is not None:
        return Record(version=about["version"], not_run=str(not_run), raw={}, safe={})
    raw, safe = (found[how]["clients"][0] for how in ("raw", "safe"))
    return Record(
        version=about["version"],
        protocol=raw["protocol"],
        date=about["date"],
        commits=tuple(str(about["commit"]).split(", ")),
        commands=(about["command"],),
        faults=about["faults"],
        raw={grade: raw["counts"].get(grade, 0) for grade in COUNTS},
        safe={grade: safe["counts"].get(grade, 0) for grade in COUNTS},
        cells=tuple(failed_cells(client.name, raw, safe)),
        passed=tuple(_passed(raw, safe)),
    )


def _passed(raw: dict[str, Any], safe: dict[str, Any]) -> Iterator[str]:
    with_repair = {case["id"]: case["grade"] for case in safe["cases"]}
    for case in raw["cases"]:
        if case["grade"] in PASSED and with_repair.get(case["id"]) in PASSED:
            yield f"{case['id']} {case['grade']} {with_repair[case['id']]}"


def merged(record: Record, earlier: Record | None) -> Record:
    """Add the cells of an earlier record that this run did not have.

    A run of all cases, of the cases of the earlier record, or of another version replaces the earlier record. A record
    without `passed` does not list the cells that were right: it is treated as if it had them.
    """
    if earlier is None or earlier.version != record.version or record.faults in (None, earlier.faults):
        return record
    if record.not_run is not None or earlier.not_run is not None:
        return record
    before, now = _grades(earlier), _grades(record)
    if not earlier.passed:
        now = {case: grades for case, grades in now.items() if case in before or not set(grades) <= PASSED}
        before = dict.fromkeys(now, ("ok", "ok")) | before
    counts = [dict(earlier.raw), dict(earlier.safe)]
    for case, grades in now.items():
        for count, new, old in zip(counts, grades, before.get(case, ("", "")), strict=True):
            count[new] += 1
            if old:
                count[old] -= 1
    measured = _grades(record)
    return replace(
        earlier,
        date=", ".join(dict.fromkeys([*earlier.date.split(", "), record.date])),
        commits=tuple(dict.fromkeys([*earlier.commits, *record.commits])),
        commands=tuple(dict.fromkeys([*earlier.commands, *record.commands])),
        raw=counts[0],
        safe=counts[1],
        cells=(*(cell for cell in earlier.cells if cell.case not in measured), *record.cells),
        passed=(*(one for one in earlier.passed if one.split()[0] not in measured), *record.passed)
        if earlier.passed
        else (),
    )


def _grades(record: Record) -> dict[str, tuple[str, str]]:
    """The grades of each known cell, raw and with repair."""
    right = {case: (raw, safe) for case, raw, safe in map(str.split, record.passed)}
    return right | {cell.case: (_grade(cell.raw), _grade(cell.safe)) for cell in record.cells}


def with_rerun(record: Record, found: dict[str, Any] | None, earlier: Record | None) -> Record:
    """Add the rerun of the cells that are graded by results (`run.kept`), or the rerun of an earlier record.

    Only reruns of the same version count. Cells that the rerun lacks keep their earlier results.
    """
    if earlier is not None and earlier.version == record.version:
        record = replace(record, rerun=earlier.rerun, rerun_cells=earlier.rerun_cells)
    about = None if found is None else found["about"]
    if found is None or about is None or (about["not_run"], about["version"]) != (None, record.version):
        return record
    ways = [{case["id"]: wrong(case) for case in found[how]["clients"][0]["cases"]} for how in RERUN]
    cases = (cell.case for cell in record.cells if cell.case in ways[0])
    new = tuple(RerunCell(case, *(way.get(case, NOT_JUDGED) for way in ways)) for case in cases)
    commits = [*(() if record.rerun is None else record.rerun.commits), *about["commit"].split(", ")]
    run = Rerun(date=about["date"], commits=tuple(dict.fromkeys(commits)), command=about["command"])
    return _regraded(replace(record, rerun=run), new)


def _regraded(record: Record, new: tuple[RerunCell, ...]) -> Record:
    """Replace the values of the cells in `new`."""
    replaced = {one.case: one for one in new}
    counts = {"raw": dict(record.raw), "safe": dict(record.safe)}
    cells = []
    for cell in record.cells:
        for how, count in counts.items() if cell.case in replaced else ():
            value = getattr(replaced[cell.case], how)
            count[_grade(getattr(cell, how))] -= 1
            count[_grade(value)] += 1
            cell = cell._replace(**{how: value})  # noqa: PLW2901 - the updated cell
        cells.append(cell)
    kept = tuple(cell for cell in cells if (cell.raw, cell.safe) != (None, None))
    right = tuple(f"{cell.case} ok ok" for cell in cells if cell not in kept)
    every = {one.case: one for one in record.rerun_cells} | replaced
    return replace(
        record,
        rerun_cells=tuple(every.values()),
        cells=kept,
        passed=(*record.passed, *right) if record.passed else (),
        raw=counts["raw"],
        safe=counts["safe"],
    )


def _grade(value: str | None) -> str:
    """The grade of a cell for the counts."""
    if value is None:
        return "ok"
    if value == NOT_JUDGED:
        return "harness-failure"
    return value if value in COUNTS else "failed"


def _not_understood(cases: list[dict[str, Any]]) -> str | None:
    """Why a client failed with the healthy response, or `None`: then its driver is wrong, not the client."""
    if any(case["name"] == "healthy" and case["grade"] in PASSED for case in cases):
        return None
    reason = next((str(case["message"] or case["reason"]) for case in cases), "no request")
    return f"the client failed with the healthy response: {reason}"


def read_record(name: str, file: Path = MEASURED) -> Record | None:
    """Read the record of a client; `None` without one."""
    read = _rows(file).get(name)
    if read is None:
        return None
    cells = tuple(Cell(name, **one) for one in read.pop("cells"))
    cells_again = tuple(RerunCell(**one) for one in read.pop("rerun_cells"))
    rerun = read.pop("rerun")
    run = None if rerun is None else Rerun(**{**rerun, "commits": tuple(rerun["commits"])})
    lists = {key: tuple(read.get(key, ())) for key in ("commits", "commands", "passed")}
    return Record(**{**read, **lists}, cells=cells, rerun=run, rerun_cells=cells_again)


def write_record(name: str, record: Record, file: Path = MEASURED) -> None:
    """Write a record. A record that was not run does not replace a measurement of the same version."""
    if record.not_run is not None and (kept := read_record(name, file)) and kept.version == record.version:
        return
    row = asdict(record) | {
        "rerun_cells": [one._asdict() for one in record.rerun_cells],
        "cells": [{"case": one.case, "raw": one.raw, "safe": one.safe} for one in record.cells],
    }
    rows = sorted({**_rows(file), name: row}.items())
    lines = (json.dumps({"client": client, **of}, ensure_ascii=False) for client, of in rows)
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _rows(file: Path) -> dict[str, dict[str, Any]]:
    """The rows of the file, by client."""
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else ()
    return {row.pop("client"): row for row in map(json.loads, lines)}
