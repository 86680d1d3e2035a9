"""The cells in which a client ran half a call, run once more in three ways: what became of the half call."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from matrixlib.run import HALF_CALLS
from toolstream_core.checking.grading import Reason

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from matrixlib.clients import MatrixClient

HALF: Final = Reason.INCOMPLETE.value
ERROR: Final = "answered a half call with an error"
"""What a client did that sent half a call back, with a result that none of its tools gave."""
PASSED: Final = frozenset({"ok", "not-strict"})
NOT_JUDGED: Final = "not judged"
"""In the place of what a client did wrong, where the run says nothing of it."""
TOOLS_SAY: Final = ("Mild in ", " has one line.", "Wrong arguments", "There is no tool ")
"""What the tools of the drivers say, whatever they get."""


class HalfCell(NamedTuple):
    """What a client did wrong in one case, in each of the three ways; `None` where it was right."""

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


def half_cells(client: MatrixClient, cases: Iterable[str], found: dict[str, Any]) -> Iterator[HalfCell]:
    """What was found of these cases; one that a run says nothing of is not judged."""
    told = [
        {case["id"]: _wrong(case, driver=client.driver) for case in found[how]["clients"][0]["cases"]}
        for how in HALF_CALLS
    ]
    for case in cases:
        yield HalfCell(case, *(way.get(case, NOT_JUDGED) for way in told))


def _wrong(case: dict[str, Any], *, driver: bool) -> str | None:
    """What a client did wrong; `driver`: its tools are those of the drivers, which say what they get."""
    if case["grade"] in PASSED:
        return None
    if case["grade"] != "failed":
        return NOT_JUDGED
    if driver and case["reason"] == HALF and _only_errors(case):
        return ERROR
    return str(case["reason"])


def _only_errors(case: dict[str, Any]) -> bool:
    """Whether half calls came back, and each with a result that no tool gave: none was run."""
    half = {call["id"] for turn in case["turns"] for call in turn["calls"] if not call["complete"]}
    asked = [turn["request"] for turn in case["turns"] if turn["request"] is not None]
    results = [one["text"] for request in asked for one in request["results"] if one["id"] in half]
    return bool(results) and not any(said in text for text in results for said in TOOLS_SAY)
