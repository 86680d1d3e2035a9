"""The report as lines for a terminal."""

from __future__ import annotations

import itertools

import pytest

from tests.checking.reports import CLIENT, report
from toolstream_core.checking.cases import Case, Kind, Plan
from toolstream_core.checking.client import Run
from toolstream_core.checking.grading import Grade, Reason, Result
from toolstream_core.checking.report import case_object, client_object, comparison, lines


def test_the_worst_comes_first() -> None:
    """Required before optional; what was simply right is only counted."""
    head, *rows = lines(report())
    assert head == (
        "agent|<b> (openai-chat): 7 cases: 1 ok, 1 not-strict, 1 info, 2 failed, 1 harness-failure, 1 skipped"
    )
    assert [row.split()[:3] for row in rows[:3]] == [
        ["failed", "required", "openai-chat/fault/b-half"],
        ["harness-failure", "required", "openai-chat/fault/d-untried"],
        ["not-strict", "required", "openai-chat/fault/e-weak"],
    ]
    assert rows[-1] == "  skipped         1 case: openai-chat/healthy did not pass"
    assert rows[-2].split()[:2] == ["failed", "optional"]
    assert all("\n" not in row and "\0" not in row for row in rows)


def failed(reason: Reason, output: str) -> str:
    """The line of a case that failed."""
    case = Case(protocol="openai-chat", kind=Kind.FAULT, name="late-id", title="t", spec="late-id")
    run = Run(exit_code=1, output=output)
    result = Result(Grade.FAILED, reason, "it did not run the call")
    told = case_object(case, result, "again", runs=[run], run=run, advice="--repair late-id")
    client = client_object(CLIENT, Plan(), protocol="openai-chat", cases=[told])
    return list(lines({"clients": [client]}))[1]


def test_a_crash_shows_what_was_printed_last() -> None:
    """The last line that says anything."""
    row = "  failed          required  openai-chat/fault/late-id"
    ran, helps = "it did not run the call", "→ --repair late-id"
    crashed = failed(Reason.CRASHED, "Traceback:\nIndexError: list\n\n")
    assert crashed == f"{row}  crashed: {ran}: IndexError: list  {helps}"
    assert failed(Reason.GAVE_UP, "bye\n") == f"{row}  gave up: {ran}  {helps}"


LONG = "call 0 get_weather: returned without its arguments " + "and the reason goes on " * 12


def test_without_a_width_nothing_is_cut() -> None:
    """A case is one line, however long."""
    rows = list(lines(report(b_half=Result(Grade.FAILED, Reason.WITHOUT_ARGUMENTS, LONG))))
    assert any(row.endswith(f"returned without arguments: {LONG.strip()}") for row in rows)
    assert not any("…" in row for row in rows)


@pytest.mark.parametrize("width", [80, 120])
def test_lines_fit_a_width_and_lose_nothing(width: int) -> None:
    """What is too long goes on below its case, further in."""
    reason, skipped = Result(Grade.FAILED, Reason.WITHOUT_ARGUMENTS, LONG), Result(Grade.SKIPPED, None, LONG)
    rows = list(lines(report(b_half=reason, f_skipped=skipped), width))
    rows += comparison(report(), report(("safe",), b_half=Result(Grade.FAILED, Reason.TWICE, "m")), width)
    assert [row for row in rows if len(row) > width] == []
    at = next(at for at, row in enumerate(rows) if row.endswith("openai-chat/fault/b-half"))
    below = list(itertools.takewhile(lambda row: row.startswith("      "), rows[at + 1 :]))
    assert " ".join(" ".join(below).split()) == f"returned without arguments: {LONG.strip()}"


def test_why_a_healthy_answer_was_not_understood_is_shown() -> None:
    """What the client printed, and how to run it again."""
    rows = list(lines(report(a_healthy=Result(Grade.FAILED, Reason.CRASHED, "m"))))
    assert any(row.startswith("    last words") for row in rows)
    assert "  to run it again: toolstream check --only a-healthy" in rows
    assert sum(row.endswith("it printed:") for row in rows) == 1
    silent = report(a_healthy=Result(Grade.FAILED, Reason.CRASHED, "m"))
    silent["clients"][0]["cases"][0]["output"] = ""
    assert not any(row.endswith("it printed:") for row in lines(silent))


def test_what_repair_saves() -> None:
    """Of the cases that failed without it; what became worse is named."""
    repaired = report(("safe",), b_half=Result(Grade.OK), a_healthy=Result(Grade.FAILED, Reason.CRASHED, "m"))
    first, *rows, worse = comparison(report(), repaired)
    assert first == "repair fixes 1 of 2 cases that failed without it"
    assert [row.split() for row in rows] == [
        ["openai-chat/fault/b-half", "returned", "an", "incomplete", "call", "→", "ok"],
        ["openai-chat/fault/c-optional", "gave", "up", "→", "gave", "up"],
    ]
    assert worse == "worse with repair: openai-chat/fault/a-healthy"
