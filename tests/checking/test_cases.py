"""The cases of a check, and which of them a selection names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from toolstream_core.checking.cases import (
    TRANSIT_VARIANTS,
    Case,
    Kind,
    Plan,
    Selection,
    Transport,
    all_cases,
    cases_of,
    healthy,
    two_calls,
)
from toolstream_core.defects.table import DEFECTS
from toolstream_core.errors import ToolstreamError
from toolstream_core.faults.presets import PRESETS
from toolstream_core.model import Severity
from toolstream_core.protocols.registry import PROTOCOLS, SOCKETS
from toolstream_core.report.catalogue import SHAPES
from toolstream_core.settings import Words, settings
from toolstream_core.stages.framing import PLAIN_LINES
from toolstream_core.transit.definitions import TRANSIT

if TYPE_CHECKING:
    from toolstream_core.protocols.protocol import WireProtocol


EMPTY_ID = Case(protocol="openai-chat", kind=Kind.FAULT, name="empty-id", title="t", code="TS102", groups=("identity",))


def test_ids() -> None:
    """The protocol comes first; the healthy one has no kind."""
    assert EMPTY_ID.id == "openai-chat/fault/empty-id"
    assert healthy("gemini").id == "gemini/healthy"
    assert two_calls("gemini", ()).id == "gemini/healthy/two-calls"
    assert healthy("").id == "unknown/healthy"


@pytest.mark.parametrize(
    ("words", "takes"),
    [
        ((), True),
        (("all",), True),
        (("empty-id",), True),
        (("TS102",), True),
        (("identity",), True),
        (("fault",), True),
        (("empty-*",), True),
        (("openai-chat/*",), True),
        (("late-id",), False),
        (("anthropic/*",), False),
        (("-late-id",), True),
        (("-empty-id",), False),
        (("identity", "-empty-id"), False),
        (("-identity", "empty-id"), True),
    ],
)
def test_words_choose_cases(words: tuple[str, ...], takes: bool) -> None:
    """Names, codes, families, kinds, ids, globs; the last word that means a case decides."""
    assert Selection(words).takes(EMPTY_ID) is takes


def test_a_case_that_needs_another_says_what_the_client_understood() -> None:
    """Nothing before the healthy case, and nothing of responses with a shape or of saved flows."""
    first, pair = healthy("gemini"), two_calls("gemini", ("get {}", "list {}"))
    late, both = (replace(EMPTY_ID, protocol="gemini", needs=one.id) for one in (first, pair))
    assert [Plan().setup(case).understood for case in (first, pair, late, both)] == [0, 1, 1, 2]
    shaped, saved, billed = Plan(shape=("whole-calls",)), Plan(flows=(Path("a.flow"),)), Plan(upstream=True)
    assert {plan.setup(both).understood for plan in (shaped, saved, billed)} == {0}


def test_a_word_without_a_case_is_refused() -> None:
    """It would be a run of nothing."""
    Selection(("empty-id", "-transit", "*/healthy", "cut")).check(all_cases())
    with pytest.raises(ToolstreamError, match="unknown case 'emty-id'; did you mean empty-id"):
        Selection(("emty-id",)).check(all_cases())


def test_each_shape_is_described_by_its_own_sentence() -> None:
    """The first one of what `explain` says of it."""
    titles = {case.name: case.title for case in all_cases() if case.kind is Kind.SHAPE}
    assert len({*titles.values()}) == len(titles)
    assert titles["whole-calls"] == "Each call in one event"
    assert all(SHAPES[name].startswith(f"{title}.") for name, title in titles.items())


SPOKEN = {wire.dialect: wire for wire in SOCKETS}
"""The protocols that are spoken over a WebSocket."""
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=[one.name for one in PROTOCOLS])


@each_protocol
def test_all_that_can_be_planted_is_a_case(protocol: WireProtocol) -> None:
    """Each once; each specification is one that the addon takes."""
    cases = cases_of(protocol)
    names = {kind: {case.name for case in cases if case.kind is kind} for kind in Kind}
    assert names[Kind.FAULT] == protocol.injectors.keys()
    assert names[Kind.SHAPE] == protocol.shapes.keys() - {PLAIN_LINES}  # healthy responses have plain lines
    spoken = {Transport.HTTP} if protocol.over_http else set()
    spoken |= {Transport.SOCKET} if protocol.name in SPOKEN else set()
    assert all(case.over & spoken for case in cases)
    lacking = set() if protocol.over_http else {"recut"}
    lacking |= set() if protocol.name in SPOKEN and SPOKEN[protocol.name].lane_key else {"wrong-stream-id"}
    of_transit = {row.name for row in TRANSIT} - lacking
    assert {group for case in cases if case.kind is Kind.TRANSIT for group in case.groups} == of_transit
    assert settings(Words(fault=[case.spec for case in cases])).rewrites
    assert len({case.id for case in all_cases()}) == len(all_cases())


def test_presets_are_cases_where_all_their_parts_can_be_planted() -> None:
    """Each somewhere."""
    names = {case.name for case in all_cases() if case.kind is Kind.PRESET}
    assert names == {preset.name for preset in PRESETS}
    assert not any(case.id == "gemini/preset/kimi" for case in all_cases())


def test_what_is_required_follows_from_the_row() -> None:
    """What no reader can be sure to read right is optional; half a call is not to be run, and nothing lost is run."""
    rows = {row.name: row for row in DEFECTS}
    for case in all_cases():
        if case.kind is Kind.FAULT:
            row = rows[case.name]
            assert case.required is (row.lossy or row.severity is not Severity.ERROR)
            assert (case.lossy, case.may_refuse, case.code) == (row.lossy, row.may_refuse, row.code)


def test_a_row_that_lets_a_client_refuse_says_so() -> None:
    """`may_refuse` is what the words of the row say."""
    for row in DEFECTS:
        if row.may_refuse:
            assert " or " in row.must
        if "or reports" in row.must:
            assert row.may_refuse


def test_what_a_transit_fault_loses() -> None:
    """Time loses nothing."""
    lossy = {row.name for row in TRANSIT if row.lossy}
    assert lossy.isdisjoint({"first-byte-delay", "stall", "drip", "recut", "hold-open"})
    assert {one.fault for one in TRANSIT_VARIANTS} - lossy == {
        "first-byte-delay",
        "stall",
        "drip",
        "recut",
        "hold-open",
    }
