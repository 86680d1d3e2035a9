"""Chat text of recorded streams becomes filler text, and everything else stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.conftest import needs_shared
from tests.invariants.test_real_streams import SUPPORTED, TYPES, recordings
from tests.redaction.test_texts import MODES, assert_same
from toolstream_core.model import StreamFacts

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_shared
EACH = 25
"""Every 25th recording of a protocol is tested."""
LONGEST = 40_000


def sample() -> list[Path]:
    """The same few recordings of each protocol in every run."""
    chosen: list[Path] = []
    for protocol in sorted(SUPPORTED):
        found = (one.path for one in recordings() if one.protocol == protocol and one.path.suffix in TYPES)
        chosen += sorted(path for path in found if path.stat().st_size < LONGEST)[::EACH]
    return chosen


@pytest.mark.parametrize("path", sample(), ids=lambda path: path.stem[-40:])
def test_the_invariant_over_recorded_streams(path: Path) -> None:
    """The length, calls, findings and ending stay."""
    number = sample().index(path)
    exchange = StreamFacts(content_type=TYPES[path.suffix])
    assert_same(path.read_bytes(), exchange, (MODES[number % 2],))
