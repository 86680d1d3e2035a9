"""What helps a client in a case that it failed."""

from __future__ import annotations

from typing import Any

import pytest

from toolstream_core.checking.helping import advice

UNTRIED: dict[str, Any] = {"repair": []}


def case(kind: str, name: str, *verdicts: dict[str, Any], grade: str = "failed") -> dict[str, Any]:
    """A case of a report, as far as that is looked at."""
    return {"kind": kind, "name": name, "grade": grade, "turns": [{"verdict": one} for one in (None, *verdicts)]}


def verdict(*advised: str, sent: int = 0) -> dict[str, Any]:
    """A verdict on a client that sent so many calls back."""
    return {"advice": list(advised), "sent": [{}] * sent}


@pytest.mark.parametrize(
    ("failed", "helps"),
    [
        (case("fault", "late-id", verdict()), "--repair late-id"),
        (case("preset", "openclaw"), "--repair empty-id,empty-name"),
        (case("fault", "missing-calls"), ""),
        (case("fault", "lost-arguments"), ""),
        (case("shape", "whole-calls"), ""),
        (case("transit", "stall"), ""),
    ],
)
def test_who_ran_nothing_is_told_the_safe_repair_of_what_was_planted(failed: dict[str, Any], helps: str) -> None:
    """Nothing came back that could be explained; behind repair nothing more is advised."""
    assert advice(failed, UNTRIED) == helps
    assert advice(failed, {"repair": ["safe"]}) == ""


def test_what_was_tried_goes_before_it() -> None:
    """Where calls came back and nothing that was tried helps, nothing is advised; nor where nothing failed."""
    assert (
        advice(case("fault", "late-id", verdict(), verdict("--set toolstream_shape=a", "--set c=d", sent=1)), UNTRIED)
        == "--shape a"
    )
    assert advice(case("fault", "late-id", verdict(sent=1)), UNTRIED) == ""
    assert advice(case("fault", "late-id", grade="ok"), UNTRIED) == ""
