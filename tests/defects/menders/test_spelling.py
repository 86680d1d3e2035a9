"""Argument fragments as a joining client needs them: what goes on, and what is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.defects.menders.spelling import Spelling

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row


def spelled(*pieces: str, on: bool = True, may_wait: bool = True) -> tuple[str, list[str]]:
    """What a client joins, and the names of what was told."""
    told: list[str] = []

    def judge(row: Row, message: str) -> bool:
        assert message
        told.append(row.name)
        return on

    spelling = Spelling(lambda row: on)  # noqa: ARG005
    turns = [spelling.take(piece, judge, may_wait=may_wait) for piece in pieces]
    spelling.settle(judge)
    return "".join(turn.text for turn in turns) + spelling.rest(), list(dict.fromkeys(told))


@pytest.mark.parametrize(
    ("pieces", "joined", "rows"),
    [
        (('{"a":', "1}"), '{"a":1}', []),
        (("", '{"a":1}', ""), '{"a":1}', []),
        (('{"a":{"a":', '{"a":1}', "}}"), '{"a":{"a":{"a":1}}}', []),
        (('{"pat', '{"pattern":', '{"pattern":1}'), '{"pattern":1}', ["cumulative-arguments"]),
        (('{"a":', '{"a":"x"}'), '{"a":"x"}', ["cumulative-arguments"]),
        (('{"a"', ":1}", '{"a":1}'), '{"a":1}', ["replayed-arguments"]),
        (('{"a":1}', '{"a"', ": 1}"), '{"a":1}', ["replayed-arguments"]),
        (("{}", '{"a":', "1}"), '{"a":1}', ["placeholder-arguments"]),
        (("null", '{"a":1}'), '{"a":1}', ["placeholder-arguments"]),
        (('"{\\"a\\":', '1}"'), '{"a":1}', ["double-encoded-arguments"]),
        (('{"a":1}<|endoftext|>',), '{"a":1}', ["trailing-garbage"]),
        (('{"a":1}', "}"), '{"a":1}', ["trailing-garbage"]),
        (('{"a":1}', "and so on"), '{"a":1}and so on', ["trailing-garbage"]),
        (('{"a":1}', 'other{"b":2}'), '{"a":1}other{"b":2}', ["merged-calls"]),
        (('{"a":1}', '{"b":2}'), '{"a":1}{"b":2}', ["merged-calls"]),
        (('{"a":"\ud83d', '\ude00"}'), '{"a":"\ud83d\ude00"}', ["split-surrogate"]),
        (('{"a":"x\ny"}',), '{"a":"x\\ny"}', ["invalid-arguments"]),
        (('{"a":"\\d\\', '\\"}'), '{"a":"\\\\d\\\\"}', ["invalid-arguments"]),
        (('"{hello}"',), '"{hello}"', []),
    ],
)
def test_what_a_client_joins(pieces: tuple[str, ...], joined: str, rows: list[str]) -> None:
    """With every repair on."""
    assert spelled(*pieces) == (joined, rows)


def test_a_tool_without_parameters_waits_for_nothing() -> None:
    """Its `{}` is what it says."""
    spelling = Spelling(lambda row: True)  # noqa: ARG005
    spelling.take("{}", lambda row, message: True, may_wait=False)  # noqa: ARG005
    assert not spelling.waiting


@given(st.lists(st.text(max_size=8), max_size=8))
def test_nothing_switched_on_every_fragment_goes_on_as_it_is(pieces: list[str]) -> None:
    """Whatever is told of it."""
    assert spelled(*pieces, on=False)[0] == "".join(pieces)


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=6) | st.integers() | st.none(), min_size=1), st.data())
def test_lawful_arguments_go_on_as_they_are(value: dict[str, object], data: st.DataObject) -> None:
    """However they are cut, and with every repair on."""
    text = json.dumps(value)
    cuts = sorted(data.draw(st.sets(st.integers(1, len(text)), max_size=6)))
    pieces = [text[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]
    assert spelled(*pieces)[0] == text
