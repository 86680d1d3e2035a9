"""Reports of `toolstream check` of the version before this one."""

from __future__ import annotations

import pytest

from toolstream_core.checking.grading import Reason
from toolstream_core.checking.report import VERSION, current
from toolstream_core.verdict.outcome import RENAMED


def turn(verdict: str) -> dict[str, object]:
    """A request with this verdict."""
    return {"verdict": {"verdict": verdict, "problems": [{"verdict": verdict}, {"verdict": "wrong-id"}]}}


def reason_of(version: int, reason: str | None) -> str | None:
    """The reason of a case in a report of a version, as it is read."""
    read = current({"version": version, "clients": [{"cases": [{"reason": reason, "turns": []}]}]})
    assert read is not None
    found: str | None = read["clients"][0]["cases"][0]["reason"]
    return found


@pytest.mark.parametrize(("old", "new"), [*RENAMED.items(), ("lost-call", "lost-call")])
def test_verdicts_of_version_1_get_their_new_names(old: str, new: str) -> None:
    """In every turn, also where a turn has no verdict."""
    turns = [turn(old), {"verdict": None}]
    read = current({"version": 1, "clients": [{"cases": [{"reason": None, "turns": turns}]}]})
    assert read is not None
    assert (read["version"], read["clients"][0]["cases"][0]["turns"]) == (VERSION, [turn(new), {"verdict": None}])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("ran a half call", "returned an incomplete call"),
        ("merged calls", "returned merged calls"),
        ("ran a call twice", "returned a call twice"),
        ("crashed",) * 2,
    ],
)
def test_reasons_of_version_1_get_their_new_words(old: str, new: str) -> None:
    """A reason that was not renamed stays."""
    assert reason_of(1, old) == new


@pytest.mark.parametrize("version", [1, VERSION])
def test_the_former_reason_of_a_loop_is_read(version: int) -> None:
    """It was renamed within version 2."""
    assert reason_of(version, "asked again and again") == "retried in a loop"


@pytest.mark.parametrize("reason", [None, *Reason])
def test_reasons_of_this_version_stay(reason: str | None) -> None:
    """Version 1 had other reasons of the same words."""
    assert reason_of(VERSION, reason) == reason


@pytest.mark.parametrize("report", [{}, {"version": 3, "clients": []}, {"version": 1}, {"version": 1, "clients": None}])
def test_other_objects_are_refused(report: dict[str, object]) -> None:
    """A later version, or an object without clients."""
    assert current(report) is None
