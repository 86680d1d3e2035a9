"""tests/rows/: each defect of the table has a saved flow, and it tells that defect. The plugin reads them besides."""

from __future__ import annotations

from typing import Final

import pytest

import make_rows
from tests.calls.patterns import patterns
from toolstream_core.defects.table import ROWS
from toolstream_core.saved.expectation import expect_path, loads
from toolstream_core.saved.read import load

KEPT: Final = [row.name for row in ROWS if row.name not in make_rows.WITHOUT]


def test_there_is_a_flow_for_every_row_and_no_other() -> None:
    """None is left from a row that is gone, and what has none says why."""
    assert sorted(path.stem for path in make_rows.TARGET.glob("*.flow")) == sorted(KEPT)
    assert all(make_rows.WITHOUT.values())


@pytest.mark.parametrize("name", KEPT)
def test_it_tells_its_row(name: str) -> None:
    """As the expectation beside it says, and as the sample that it was made of says."""
    path = make_rows.TARGET / f"{name}.flow"
    (fixture,) = load(path)
    told = [(finding.name, finding.event) for finding in fixture.record.findings]
    expected = loads(expect_path(path).read_text(encoding="utf-8"), path.name)
    assert [(one.name, one.event) for answer in expected.answers for one in answer.findings] == told
    assert name in [one for one, _ in told]
    sample = next((one for one in patterns() if name in {finding for finding, _, _ in one.findings}), None)
    if sample is not None and sample.body == fixture.body:
        assert set(told) == {(finding, event) for finding, _, event in sample.findings}
