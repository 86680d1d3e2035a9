"""A report with a case of every grade and hostile texts."""

from __future__ import annotations

from typing import Any

from toolstream_core.checking.cases import Case, Kind, Plan
from toolstream_core.checking.client import Client, Run
from toolstream_core.checking.grading import Result, Skip
from toolstream_core.checking.report import case_object, client_object, document
from toolstream_core.verdict.outcome import Grade, Reason

HOSTILE = "]]> </failure> <b>|`x`|</b> 100% a:b,c \x00\ud800 \n::error::x"
CLIENT = Client(name="agent|<b>", command=("python", "agent.py"))
RESULTS = {
    "a-healthy": Result(Grade.OK),
    "b-half": Result(Grade.FAILED, Reason.INCOMPLETE, HOSTILE),
    "c-optional": Result(Grade.FAILED, Reason.GAVE_UP, "it did not run the call"),
    "d-untried": Result(Grade.HARNESS_FAILURE, None, "nothing was injected"),
    "e-weak": Result(Grade.NOT_STRICT, None, "it repeated the request"),
    "f-skipped": Result(Grade.SKIPPED, Skip.NO_BASELINE, "openai-chat/healthy did not pass"),
    "g-shown": Result(Grade.INFO, Reason.WRONG_ARGUMENTS, "m"),
}


def case(name: str) -> Case:
    """A case with this name."""
    return Case(
        protocol="openai-chat", kind=Kind.FAULT, name=name, title="a <title>", spec=name, required="opt" not in name
    )


def report(repair: tuple[str, ...] = (), **changed: Result) -> dict[str, Any]:
    """The report. `changed` has other results, by name with `_` in place of `-`."""
    results = {**RESULTS, **{name.replace("_", "-"): result for name, result in changed.items()}}
    run = Run(exit_code=1, seconds=0.25, output=f"last words {HOSTILE}")
    cases = [
        case_object(case(name), result, f"toolstream check --case {name}", runs=[run, run], run=run)
        for name, result in results.items()
    ]
    client = client_object(CLIENT, Plan(repair=repair), protocol="openai-chat", cases=cases)
    return document([client], started="2026-01-02T03:04:05Z", seconds=1.25, seed=0)
