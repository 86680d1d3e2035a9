"""The search finds what cannot be made smaller, for every defect that can be caused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shrinking.samples import Sample, samples
from toolstream_core.shrinking.candidate import Candidate, digest, events, size
from toolstream_core.shrinking.passes import passes
from toolstream_core.shrinking.search import Search

FLOWS = Path(__file__).resolve().parents[2] / "flows"


def smallest(sample: Sample, jobs: int = 1, *, events_only: bool = False) -> Candidate:
    """What the search makes of a sample."""
    search = Search(sample.law, sample.oracle, jobs=jobs)
    tried = passes(sample.original)
    return search.run(sample.original, [one for one in tried if not (events_only and one.careful)])


def without_one(candidate: Candidate) -> list[Candidate]:
    """The candidates that have one event less, of those that have any."""
    [turn] = candidate
    kept = [(turn.pieces[:at] + turn.pieces[at + 1 :]) for at in range(len(turn.pieces))]
    return [(turn.keeping(pieces),) for pieces in kept if any(piece.counts for piece in pieces)]


@pytest.mark.parametrize("sample", samples(), ids=str)
def test_no_event_of_the_smallest_can_be_missed(sample: Sample) -> None:
    """Without any one of its events the finding is gone, or something else is wrong."""
    best = smallest(sample, events_only=True)
    assert sample.oracle(best)
    assert sample.law.allows(best)
    assert events(best) <= events(sample.original)
    for less in without_one(best):
        assert not (sample.law.allows(less) and sample.oracle(less))


@pytest.mark.parametrize("sample", samples()[::16], ids=str)
def test_fields_and_text_are_made_smaller_too(sample: Sample) -> None:
    """Also then no event can be missed, and the result is the same however many tries run at once."""
    best = smallest(sample)
    assert size(best) < size(smallest(sample, events_only=True))
    assert sample.oracle(best)
    assert sample.law.allows(best)
    for less in without_one(best):
        assert not (sample.law.allows(less) and sample.oracle(less))
    assert digest(smallest(sample, jobs=3)) == digest(best)
