"""Generates docs/clients.md from the measurements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from matrixlib.record import (
    BY_RESULTS,
    COUNTS,
    GAVE_UP,
    NOT_JUDGED,
    RAN,
    REJECTED,
    RIGHT,
    UNKNOWN,
    Cell,
    Record,
    RerunCell,
    badness,
)
from toolstream_core.report.columns import table

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from matrixlib.clients import MatrixClient


HEAD: Final = """# Published clients under every fault

`scripts/matrix` writes this page from the results of `toolstream check`. Only the column "why" is written by hand.

Most clients are small agent loops with two tools (`tests/clients/drivers/`) on a published package; the others are
published agents. `tests/clients/locks/` pins their versions. A cell is one client with one injected fault. Each cell
was run twice: without repair (raw) and with `--repair safe`.

| Grade | Description |
| --- | --- |
| `ok` | The client ran the intended calls, or no call if none may run. |
| `call-rejected` | The client returned an incomplete or repeated call with an error as its result. This passes. |
| `unknown` | The client returned such a call, and no result shows whether it ran. |
| `failed` | Any other behavior. |
"""
NEVER: Final = "not run yet: `scripts/matrix --only {name}`"
RIGHT_MARK, UNKNOWN_MARK, FAILED_MARK = "✓", "?", "✗"


class Measured(NamedTuple):
    """A client and its measurement."""

    client: MatrixClient
    record: Record | None
    """`None` if it was never run."""

    @property
    def not_run(self) -> str | None:
        """Why there is no current measurement, or `None`."""
        if self.record is None:
            return NEVER.format(name=self.client.name)
        if self.record.not_run is not None:
            return self.record.not_run
        if self.record.version != self.client.version:
            return f"only {self.record.version} was run: " + NEVER.format(name=self.client.name)
        return None


def markdown(measured: Sequence[Measured]) -> str:
    """The page."""
    ran = [(one.client, one.record) for one in measured if one.not_run is None and one.record is not None]
    cells = [cell for _, record in ran for cell in record.cells]
    notes = {client.name: client.notes for client, _ in ran}
    lines = [*HEAD.splitlines(), "", *_measurement([record for _, record in ran]), ""]
    lines += _totals(cells, sum(record.judged for _, record in ran))
    lines += ["", "## Incomplete and repeated calls", "", *_rerun([(client.name, record) for client, record in ran])]
    lines += _section("Failures by severity", _red(cells))
    lines += _section("Worse with repair", _single((cell for cell in cells if cell.worse), notes))
    unsaved = (cell for cell in cells if cell.failed_raw and cell.repairable and not cell.saved)
    lines += _section("Failed with a safe repair", _single(unsaved, notes))
    lines += _section("Clients", _clients(ran))
    lines += _section("Not run", _missing(measured))
    lines += _grids(ran)
    return "\n".join(lines).rstrip() + "\n"


def _measurement(records: Sequence[Record]) -> Iterator[str]:
    """The dates, commits and commands of the measurements."""
    lists = {
        "Date": [day for record in records for day in record.date.split(", ")],
        "Commit": [f"`{commit}`" for record in records for commit in record.commits],
        "Command": [f"`{command}`" for record in records for command in record.commands],
        "Cases": [f"`{record.faults or 'all'}`" for record in records],
    }
    for title, values in lists.items():
        yield f"- {title}: {_joined(values)}"
    yield "- HTML page with every stream: `results/clients.html` in the cache of `scripts/matrix`"


def _totals(cells: Sequence[Cell], judged: int) -> Iterator[str]:
    failed = [cell for cell in cells if cell.failed_raw]
    repairable = [cell for cell in failed if cell.repairable]
    saved = sum(cell.saved for cell in repairable)
    share = f" ({100 * saved / len(repairable):.1f} %)" if repairable else ""
    still = sum(cell.failed_safe for cell in cells)
    yield f"Of {judged} cells, {len(failed)} failed raw and {still} failed with repair."
    yield f"{len(repairable)} cells failed raw on defects with a safe repair; {saved} of them passed with it{share}."
    yield f"Cells that became worse with repair: {sum(cell.worse for cell in cells) or 'none'}."


def _section(title: str, rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A heading, and a table whose first row is its header; "None." without other rows."""
    head, *others = rows
    yield from ("", f"## {title}", "")
    yield from _table(head, others) if others else ["None."]


def _red(cells: Iterable[Cell]) -> Iterator[Sequence[object]]:
    """The failures by behavior and case, with their clients."""
    yield "behavior", "case", "raw", "with repair", "clients"
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.raw is not None and cell.failed_raw:
            groups.setdefault((cell.raw, cell.case), []).append(cell)
    for (reason, case), found in sorted(groups.items(), key=lambda item: (badness(item[0][0]), -len(item[1]), item[0])):
        names = ", ".join(cell.client for cell in found)
        yield reason, f"`{case}`", len(found), sum(cell.failed_safe for cell in found), names


def _single(cells: Iterable[Cell], notes: Mapping[str, Mapping[str, str]]) -> Iterator[Sequence[object]]:
    yield "client", "under", "raw", "with repair", "why"
    for cell in cells:
        yield cell.client, f"`{cell.case}`", cell.raw or "ok", cell.safe, notes[cell.client].get(cell.name, "")


def _clients(ran: Iterable[tuple[MatrixClient, Record]]) -> Iterator[Sequence[object]]:
    """A row for each client: its grades, raw and with repair."""
    columns = [f"{grade}, {how}" for how in ("raw", "repaired") for grade in COUNTS[:5]]
    yield "client", "package", "version", "needs", "protocol", "run", "cells run again", *columns, "not judged"
    for client, record in ran:
        grades = [counts[grade] for counts in (record.raw, record.safe) for grade in COUNTS[:5]]
        apart = sum(counts[grade] for counts in (record.raw, record.safe) for grade in COUNTS[5:])
        again = f"{len(record.rerun_cells)}, {record.rerun.date}" if record.rerun else ""
        yield *_named(client), record.protocol, record.date, again, *grades, apart


def _missing(measured: Iterable[Measured]) -> Iterator[Sequence[object]]:
    yield "client", "package", "version", "needs", "why"
    for one in measured:
        if one.not_run is not None:
            yield *_named(one.client), one.not_run


def _named(client: MatrixClient) -> Sequence[str]:
    return client.name, client.package, client.version or "", client.group.requires


def _grids(ran: Sequence[tuple[MatrixClient, Record]]) -> Iterator[str]:
    """A table for each protocol: the cells of each fault at which a client fails."""
    yield from ("", "## Every fault and client", "")
    yield f"Raw, then with repair: {RIGHT_MARK} passed, {FAILED_MARK} failed, {UNKNOWN_MARK} unknown or not judged."
    yield "Empty cells passed both times, or the fault does not apply to the client."
    for protocol in dict.fromkeys(record.protocol for _, record in ran):
        there = [(client, record) for client, record in ran if record.protocol == protocol]
        cells = {(cell.case, cell.client): cell for _, record in there for cell in record.cells}
        yield from ("", f"### {protocol}", "")
        names = [client.name for client, _ in there]
        cases = sorted({case for case, _ in cells})
        rows = ([f"`{case}`", *(_marks(cells.get((case, name))) for name in names)] for case in cases)
        yield from _table(["under", *names], rows)


def _marks(cell: Cell | None) -> str:
    if cell is None:
        return ""
    return f"{_mark(cell.raw, failed=cell.failed_raw)} {_mark(cell.safe, failed=cell.failed_safe)}"


def _mark(value: str | None, *, failed: bool) -> str:
    if failed:
        return FAILED_MARK
    return RIGHT_MARK if value in RIGHT else UNKNOWN_MARK


RULE: Final = """\
In some cells a client returned an incomplete call, returned a call twice, or gave up. These cells were run again in
three ways: raw, with `--repair safe`, and with `--repair safe --shape whole-calls`. They are graded by the result that
the client sent for the call:

- `ran`: the result equals that of the healthy run. The tool ran.
- `rejected`: the result is marked as an error, or differs from that of the healthy run. The client is right.
- `unknown`: no result shows whether the tool ran.

A client that was stopped while it retried has the reason "retried in a loop", not "gave up".
"""
_WAYS: Final = {"raw": "raw", "safe": "`safe`", "whole_calls": "`whole-calls`"}
_SIGNS: Final = {"ran": RAN, "rejected": {REJECTED}, "unknown": {UNKNOWN}}


def _rerun(records: Sequence[tuple[str, Record]]) -> Iterator[str]:
    """The runs of these cells, the cells that were not run again, and a table of the cases."""
    cells = [cell for _, record in records for cell in record.rerun_cells]
    runs = [record.rerun for _, record in records if record.rerun is not None]
    yield from (*RULE.splitlines(), "")
    yield "- Date: " + _joined(run.date for run in runs)
    yield "- Commit: " + _joined(f"`{commit}`" for run in runs for commit in run.commits)
    yield "- Command: " + _joined(f"`{run.command}`" for run in runs)
    yield "- Graded by the results of an earlier run, not run again: " + _joined(_kept(records), "none")
    known = [(name, cell) for name, record in records for cell in record.cells]
    unknown = (f"{name} `{cell.case}`" for name, cell in known if UNKNOWN in {cell.raw, cell.safe})
    yield "- Unknown, raw or with `safe`: " + _joined(unknown, "none")
    yield ""
    for way, column in _WAYS.items():
        ran, rejected, unclear = (_count(cells, way, signs) for signs in _SIGNS.values())
        yield f"- {column}: {ran} ran, {rejected} rejected, {unclear} unknown, of {len(cells)} cells"
    heads = [f"{what}, {column}" for column in _WAYS.values() for what in _SIGNS]
    yield from ("", *_table(["under", *heads, "other failures, `whole-calls`", "not judged"], _rows(cells)))


def _kept(records: Iterable[tuple[str, Record]]) -> Iterator[str]:
    """The cells of each client that are graded by results, or in which it gave up, and that were not run again."""
    for name, record in records:
        again = {cell.case for cell in record.rerun_cells}
        kept = [cell for cell in record.cells if (cell.by_results or cell.raw == GAVE_UP) and cell.case not in again]
        if kept:
            yield f"{name} {record.version} ({len(kept)}, {record.date})"


def _rows(cells: Sequence[RerunCell]) -> Iterator[Sequence[object]]:
    for case in sorted({cell.case for cell in cells if not BY_RESULTS.isdisjoint(cell)}):
        here = [cell for cell in cells if cell.case == case]
        counts = [_count(here, way, signs) for way in _WAYS for signs in _SIGNS.values()]
        wrong = sum(cell.whole_calls not in BY_RESULTS | {None, NOT_JUDGED} for cell in here)
        yield f"`{case}`", *counts, wrong, sum(NOT_JUDGED in cell for cell in here)


def _count(cells: Sequence[RerunCell], way: str, signs: Collection[str]) -> int:
    return sum(getattr(cell, way) in signs for cell in cells)


def _joined(values: Iterable[str], none: str = "not run") -> str:
    return ", ".join(dict.fromkeys(values)) or none


def _table(head: Sequence[object], rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """The lines of a table; values are converted to text."""
    return table([*map(_text, head)], ([*map(_text, row)] for row in rows))


def _text(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")
