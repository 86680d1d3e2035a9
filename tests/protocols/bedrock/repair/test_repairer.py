"""Converse streams as they leave the repairs, beside what holds for every protocol."""

from __future__ import annotations

import pytest

from tests.protocols.bedrock.messages import (
    BEGIN,
    END,
    REPAIRED,
    Said,
    body,
    calls,
    decoded,
    more,
    run,
    start,
    stop,
    text,
    told,
)

ONE = [start(0), more(0, '{"a":1}'), stop(0)]


@pytest.mark.parametrize("keyed", [False, True])
def test_blocks_that_overlap_come_one_after_the_other(keyed: bool) -> None:
    """The second waits until the first has stopped; nothing of either is lost."""
    mixed = [start(0), start(1), more(0, '{"a":'), more(1, '{"b":'), more(0, "1}"), more(1, "2}"), stop(0), stop(1)]
    out, record = run(body([*BEGIN, *mixed, *END], keyed=keyed), REPAIRED)
    assert told(record) == {"overlapping-blocks"}
    again = run(out)[1]
    assert calls(again) == [("tooluse_0", "f", {"a": 1}), ("tooluse_1", "f", {"b": 2})]
    assert again.findings == []


def test_a_block_at_an_index_in_use_gets_one_of_its_own() -> None:
    """And whatever comes there later does, too."""
    said = [*ONE, start(0, identity="x"), more(0, "{}"), stop(0), start(1), more(1, '{"b":2}'), stop(1), *END]
    out, record = run(body([*BEGIN, *said]), REPAIRED)
    assert told(record) == {"reused-index"}
    indexes = [one["contentBlockIndex"] for kind, one in decoded(out) if kind == "contentBlockStart"]
    assert len(set(indexes)) == 3
    assert run(out)[1].findings == []


def test_one_id_for_two_different_calls() -> None:
    """The second gets another."""
    said = [*ONE, start(1, identity="tooluse_0"), more(1, '{"a":2}'), stop(1), *END]
    out, record = run(body([*BEGIN, *said]), REPAIRED)
    assert told(record) == {"duplicate-id"}
    assert len({identity for identity, _, _ in calls(run(out)[1])}) == 2


def test_a_stop_reason_without_calls_is_told() -> None:
    """Nothing is made up."""
    raw = body([*BEGIN, text(0, "Hm."), stop(0), *END])
    out, record = run(raw, REPAIRED)
    assert told(record) == {"missing-calls"}
    assert out == raw


@pytest.mark.parametrize("end", [[], [("metadata", {"usage": END[1][1]["usage"]})]], ids=["nothing", "metadata"])
def test_a_finish_that_did_not_come_is_said(end: list[Said]) -> None:
    """Where the call is whole."""
    out, record = run(body([*BEGIN, *ONE, *end]), REPAIRED)
    assert told(record) >= {"missing-finish"}
    assert run(out)[1].finish == ["tool_use"]


@pytest.mark.parametrize("cut", [1, 2])
def test_no_finish_is_said_of_half_a_call(cut: int) -> None:
    """Its arguments have not come, or are cut within a message."""
    raw = body([*BEGIN, start(0), more(0, '{"a":')])
    raw = raw if cut == 1 else raw + body([more(0, "1}")])[:-3]
    out, record = run(raw, REPAIRED)
    assert out == raw
    assert not record.ended


def test_what_comes_behind_an_exception_or_damage_concludes_nothing() -> None:
    """The call is whole, and still the provider failed."""
    raw = body([*BEGIN, *ONE, ("internalServerException", {"message": "Sorry."})])
    out, record = run(raw, REPAIRED)
    assert out == raw
    assert told(record) == {"in-band-error"}


@pytest.mark.parametrize("said", [None, 5, "x", {"toolUse": 5}, {"toolUse": {}}, []], ids=repr)
def test_odd_deltas_go_on_as_they_came(said: object) -> None:
    """A member that is not what it should be is foreign, and loses nothing else."""
    odd = ("contentBlockDelta", {"contentBlockIndex": 0, "delta": said})
    raw = body([*BEGIN, start(0), odd, more(0, '{"a":1}'), stop(0), *END])
    out, record = run(raw, REPAIRED)
    assert out == raw
    assert calls(record) == [("tooluse_0", "f", {"a": 1})]


def indexes(raw: bytes) -> list[object]:
    """The indexes of all events of blocks, each with its type."""
    return [one.get("contentBlockIndex", "none") for kind, one in decoded(raw) if kind.startswith("contentBlock")]


def at(index: object, *said: Said) -> list[Said]:
    """Events at another index; without one where that is `...`."""
    return [
        (kind, {**one, "contentBlockIndex": index}) if index is not ... else (kind, _bare(one)) for kind, one in said
    ]


def _bare(said: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in said.items() if key != "contentBlockIndex"}


@pytest.mark.parametrize(("index", "defect"), [(..., "missing-index"), (None, "missing-index"), (1.5, "odd-index")])
def test_calls_without_a_usable_index_get_the_next_ones(index: object, defect: str) -> None:
    """In every event; text keeps its own."""
    one, two = [start(0), more(0, '{"a":1}'), stop(0)], [start(1), more(1, '{"b":2}'), stop(1)]
    said = [*BEGIN, text(0, "Hm."), stop(0), *at(index, *one), *at(index, *two), *END]
    out, record = run(body(said), REPAIRED)
    assert told(record) == {defect}
    assert indexes(out) == [0, 0, 1, 1, 1, 2, 2, 2]
    again = run(out)[1]
    assert calls(again) == [("tooluse_0", "f", {"a": 1}), ("tooluse_1", "f", {"b": 2})]
    assert again.findings == []


def test_an_index_in_another_spelling_is_that_number() -> None:
    """Unless another block has it."""
    two = at("1", start(1), more(1, "{}"), stop(1))
    out, record = run(body([*BEGIN, *ONE, *two, *END]), REPAIRED)
    assert told(record) == {"odd-index"}
    assert indexes(out) == [0, 0, 0, 1, 1, 1]
    again = at("0", start(1), more(1, "{}"), stop(1))
    assert indexes(run(body([*BEGIN, *ONE, *again, *END]), REPAIRED)[0]) == [0, 0, 0, 1, 1, 1]


def test_one_negative_index_for_all_calls() -> None:
    """Each gets one of its own."""
    said = at(-1, *ONE, start(1), more(1, '{"b":2}'), stop(1))
    out, record = run(body([*BEGIN, *said, *END]), REPAIRED)
    assert told(record) == {"odd-index"}
    assert indexes(out) == [0, 0, 0, 1, 1, 1]
    assert len(calls(run(out)[1])) == 2


@pytest.mark.parametrize("index", [..., "0"])
def test_deltas_and_stops_without_a_usable_index_are_the_open_calls(index: object) -> None:
    """Its start has one."""
    said = [start(0), *at(index, more(0, '{"a":'), more(0, "1}"), stop(0)), *END]
    out, record = run(body([*BEGIN, *said]), REPAIRED)
    assert told(record) == {"missing-index" if index is ... else "odd-index"}
    assert indexes(out) == [0, 0, 0, 0]
    assert calls(run(out)[1]) == [("tooluse_0", "f", {"a": 1})]


def test_deltas_and_stops_without_an_index_are_of_the_call_that_started_last() -> None:
    """One call after the other: the first one's do not hold the second one's."""
    bare = [at(..., more(0, one), stop(0)) for one in ('{"a":1}', '{"b":2}')]
    out, record = run(body([*BEGIN, start(0), *bare[0], start(1), *bare[1], *END]), REPAIRED)
    assert told(record) == {"missing-index"}
    assert indexes(out) == [0, 0, 0, 1, 1, 1]
    assert calls(record) == calls(run(out)[1]) == [("tooluse_0", "f", {"a": 1}), ("tooluse_1", "f", {"b": 2})]


def test_a_delta_without_an_index_is_nobodys_where_two_calls_are_open() -> None:
    """It is not joined to either."""
    said = [start(0), start(1), *at(..., more(0, '{"a":1}')), stop(0), stop(1), *END]
    _, record = run(body([*BEGIN, *said]), REPAIRED)
    assert [one.arguments for one in record.calls][:2] == ["{}", "{}"]


def test_null_input_becomes_the_empty_text() -> None:
    """Wherever it stands among the deltas."""
    said = [start(0), more(0, None), more(0, '{"a":1}'), more(0, None), stop(0), *END]
    out, record = run(body([*BEGIN, *said]), REPAIRED)
    assert told(record) == {"null-arguments"}
    texts = [one["delta"]["toolUse"]["input"] for kind, one in decoded(out) if kind == "contentBlockDelta"]
    assert texts == ["", '{"a":1}', ""]
    assert run(out)[1].findings == []
