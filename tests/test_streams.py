"""The sample streams of known patterns have their intended calls and findings."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.calls.patterns import ExpectedCall, Pattern, patterns
from toolstream_core.calls.json_text import is_json
from toolstream_core.defects.defect import LIVE
from toolstream_core.defects.table import DEFECTS
from toolstream_core.engine.session import Session, read_body
from toolstream_core.model import Call, Kind
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from toolstream_core.model import Record

PATTERNS = patterns()
WITHOUT_SAMPLE = frozenset(
    {
        "oversize-frame",
        "unreadable-body",
        "unterminated-body",
        "unparsable-data",
        "wrong-content-type",
        "odd-id",
        "reused-id",
        "data-after-end",
        "restarted-stream",
    }
)
"""Defects without a sample. Defects of a connection or of bytes are tested in tests/stages/test_stream_checks.py, the
others in tests/invariants/test_invariants.py."""


def findings(record: Record) -> list[tuple[str, str, int]]:
    """Return the findings in the order of the samples."""
    return sorted({(finding.name, str(finding.severity), finding.event) for finding in record.findings})


def intended(call: Call) -> ExpectedCall:
    """Convert a call to the form of the samples."""
    state = "guessed" if call.guessed else "" if call.kind is Kind.FUNCTION else str(call.kind)
    if call.kind is Kind.CUSTOM and not is_json(call.arguments):
        return ExpectedCall(call.id, call.name, call.arguments, state)
    if call.complete:
        return ExpectedCall(call.id, call.name, json.loads(call.arguments), state)
    return ExpectedCall(call.id, call.name, call.arguments, "cut")


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_a_sample_has_its_findings_and_calls(pattern: Pattern) -> None:
    """A sample has exactly its findings and calls, byte by byte and in one chunk."""
    body = pattern.body
    for chunks in ((body[at : at + 1] for at in range(len(body))), [body]):
        record = read_body(chunks, pattern.exchange)
        assert record is not None
        assert findings(record) == sorted(pattern.findings)
        assert [*map(intended, record.calls)] == pattern.calls


def test_samples_have_unique_names() -> None:
    """No two samples have the same name."""
    names = [pattern.name for pattern in PATTERNS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_safe_repairs_fix_samples(pattern: Pattern) -> None:
    """After safe repairs, no finding with a safe repair is left, and samples without such a finding are unchanged."""
    session = Session(pattern.exchange, Settings(SAFE))
    body = pattern.body
    out = b"".join(session.feed(body)) + b"".join(session.end())
    assert session.error is None
    repairable = {defect.name for defect in DEFECTS if defect.repair == "safe" and defect.code not in LIVE}
    if not any(name in repairable for name, _, _ in pattern.findings):
        assert out == body
    record = read_body([out], pattern.exchange)
    assert record is not None
    remaining = {finding.name for finding in record.findings} & repairable
    assert remaining == UNREPAIRED.get(pattern.name, set())


UNREPAIRED: dict[str, set[str]] = {
    "cc-name-fragmented": {"split-name"},
    "anth-index-unknown: the start dropped": {"unknown-block"},
    "anth-thinking-in-text": {"foreign-delta"},
    "anth-thinking-in-text: late in the block": {"foreign-delta"},
    "anth-thinking-in-text: in an open call": {"foreign-delta"},
    "anth-delta-after-stop: thinking": {"unknown-block"},
    "anth-delta-after-stop: without arguments": {"unknown-block"},
    "anth-delta-after-stop: garbage": {"unknown-block"},
    "anth-delta-after-stop: other arguments": {"unknown-block"},
    "anth-delta-after-stop: the arguments": {"unknown-block"},
    "anth-delta-after-stop: text at the index of the thinking before it": {"unknown-block"},
    "resp-args-ciphertext": {"short-deltas"},
    "cc-finish-missing: a header alone, which may be incomplete": {"missing-finish"},
    "resp-unclosed: a header alone, which may be incomplete": {"unclosed-call"},
}
"""Findings that safe repairs cannot fix here: the header was already sent without the name; the call of a delta is
unknown; the client already has other arguments; the call may be incomplete."""


def test_every_defect_has_a_sample_or_is_tested_elsewhere() -> None:
    """Every defect has a sample or is listed in `WITHOUT_SAMPLE`."""
    shown = {name for pattern in PATTERNS for name, _, _ in pattern.findings}
    assert {defect.name for defect in DEFECTS} - shown == WITHOUT_SAMPLE
