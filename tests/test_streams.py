"""Every known pattern as a wire sample, with its intended calls and its findings; none where it is valid."""

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
ELSEWHERE = frozenset(
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
"""Rows that no sample shows. Those of a connection or of bytes are in tests/stages/test_stream_checks.py, the others in
tests/invariants/test_invariants.py."""


def told(record: Record) -> list[tuple[str, str, int]]:
    """The findings, in the order of the samples."""
    return sorted({(finding.name, str(finding.severity), finding.event) for finding in record.findings})


def intended(call: Call) -> ExpectedCall:
    """As the samples write it; arguments that were cut off are never complete."""
    state = "guessed" if call.guessed else "" if call.kind is Kind.FUNCTION else str(call.kind)
    if call.kind is Kind.CUSTOM and not is_json(call.arguments):
        return ExpectedCall(call.id, call.name, call.arguments, state)
    if call.complete:
        return ExpectedCall(call.id, call.name, json.loads(call.arguments), state)
    return ExpectedCall(call.id, call.name, call.arguments, "cut")


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_findings_and_calls(pattern: Pattern) -> None:
    """Exactly these, byte by byte and in one piece."""
    body = pattern.body
    for pieces in ((body[at : at + 1] for at in range(len(body))), [body]):
        record = read_body(pieces, pattern.exchange)
        assert record is not None
        assert told(record) == sorted(pattern.findings)
        assert [*map(intended, record.calls)] == pattern.calls


def test_patterns_have_names_of_their_own() -> None:
    """So that a failure names one."""
    names = [pattern.name for pattern in PATTERNS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("pattern", PATTERNS, ids=str)
def test_what_is_told_safe_is_mended(pattern: Pattern) -> None:
    """Of what safe repairs let go on, none of the findings that they answer is left; what is valid is untouched."""
    line = Session(pattern.exchange, Settings(SAFE))
    body = pattern.body
    out = b"".join(line.feed(body)) + b"".join(line.end())
    assert line.error is None
    repairable = {row.name for row in DEFECTS if row.repair == "safe" and row.code not in LIVE}
    if not any(name in repairable for name, _, _ in pattern.findings):
        assert out == body
    record = read_body([out], pattern.exchange)
    assert record is not None
    left = {finding.name for finding in record.findings} & repairable
    assert left == STAYS.get(pattern.name, set())


STAYS: dict[str, set[str]] = {
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
"""Safe repairs that cannot act: the header was gone before its name went on; nobody says whose delta it is; the client
has other arguments already; the call may be incomplete."""


def test_every_row_has_a_sample_or_says_where_it_is_tested() -> None:
    """A row that nothing shows is not known to work."""
    shown = {name for pattern in PATTERNS for name, _, _ in pattern.findings}
    assert {row.name for row in DEFECTS} - shown == ELSEWHERE
