"""Incomplete and repeated calls that clients returned: whether the results show that they ran."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from matrixlib.run import HALF_CALLS
from toolstream_core.checking.grading import Grade, Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

REJECTED: Final = Grade.CALL_REJECTED.value
"""The client returned the call with a rejection as its result."""
UNKNOWN: Final = Grade.UNKNOWN.value
"""No result shows whether the call ran."""
RAN: Final = frozenset({Reason.RAN_INCOMPLETE.value, Reason.RAN_TWICE.value})
"""Reasons for which a result shows that the tool ran."""
BY_RESULTS: Final = RAN | {REJECTED, UNKNOWN}
"""Cells that results decide on."""
PASSED: Final = frozenset({Grade.OK.value, Grade.NOT_STRICT.value})
RIGHT: Final = frozenset({None, REJECTED})
"""Cells in which the client did nothing wrong."""
GAVE_UP: Final = Reason.GAVE_UP.value
NOT_JUDGED: Final = "not judged"
"""In the place of what a client did wrong, if the run says nothing of it."""


class HalfCell(NamedTuple):
    """What a client did in one case, in each of the three ways; `None` if it was right."""

    case: str
    """PROTOCOL/KIND/NAME."""
    raw: str | None
    safe: str | None
    whole_calls: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfCallRun:
    """When they were run, at which commits and by which command."""

    date: str
    commits: tuple[str, ...]
    command: str


def half_call_run(found: dict[str, Any]) -> HalfCallRun:
    """The run of what was found (`run.kept`)."""
    about = found["about"]
    return HalfCallRun(date=about["date"], commits=tuple(about["commit"].split(", ")), command=about["command"])


def joined(new: HalfCallRun, earlier: HalfCallRun | None) -> HalfCallRun:
    """A run with the commits of the earlier runs of other cells."""
    commits = (*(() if earlier is None else earlier.commits), *new.commits)
    return HalfCallRun(date=new.date, commits=tuple(dict.fromkeys(commits)), command=new.command)


def half_cells(cases: Iterable[str], found: dict[str, Any]) -> Iterator[HalfCell]:
    """What was found of these cases; one that a run says nothing of is not judged."""
    told = [{case["id"]: wrong(case) for case in found[how]["clients"][0]["cases"]} for how in HALF_CALLS]
    for case in cases:
        yield HalfCell(case, *(way.get(case, NOT_JUDGED) for way in told))


def wrong(case: dict[str, Any]) -> str | None:
    """What a client did in a case; `None` if it was right."""
    if case["grade"] in PASSED:
        return None
    if case["grade"] in {REJECTED, UNKNOWN}:
        return str(case["grade"])
    return str(case["reason"] or case["message"] or "failed") if case["grade"] == "failed" else NOT_JUDGED
