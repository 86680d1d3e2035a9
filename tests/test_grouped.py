"""A test over many cases runs each of them, and says which ones fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.grouped import Case, grouped

if TYPE_CHECKING:
    from pathlib import Path


def test_every_case_runs_and_all_that_fail_are_raised() -> None:
    """With their own messages, and the case beside them."""
    ran = []

    @grouped([Case("a", (1, "one")), Case("a", (2, "two")), Case("b", (3, "three")), Case("a", (4, "four"))])
    def invariant(number: int, name: str) -> None:
        ran.append(name)
        assert number % 2

    [may_leak] = invariant.pytestmark  # type: ignore[attr-defined]  # as pytest marks a function
    _, groups = may_leak.args
    assert list(may_leak.kwargs["ids"]) == ["a", "b"]
    first, second = groups
    invariant(second)
    with pytest.raises(ExceptionGroup, match="2 of 3 cases") as raised:
        invariant(first)
    assert ran == ["three", "one", "two", "four"]
    assert [error.__notes__ for error in raised.value.exceptions] == [["in the case 2, two"], ["in the case 4, four"]]


@grouped([Case("a", (1,)), Case("a", (2,))])
def test_cases_of_a_group_share_its_fixtures(number: int, tmp_path: Path) -> None:
    """Pytest finds them after the arguments of the cases."""
    assert len([*tmp_path.iterdir()]) == number - 1
    (tmp_path / str(number)).touch()
