"""Streams with one injected defect or two: a fixed part of `scripts/fuzz --defects`."""

from __future__ import annotations

from functools import partial
from itertools import islice
from math import gcd
from typing import TYPE_CHECKING

import pytest

from tests.fuzz import injected
from tests.fuzz.drive import Outcome
from tests.fuzz.hunt import broken, cases, names
from tests.fuzz.invariants import HARMS
from toolstream_core.engine.session import read_body

if TYPE_CHECKING:
    from tests.fuzz.case import Case

CASES = 200
RARE = 2
"""Broken invariants of any other kind among so many."""


def some(defects: int, count: int, seed: str = "fixed") -> list[Case]:
    """The first cases of a seed."""
    return list(islice(cases(partial(injected.case, defects), names(seed, 0)), count))


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("defects", [1, 2])
def test_streams_with_known_defects_are_not_harmed(defects: int, part: int) -> None:
    """`scripts/fuzz --defects` runs many more of them; docs/repair.md has the rates."""
    found = [(case.origin, *one) for case in some(defects, CASES, f"fixed {part}") for one in broken(case)]
    harms = frozenset().union(*HARMS.values())
    assert [one for one in found if one[1] in harms] == []
    assert len(found) <= RARE


@pytest.mark.parametrize("defects", [1, 2])
def test_every_combination_comes_once_in_a_round(defects: int) -> None:
    """Each fault, or pair, in each healthy stream."""
    known = injected.combinations(defects)
    assert len(set(known)) == len(known)
    assert gcd(injected.STRIDE, len(known)) == 1
    assert {len(one.faults) for one in known} == {defects}


def test_cases_are_made_of_one_protocol_on_demand() -> None:
    """As with `--dialect`."""
    made = cases(partial(injected.case, 1, dialects=("ollama",)), names("1", 0))
    assert {one.dialect for one in islice(made, 20)} == {"ollama"}


def test_a_case_is_the_same_every_time_and_differs_from_its_healthy_stream() -> None:
    """Its name is all that it is made from."""
    first, again = some(1, 30), some(1, 30)
    assert first == again
    assert len({one.body for one in first}) == len(first)


def test_the_intended_calls_are_those_of_the_healthy_stream() -> None:
    """Safe repairs give the client most of them."""
    right = 0
    for case in some(1, 100):
        record = read_body([Outcome(case).on.out], case.exchange)
        assert case.intended
        right += record is not None and [one.name for one in record.calls] == [name for name, _ in case.intended]
    assert right > 50
