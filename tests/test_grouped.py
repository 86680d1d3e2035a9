"""Tests that group many cases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.grouped import Case, grouped

if TYPE_CHECKING:
    from pathlib import Path


def test_every_case_runs_and_all_failures_are_raised() -> None:
    """All cases of a group run, and the failures are raised together, each with its case."""
    names = []

    @grouped([Case("a", (1, "one")), Case("a", (2, "two")), Case("b", (3, "three")), Case("a", (4, "four"))])
    def invariant(number: int, name: str) -> None:
        names.append(name)
        assert number % 2

    [mark] = invariant.pytestmark  # type: ignore[attr-defined]  # set by pytest
    _, groups = mark.args
    assert list(mark.kwargs["ids"]) == ["a", "b"]
    first, second = groups
    invariant(second)
    with pytest.raises(ExceptionGroup, match="2 of 3 cases") as raised:
        invariant(first)
    assert names == ["three", "one", "two", "four"]
    assert [error.__notes__ for error in raised.value.exceptions] == [["in the case 2, two"], ["in the case 4, four"]]


@grouped([Case("a", (1,)), Case("a", (2,))])
def test_cases_of_a_group_share_its_fixtures(number: int, tmp_path: Path) -> None:
    """The cases of a group share the fixtures that follow the arguments of the cases."""
    assert len([*tmp_path.iterdir()]) == number - 1
    (tmp_path / str(number)).touch()
