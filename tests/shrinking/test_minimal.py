"""The search finds minimal streams for every defect that can be injected."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.invariants.driven import injected
from tests.invariants.healthy import streams
from tests.shrinking.samples import NAMES, Sample, sample_of
from toolstream_core.cli.shrink import reproduction
from toolstream_core.defects.table import named
from toolstream_core.model import Chunk
from toolstream_core.shrinking.candidate import Candidate, digest, events, size, turn
from toolstream_core.shrinking.search import Condition, Search, passes, shows

FLOWS = Path(__file__).resolve().parents[2] / "flows"


def smallest(sample: Sample, jobs: int = 1, *, events_only: bool = False) -> Candidate:
    """The result of the search for a sample."""
    search = Search(sample.condition, sample.oracle, jobs=jobs)
    tried = passes(sample.original)
    return search.run(sample.original, [one for one in tried if not (events_only and one.careful)])


def without_one(candidate: Candidate) -> list[Candidate]:
    """All candidates with one event less."""
    [one] = candidate
    kept = [(one.frames[:at] + one.frames[at + 1 :]) for at in range(len(one.frames))]
    return [(one.with_frames(parts),) for parts in kept if any(part.counts for part in parts)]


@pytest.mark.parametrize("name", NAMES)
def test_the_result_needs_all_its_events(name: str) -> None:
    """Without any of them, the finding is missing or another one appears."""
    sample = sample_of(name)
    best = smallest(sample, events_only=True)
    assert sample.oracle(best)
    assert sample.condition.allows(best)
    assert events(best) <= events(sample.original)
    for less in without_one(best):
        assert not (sample.condition.allows(less) and sample.oracle(less))


@pytest.mark.parametrize("name", NAMES[::16])
def test_fields_and_text_are_made_smaller(name: str) -> None:
    """The result still needs all events, and does not depend on the number of jobs."""
    sample = sample_of(name)
    best = smallest(sample)
    assert size(best) <= size(smallest(sample, events_only=True))  # equal where every field is required
    assert sample.oracle(best)
    assert sample.condition.allows(best)
    for less in without_one(best):
        assert not (sample.condition.allows(less) and sample.oracle(less))
    assert digest(smallest(sample, jobs=3)) == digest(best)


def test_keys_of_arguments_are_no_fields_of_the_protocol() -> None:
    """Keys that the tool does not need are removed, and arguments never become empty."""
    healthy = next(one for one in streams() if one.protocol == "gemini")
    body = injected(healthy.body, healthy.exchange, "missing-name").out
    original = (turn(0, healthy.exchange, [Chunk(0, body)]),)
    sample = Sample("missing-name", original, Condition(original), shows(named(["missing-name"])))
    [best] = smallest(sample)
    record = best.record
    assert record is not None
    assert [call.arguments for call in record.calls] == ['{"city":""}']
    assert b'"role":"model"' in b"".join(chunk.data for chunk in best.chunks)


def test_elements_of_an_array_stay_an_array() -> None:
    """With any of its elements left, the body is valid JSON."""
    saved = reproduction(FLOWS / "gemini-json-array.flow", None).original
    [first, *_] = saved
    elements = [part for part in first.frames if not first.framing.is_required(part)]
    assert len(elements) > 1
    for part in elements:
        less = first.with_frames([one for one in first.frames if one is part or first.framing.is_required(one)])
        assert len(json.loads(b"".join(chunk.data for chunk in less.chunks))) == 1
