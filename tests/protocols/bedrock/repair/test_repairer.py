"""Repairs of Converse streams."""

from __future__ import annotations

import pytest

from tests.protocols.bedrock.messages import (
    BEGIN,
    END,
    REPAIRED,
    NamedEvent,
    body,
    calls,
    decoded,
    finding_names,
    more,
    run,
    start,
    stop,
    text,
)

CALL = [start(0), more(0, '{"a":1}'), stop(0)]


@pytest.mark.parametrize("keyed", [False, True])
def test_overlapping_blocks_are_sent_one_after_the_other(keyed: bool) -> None:
    """The second of two overlapping blocks is held until the first has stopped."""
    mixed = [start(0), start(1), more(0, '{"a":'), more(1, '{"b":'), more(0, "1}"), more(1, "2}"), stop(0), stop(1)]
    out, record = run(body([*BEGIN, *mixed, *END], keyed=keyed), REPAIRED)
    assert finding_names(record) == {"overlapping-blocks"}
    again = run(out)[1]
    assert calls(again) == [("tooluse_0", "f", {"a": 1}), ("tooluse_1", "f", {"b": 2})]
    assert again.findings == []


def test_a_block_with_a_used_index_gets_another_index() -> None:
    """A block with a used index, and a later block with the new index, get other indexes."""
    events = [*CALL, start(0, identity="x"), more(0, "{}"), stop(0), start(1), more(1, '{"b":2}'), stop(1), *END]
    out, record = run(body([*BEGIN, *events]), REPAIRED)
    assert finding_names(record) == {"reused-index"}
    indexes = [one["contentBlockIndex"] for kind, one in decoded(out) if kind == "contentBlockStart"]
    assert len(set(indexes)) == 3
    assert run(out)[1].findings == []


def test_a_duplicate_id_is_replaced() -> None:
    """The second of two different calls with one id gets another id."""
    events = [*CALL, start(1, identity="tooluse_0"), more(1, '{"a":2}'), stop(1), *END]
    out, record = run(body([*BEGIN, *events]), REPAIRED)
    assert finding_names(record) == {"duplicate-id"}
    assert len({identity for identity, _, _ in calls(run(out)[1])}) == 2


def test_a_stop_reason_without_calls_is_reported() -> None:
    """A stop reason `tool_use` without calls is reported, and the stream is unchanged."""
    raw = body([*BEGIN, text(0, "Hm."), stop(0), *END])
    out, record = run(raw, REPAIRED)
    assert finding_names(record) == {"missing-calls"}
    assert out == raw


@pytest.mark.parametrize("end", [[], [("metadata", {"usage": END[1][1]["usage"]})]], ids=["nothing", "metadata"])
def test_a_missing_stop_reason_is_added(end: list[NamedEvent]) -> None:
    """A missing stop reason is added after a complete call."""
    out, record = run(body([*BEGIN, *CALL, *end]), REPAIRED)
    assert finding_names(record) >= {"missing-finish"}
    assert run(out)[1].finish == ["tool_use"]


@pytest.mark.parametrize("cut", [1, 2])
def test_no_stop_reason_is_added_after_an_incomplete_call(cut: int) -> None:
    """No stop reason is added after a call with truncated arguments."""
    raw = body([*BEGIN, start(0), more(0, '{"a":')])
    raw = raw if cut == 1 else raw + body([more(0, "1}")])[:-3]
    out, record = run(raw, REPAIRED)
    assert out == raw
    assert not record.ended


def test_no_stop_reason_is_added_after_an_exception() -> None:
    """No stop reason is added after an exception, even if the call is complete."""
    raw = body([*BEGIN, *CALL, ("internalServerException", {"message": "Sorry."})])
    out, record = run(raw, REPAIRED)
    assert out == raw
    assert finding_names(record) == {"in-band-error"}


@pytest.mark.parametrize("value", [None, 5, "x", {"toolUse": 5}, {"toolUse": {}}, []], ids=repr)
def test_odd_deltas_are_forwarded_unchanged(value: object) -> None:
    """A delta with values of other types is forwarded unchanged, and the other deltas are read."""
    odd = ("contentBlockDelta", {"contentBlockIndex": 0, "delta": value})
    raw = body([*BEGIN, start(0), odd, more(0, '{"a":1}'), stop(0), *END])
    out, record = run(raw, REPAIRED)
    assert out == raw
    assert calls(record) == [("tooluse_0", "f", {"a": 1})]


def indexes(raw: bytes) -> list[object]:
    """Return the indexes of all block events."""
    return [one.get("contentBlockIndex", "none") for kind, one in decoded(raw) if kind.startswith("contentBlock")]


def at(index: object, *events: NamedEvent) -> list[NamedEvent]:
    """Return the events with another index, or without an index for `...`."""
    return [
        (kind, {**one, "contentBlockIndex": index}) if index is not ... else (kind, _without_index(one))
        for kind, one in events
    ]


def _without_index(payload: dict[str, object]) -> dict[str, object]:
    return {key: value for key, value in payload.items() if key != "contentBlockIndex"}


@pytest.mark.parametrize(("index", "defect"), [(..., "missing-index"), (None, "missing-index"), (1.5, "odd-index")])
def test_calls_without_a_valid_index_get_the_next_indexes(index: object, defect: str) -> None:
    """All events of calls without a valid index get the next indexes; text keeps its index."""
    one, two = [start(0), more(0, '{"a":1}'), stop(0)], [start(1), more(1, '{"b":2}'), stop(1)]
    events = [*BEGIN, text(0, "Hm."), stop(0), *at(index, *one), *at(index, *two), *END]
    out, record = run(body(events), REPAIRED)
    assert finding_names(record) == {defect}
    assert indexes(out) == [0, 0, 1, 1, 1, 2, 2, 2]
    again = run(out)[1]
    assert calls(again) == [("tooluse_0", "f", {"a": 1}), ("tooluse_1", "f", {"b": 2})]
    assert again.findings == []


def test_an_index_as_text_is_converted() -> None:
    """An index as text is converted to that number, unless another block has it."""
    two = at("1", start(1), more(1, "{}"), stop(1))
    out, record = run(body([*BEGIN, *CALL, *two, *END]), REPAIRED)
    assert finding_names(record) == {"odd-index"}
    assert indexes(out) == [0, 0, 0, 1, 1, 1]
    again = at("0", start(1), more(1, "{}"), stop(1))
    assert indexes(run(body([*BEGIN, *CALL, *again, *END]), REPAIRED)[0]) == [0, 0, 0, 1, 1, 1]


def test_calls_with_one_negative_index_get_distinct_indexes() -> None:
    """Calls that share a negative index get indexes of their own."""
    events = at(-1, *CALL, start(1), more(1, '{"b":2}'), stop(1))
    out, record = run(body([*BEGIN, *events, *END]), REPAIRED)
    assert finding_names(record) == {"odd-index"}
    assert indexes(out) == [0, 0, 0, 1, 1, 1]
    assert len(calls(run(out)[1])) == 2


@pytest.mark.parametrize("index", [..., "0"])
def test_deltas_and_stops_without_a_valid_index_belong_to_the_open_call(index: object) -> None:
    """Deltas and stops without a valid index get the index of the open call."""
    events = [start(0), *at(index, more(0, '{"a":'), more(0, "1}"), stop(0)), *END]
    out, record = run(body([*BEGIN, *events]), REPAIRED)
    assert finding_names(record) == {"missing-index" if index is ... else "odd-index"}
    assert indexes(out) == [0, 0, 0, 0]
    assert calls(run(out)[1]) == [("tooluse_0", "f", {"a": 1})]


def test_deltas_and_stops_without_an_index_belong_to_the_last_started_call() -> None:
    """Deltas and stops without an index get the index of the call that started last."""
    unindexed = [at(..., more(0, one), stop(0)) for one in ('{"a":1}', '{"b":2}')]
    out, record = run(body([*BEGIN, start(0), *unindexed[0], start(1), *unindexed[1], *END]), REPAIRED)
    assert finding_names(record) == {"missing-index"}
    assert indexes(out) == [0, 0, 0, 1, 1, 1]
    assert calls(record) == calls(run(out)[1]) == [("tooluse_0", "f", {"a": 1}), ("tooluse_1", "f", {"b": 2})]


def test_a_delta_without_an_index_belongs_to_none_of_two_open_calls() -> None:
    """A delta without an index is not added to either of two open calls."""
    events = [start(0), start(1), *at(..., more(0, '{"a":1}')), stop(0), stop(1), *END]
    _, record = run(body([*BEGIN, *events]), REPAIRED)
    assert [one.arguments for one in record.calls][:2] == ["{}", "{}"]


def test_null_input_becomes_empty_text() -> None:
    """Input `null` in a delta is replaced by empty text."""
    events = [start(0), more(0, None), more(0, '{"a":1}'), more(0, None), stop(0), *END]
    out, record = run(body([*BEGIN, *events]), REPAIRED)
    assert finding_names(record) == {"null-arguments"}
    texts = [one["delta"]["toolUse"]["input"] for kind, one in decoded(out) if kind == "contentBlockDelta"]
    assert texts == ["", '{"a":1}', ""]
    assert run(out)[1].findings == []
