"""The cases of a check, and how a selection names them."""

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
    """An id begins with the protocol, and that of a healthy case has no kind."""
    assert EMPTY_ID.id == "openai-chat/fault/empty-id"
    assert healthy("gemini").id == "gemini/healthy"
    assert two_calls("gemini", ()).id == "gemini/healthy/two-calls"
    assert healthy("").id == "unknown/healthy"


@pytest.mark.parametrize(
    ("words", "selected"),
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
def test_words_select_cases(words: tuple[str, ...], selected: bool) -> None:
    """Words are names, codes, families, kinds, ids or globs, and the last matching word decides."""
    assert Selection(words).takes(EMPTY_ID) is selected


def test_a_case_knows_how_many_calls_the_client_understood_before() -> None:
    """The number is 0 before the healthy case, with a shape, with saved flows, and with the real provider."""
    first, pair = healthy("gemini"), two_calls("gemini", ("get {}", "list {}"))
    late, both = (replace(EMPTY_ID, protocol="gemini", needs=one.id) for one in (first, pair))
    assert [Plan().setup(case).understood for case in (first, pair, late, both)] == [0, 1, 1, 2]
    shaped, saved, billed = Plan(shape=("whole-calls",)), Plan(flows=(Path("a.flow"),)), Plan(upstream=True)
    assert {plan.setup(both).understood for plan in (shaped, saved, billed)} == {0}


def test_a_word_without_a_case_is_an_error() -> None:
    """The message suggests a similar name."""
    Selection(("empty-id", "-transit", "*/healthy", "cut")).check(all_cases())
    with pytest.raises(ToolstreamError, match="unknown case 'emty-id'; did you mean empty-id"):
        Selection(("emty-id",)).check(all_cases())


def test_the_title_of_a_shape_is_the_first_sentence_of_its_description() -> None:
    """All titles differ."""
    titles = {case.name: case.title for case in all_cases() if case.kind is Kind.SHAPE}
    assert len({*titles.values()}) == len(titles)
    assert titles["whole-calls"] == "Each call in one event"
    assert all(SHAPES[name].startswith(f"{title}.") for name, title in titles.items())


SOCKET_OF = {wire.protocol: wire for wire in SOCKETS}
"""The protocols over WebSockets, by dialect."""
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS, ids=[one.name for one in PROTOCOLS])


@each_protocol
def test_everything_that_can_be_injected_is_a_case(protocol: WireProtocol) -> None:
    """Each is a case once, and its specification is valid."""
    cases = cases_of(protocol)
    names = {kind: {case.name for case in cases if case.kind is kind} for kind in Kind}
    assert names[Kind.FAULT] == protocol.injectors.keys()
    assert names[Kind.SHAPE] == protocol.shapes.keys() - {PLAIN_LINES}  # healthy responses have plain lines
    transports = {Transport.HTTP} if protocol.over_http else set()
    transports |= {Transport.SOCKET} if protocol.name in SOCKET_OF else set()
    assert all(case.transports & transports for case in cases)
    lacking = set() if protocol.over_http else {"recut"}
    lacking |= set() if protocol.name in SOCKET_OF and SOCKET_OF[protocol.name].lane_key else {"wrong-stream-id"}
    expected = {defect.name for defect in TRANSIT} - lacking
    assert {group for case in cases if case.kind is Kind.TRANSIT for group in case.groups} == expected
    assert settings(Words(fault=[case.spec for case in cases])).rewrites
    assert len({case.id for case in all_cases()}) == len(all_cases())


def test_a_preset_is_a_case_if_all_its_faults_can_be_injected() -> None:
    """Each preset is a case of some protocol."""
    names = {case.name for case in all_cases() if case.kind is Kind.PRESET}
    assert names == {preset.name for preset in PRESETS}
    assert not any(case.id == "gemini/preset/kimi" for case in all_cases())


def test_the_definition_of_a_defect_decides_whether_its_case_is_required() -> None:
    """An error without loss is optional, since no client can be expected to read it."""
    defects = {defect.name: defect for defect in DEFECTS}
    for case in all_cases():
        if case.kind is Kind.FAULT:
            defect = defects[case.name]
            assert case.required is (defect.lossy or defect.severity is not Severity.ERROR)
            assert (case.lossy, case.may_refuse, case.code) == (defect.lossy, defect.may_refuse, defect.code)


def test_a_defect_that_clients_may_refuse_describes_it() -> None:
    """`may_refuse` agrees with the text of the definition."""
    for defect in DEFECTS:
        if defect.may_refuse:
            assert " or " in defect.must
        if "or reports" in defect.must:
            assert defect.may_refuse


def test_timing_faults_lose_nothing() -> None:
    """All other connection faults lose a part of the response."""
    lossy = {defect.name for defect in TRANSIT if defect.lossy}
    assert lossy.isdisjoint({"first-byte-delay", "stall", "drip", "recut", "hold-open"})
    assert {one.fault for one in TRANSIT_VARIANTS} - lossy == {
        "first-byte-delay",
        "stall",
        "drip",
        "recut",
        "hold-open",
    }
