"""What was measured as docs/clients.md, and as one report that the page of `toolstream check` shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from matrixlib.cells import Cell, badness, cells_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from matrixlib.clients import MatrixClient

HEAD: Final = """# Published clients under every fault

Written by `scripts/matrix` from what `toolstream check` found; only the reasons in "why" are written by hand. Each
client is a small agent loop with two tools (`tests/clients/drivers/`) on a published package at the version that
`requirements/clients/` pins. A cell is one client under one fault, once raw and once behind `--repair safe`. `ok`: it
ran the calls that were meant, or none where none may be run. `failed`: it did anything else.
"""
COUNTS: Final = ("ok", "not-strict", "failed", "harness-failure", "skipped")
NEVER: Final = "it was not run: `scripts/matrix --only {name}`"


class Measured(NamedTuple):
    """A client, and what is known of it."""

    client: MatrixClient
    found: dict[str, Any] | None
    """As it was kept; `None` where it was never run."""

    @property
    def not_run(self) -> str | None:
        """Why there is nothing of it."""
        if self.found is None:
            return NEVER.format(name=self.client.name)
        about = self.found["about"]
        if about["not_run"] is not None:
            return str(about["not_run"])
        if about["version"] != self.client.version:
            return f"only {about['version']} was run: " + NEVER.format(name=self.client.name)
        cases = self.found["raw"]["clients"][0]["cases"]
        if not any(case["name"] == "healthy" and case["grade"] in {"ok", "not-strict"} for case in cases):
            return "the healthy answer was not understood: " + next(
                (str(case["message"] or case["reason"]) for case in cases), "no request came"
            )
        return None


def markdown(measured: Sequence[Measured], page: str) -> str:
    """The whole document; `page` says where the HTML page is."""
    ran = [one for one in measured if one.not_run is None]
    cells = [cell for one in ran if one.found is not None for cell in cells_of(one.client, one.found)]
    lines = [*HEAD.splitlines(), "", *_measurement(ran, page), "", *_totals(cells)]
    lines += _section("Failed, the worst first", _red(cells))
    lines += _section("Worse behind repair", _single(cell for cell in cells if cell.worse))
    repairable = [cell for cell in cells if cell.failed_raw and cell.repairable and not cell.saved]
    lines += _section("Not right behind a safe repair", _single(repairable))
    lines += _section("Clients", _clients(ran))
    lines += _section("Not run", _missing(measured))
    return "\n".join(lines).rstrip() + "\n"


def _measurement(ran: Sequence[Measured], page: str) -> Iterator[str]:
    """When, at which commit, and by which commands."""
    abouts = [one.found["about"] for one in ran if one.found is not None]
    for name, title in (("date", "Date"), ("commit", "Commit"), ("command", "Command"), ("faults", "Cases")):
        told = [about[name] or "all" for about in abouts]
        told = [one for text in told for one in text.split(", ")] if name == "commit" else told
        values = list(dict.fromkeys(told)) or ["nothing was run"]
        yield f"- {title}: " + ", ".join(value if name == "date" else f"`{value}`" for value in values)
    yield f"- The HTML page, with every stream: {page}"


def _totals(cells: Sequence[Cell]) -> Iterator[str]:
    failed = [cell for cell in cells if cell.failed_raw]
    repairable = [cell for cell in failed if cell.repairable]
    saved = sum(cell.saved for cell in repairable)
    share = f" ({100 * saved / len(repairable):.1f} %)" if repairable else ""
    still = sum(cell.failed_safe for cell in cells)
    yield f"{len(cells)} cells, {len(failed)} of them failed raw, {still} behind repair."
    yield f"Of {len(repairable)} that failed raw on defects with a safe repair, {saved} became right behind it{share};"
    yield f"{sum(cell.worse for cell in cells) or 'none'} became worse."


def _section(title: str, rows: Iterable[Sequence[object]]) -> Iterator[str]:
    """A heading and a table whose first row is its head; "None." where there are no others."""
    head, *others = rows
    yield from ("", f"## {title}", "")
    if not others:
        yield "None."
        return
    for row in (head, ["---"] * len(head), *others):
        yield "| " + " | ".join(_text(value) for value in row) + " |"


def _text(value: object) -> str:
    return str(value).replace("|", "\\|").replace("\n", " ")


def _red(cells: Iterable[Cell]) -> Iterator[Sequence[object]]:
    """Failures by reason and case, with the clients that have them."""
    yield "what it did", "under", "raw", "behind repair", "clients"
    groups: dict[tuple[str, str], list[Cell]] = {}
    for cell in cells:
        if cell.failed_raw:
            groups.setdefault((cell.raw["reason"] or "failed", cell.case), []).append(cell)
    for (reason, case), found in sorted(groups.items(), key=lambda item: (badness(item[0][0]), -len(item[1]), item[0])):
        names = ", ".join(cell.client for cell in found)
        yield reason, f"`{case}`", len(found), sum(cell.failed_safe for cell in found), names


def _single(cells: Iterable[Cell]) -> Iterator[Sequence[object]]:
    yield "client", "under", "raw", "behind repair", "what it did there", "why"
    for cell in cells:
        safe = cell.safe["reason"] or cell.safe["message"] or ""
        yield (
            cell.client,
            f"`{cell.case}`",
            cell.raw["reason"] or cell.raw["grade"],
            cell.safe["grade"],
            safe,
            cell.note,
        )


def _clients(ran: Iterable[Measured]) -> Iterator[Sequence[object]]:
    """One row a client: its grades, raw and behind repair."""
    columns = [f"{grade}, {how}" for how in ("raw", "repaired") for grade in COUNTS[:3]]
    yield "client", "package", "version", "needs", "protocol", *columns, "not judged"
    for one in ran:
        assert one.found is not None
        raw, safe = (one.found[how]["clients"][0] for how in ("raw", "safe"))
        grades = [found["counts"][grade] for found in (raw, safe) for grade in COUNTS[:3]]
        apart = sum(found["counts"][grade] for found in (raw, safe) for grade in COUNTS[3:])
        yield *_named(one.client), raw["protocol"], *grades, apart


def _missing(measured: Iterable[Measured]) -> Iterator[Sequence[object]]:
    yield "client", "package", "version", "needs", "why"
    for one in measured:
        if one.not_run is not None:
            yield *_named(one.client), one.not_run


def _named(client: MatrixClient) -> Sequence[str]:
    return client.name, client.package, client.version or "", client.group.toolchain.requires


def combined(measured: Iterable[Measured]) -> dict[str, Any] | None:
    """All runs as one report of `toolstream check`, raw and repaired as clients of their own; `None` without any."""
    documents = [
        (one.client.name, how, one.found[how])
        for one in measured
        if one.found is not None and one.not_run is None
        for how in ("raw", "safe")
    ]
    if not documents:
        return None
    listed = [
        {**document["clients"][0], "name": name if how == "raw" else f"{name}, repaired"}
        for name, how, document in documents
    ]
    seconds = round(sum(document["seconds"] for _, _, document in documents), 1)
    return {**documents[0][2], "seconds": seconds, "clients": listed}
