"""The report of a check as lines for a terminal, sorted by severity."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from toolstream_core.checking.document import result_of
from toolstream_core.checking.grading import Grade, Reason, rank
from toolstream_core.checking.skip import Skip
from toolstream_core.report.layout import counted, middle, wrapped
from toolstream_core.report.paint import printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SHOWN: Final = frozenset(Grade) - {Grade.OK}
_LAST_WORDS: Final = 200
"""Columns of what a client printed last, on a terminal."""
_BELOW: Final = " " * 6
"""What stands before a reason under its case."""
_OUTPUT_LINES: Final = 10


def lines(report: dict[str, Any], width: int | None = None) -> Iterator[str]:
    """All clients, each with the cases that are not `ok`.

    With a `width`, in columns, what is longer goes on below it, and a case's reason stands under the case; without,
    each case is one line.
    """
    for client in report["clients"]:
        head = f"{client['name']} ({client['protocol'] or 'no protocol'}{conditions(client)}): {counts(client)}"
        yield from _fitted(head, width)
        yield from _rows(client, width)
        yield from _why_healthy_failed(client["cases"])


def counts(client: dict[str, Any]) -> str:
    """How many cases have each grade, in words."""
    found: dict[str, int] = client["counts"]
    shown = [f"{found[grade.value]} {grade.value}" for grade in Grade if found[grade.value]]
    return f"{counted(len(client['cases']), 'case')}: {', '.join(shown) or 'none'}"


def worst_first(cases: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The cases in the order of their grades and reasons, the required ones before the others."""
    return sorted(cases, key=lambda case: (not case["required"], rank(result_of(case)), case["id"]))


def comparison(raw: dict[str, Any], repaired: dict[str, Any], width: int | None = None) -> Iterator[str]:
    """The failures that repair fixes, among the cases of both reports. `width` as for `lines`."""
    before = {(client["name"], case["id"]): case for client in raw["clients"] for case in client["cases"]}
    pairs = [
        (before[client["name"], case["id"]], case)
        for client in repaired["clients"]
        for case in client["cases"]
        if (client["name"], case["id"]) in before
    ]
    failed = [(one, other) for one, other in pairs if one["grade"] == Grade.FAILED]
    saved = [other for _, other in failed if other["grade"] in (Grade.OK, Grade.NOT_STRICT)]
    worse = [other for one, other in pairs if rank(result_of(other)) < rank(result_of(one))]
    yield f"repair fixes {len(saved)} of {counted(len(failed), 'case')} that failed without it"
    for one, other in sorted(failed, key=lambda pair: pair[0]["id"]):
        now = other["reason"] or other["grade"]
        yield from _fitted(f"{one['id']:<44} {one['reason'] or one['grade']} → {now}", width, "  ")
    if worse:
        yield from _fitted(f"worse with repair: {', '.join(case['id'] for case in worse)}", width)


def _rows(client: dict[str, Any], width: int | None) -> Iterator[str]:
    told = [case for case in worst_first(client["cases"]) if case["grade"] in _SHOWN]
    longest = max((len(case["id"]) for case in told if case["grade"] != Grade.SKIPPED), default=0)
    skipped: dict[tuple[str | None, str], list[str]] = {}
    for case in told:
        if case["grade"] == Grade.SKIPPED:
            skipped.setdefault((case["reason"], case["message"]), []).append(case["id"])
            continue
        demand = "required" if case["required"] else "optional"
        row = f"  {case['grade']:<15} {demand}  {case['id']:<{longest}}"
        last = f"→ {case['advice']}" if case.get("advice") else ""
        why = _why(case, width)
        whole = "  ".join(filter(None, [row, why, last])).rstrip()
        if width is None or len(whole) <= width:
            yield whole
        else:
            yield row.rstrip()
            yield from wrapped(_BELOW, "", why, last, width)
    for (reason, message), ids in skipped.items():
        yield from _fitted(f"skipped         {counted(len(ids), 'case')}: {printable(message)}", width, "  ")
        if reason not in (None, Skip.NO_BASELINE):
            yield from _fitted(", ".join(ids), width, _BELOW)


def _why(case: dict[str, Any], width: int | None) -> str:
    """The reason and the message; for a client that crashed also the last line that it printed."""
    parts = [case["reason"], case["message"]]
    if case["reason"] == Reason.CRASHED:
        said = next((line.strip() for line in reversed(case["output"].splitlines()) if line.strip()), "")
        parts.append(said if width is None else middle(said, _LAST_WORDS))
    return printable(": ".join(filter(None, parts)))


def _fitted(text: str, width: int | None, begin: str = "") -> Iterator[str]:
    """A line that goes on below where there is no room."""
    if width is None or len(begin) + len(text) <= width:
        yield f"{begin}{text}"
    else:
        yield from wrapped(begin, "", text, width=width)


def _why_healthy_failed(cases: list[dict[str, Any]]) -> Iterator[str]:
    """The output of a client that fails with a healthy response: no other case can be judged then."""
    first = cases[0] if cases else None
    if first is None or first["grade"] not in (Grade.FAILED, Grade.HARNESS_FAILURE):
        return
    printed = first["output"].splitlines()[-_OUTPUT_LINES:]
    if printed:
        yield "  the client must handle a healthy response correctly before other cases are checked; it printed:"
        yield from (f"    {printable(line)}" for line in printed)
    yield f"  to run it again: {printable(first['rerun'])}"


def conditions(client: dict[str, Any]) -> str:
    """The repairs and shapes that the client was run with."""
    parts = [f"{kind} {','.join(client[kind])}" for kind in ("repair", "shape") if client.get(kind)]
    return f", with {' and '.join(parts)}" if parts else ""
