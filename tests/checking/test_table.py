"""The report as lines for a terminal."""

from __future__ import annotations

from tests.checking.reports import report
from toolstream_core.checking.grading import Grade, Reason, Result
from toolstream_core.checking.table import comparison, lines


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
    assert rows[-1] == "  skipped         1 case: openai-chat/healthy is not right"
    assert rows[-2].split()[:2] == ["failed", "optional"]
    assert all("\n" not in row and "\0" not in row for row in rows)


def test_why_a_healthy_answer_was_not_understood_is_shown() -> None:
    """What the client printed, and how to run it again."""
    rows = list(lines(report(a_healthy=Result(Grade.FAILED, Reason.CRASHED, "m"))))
    assert any(row.startswith("    last words") for row in rows)
    assert "  to run it again: toolstream check --only a-healthy" in rows


def test_what_repair_saves() -> None:
    """Of the cases that failed without it; what became worse is named."""
    repaired = report(("safe",), b_half=Result(Grade.OK), a_healthy=Result(Grade.FAILED, Reason.CRASHED, "m"))
    first, *rows, worse = comparison(report(), repaired)
    assert first == "repair saves 1 of 2 cases that failed without it"
    assert [row.split() for row in rows] == [
        ["openai-chat/fault/b-half", "ran", "a", "half", "call", "→", "ok"],
        ["openai-chat/fault/c-optional", "gave", "up", "→", "gave", "up"],
    ]
    assert worse == "worse behind repair: openai-chat/fault/a-healthy"
