"""Streams with one or two injected defects: a fixed part of `scripts/fuzz --defects`."""

from __future__ import annotations

from functools import partial
from itertools import islice
from math import gcd
from typing import TYPE_CHECKING

import pytest

from tests.fuzz import injected
from tests.fuzz.drive import Outcome
from tests.fuzz.hunt import cases, names, violations
from tests.fuzz.invariants import HARMS
from toolstream_core.engine.session import read_body

if TYPE_CHECKING:
    from tests.fuzz.case import Case

CASES = 200
TOLERATED = 2
"""Tolerated violations of invariants outside `HARMS`."""


def first_cases(defects: int, count: int, seed: str = "fixed") -> list[Case]:
    """Return the first cases of a seed."""
    return list(islice(cases(partial(injected.case, defects), names(seed, 0)), count))


@pytest.mark.parametrize("part", range(2))
@pytest.mark.parametrize("defects", [1, 2])
def test_streams_with_known_defects_are_not_harmed(defects: int, part: int) -> None:
    """A stream with one or two injected defects violates no invariant of `HARMS`, and few violate another."""
    found = [(case.origin, *one) for case in first_cases(defects, CASES, f"fixed {part}") for one in violations(case)]
    harms = frozenset().union(*HARMS.values())
    assert [one for one in found if one[1] in harms] == []
    assert len(found) <= TOLERATED


@pytest.mark.parametrize("defects", [1, 2])
def test_combinations_are_unique(defects: int) -> None:
    """Each combination of faults and healthy stream is listed once, and the step reaches all of them."""
    known = injected.combinations(defects)
    assert len(set(known)) == len(known)
    assert gcd(injected.STRIDE, len(known)) == 1
    assert {len(one.faults) for one in known} == {defects}


def test_cases_can_be_limited_to_a_protocol() -> None:
    """With `protocols`, all cases are of these protocols."""
    made = cases(partial(injected.case, 1, protocols=("ollama",)), names("1", 0))
    assert {one.protocol for one in islice(made, 20)} == {"ollama"}


def test_cases_are_reproducible_and_distinct() -> None:
    """The same names give the same cases, and all cases differ."""
    first, again = first_cases(1, 30), first_cases(1, 30)
    assert first == again
    assert len({one.body for one in first}) == len(first)


def test_safe_repairs_restore_most_intended_calls() -> None:
    """After safe repairs, most streams with one defect have the intended calls."""
    right = 0
    for case in first_cases(1, 100):
        record = read_body([Outcome(case).on.out], case.exchange)
        assert case.intended
        right += record is not None and [one.name for one in record.calls] == [name for name, _ in case.intended]
    assert right > 50
