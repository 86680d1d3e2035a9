"""Argument fragments as a joining client needs them: what goes on, and what is told."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.stages.repair.arguments import ArgumentRepair

if TYPE_CHECKING:
    from toolstream_core.defects.row import Row


def spelled(*pieces: str, on: bool = True, may_wait: bool = True) -> tuple[str, list[str]]:
    """What a client joins, and the names of what was told."""
    told: list[str] = []

    def judge(row: Row, message: str) -> bool:
        assert message
        told.append(row.name)
        return on

    spelling = ArgumentRepair(lambda row: on)  # noqa: ARG005
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
        (('{}{"a":', "1}"), '{"a":1}', ["placeholder-arguments"]),
        (('null {"a":1}',), '{"a":1}', ["placeholder-arguments"]),
        (('{"a":1}', "\u2028"), '{"a":1}', ["trailing-garbage"]),
        (('{"a":1}', " \n"), '{"a":1} \n', []),
        (('"{}"', '{"a":1}'), '{"a":1}', ["double-encoded-arguments", "placeholder-arguments"]),
        (('{"a":', '{"a":"x"}', '{"a":', '{"a":"x"}'), '{"a":"x"}', ["cumulative-arguments", "replayed-arguments"]),
        (('{"pat', '{"pattern"', ":", '{"pattern":"x"}'), '{"pattern":"x"}', ["cumulative-arguments"]),
        (("{}", '"Oslo"}'), '{}"Oslo"}', ["trailing-garbage"]),
        (('{"a":1}\ud83d',), '{"a":1}\ud83d', ["trailing-garbage"]),
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
        (('"{hel', 'lo}"'), '"{hello}"', ["double-encoded-arguments"]),
        (('"{\\"a\\":', "1"), '"{\\"a\\":1', ["double-encoded-arguments"]),
        (('"', '{\\"a\\":1}"'), '{"a":1}', ["double-encoded-arguments"]),
        (('"{\\"a\\":1}"', '"{\\"a\\":1}"'), '{"a":1}', ["double-encoded-arguments", "replayed-arguments"]),
        (('"{\\"a\\":1}"<|en', "d|>"), '{"a":1}', ["double-encoded-arguments", "trailing-garbage"]),
        (('": 3}',), '": 3}', []),
        (('","b":', "1}"), '","b":1}', []),
        (("2}",), "2}", []),
        (('"x"', "}"), '"x"}', []),
        (("[1]", "<|end|>"), "[1]<|end|>", []),
        (("null", "}"), "null}", []),
        (('{"a":1}', "<|tool", "_call_end|>"), '{"a":1}', ["trailing-garbage"]),
        (('{"a":1}<|tool', "_call_end|>"), '{"a":1}', ["trailing-garbage"]),
        (('{"a"', ":1}</to", "ol_ca", "ll>\n", "</x>"), '{"a":1}', ["trailing-garbage"]),
        (('{"a":1}', "<|tool"), '{"a":1}', ["trailing-garbage"]),
        (('{"a":1}', "</"), '{"a":1}', ["trailing-garbage"]),
        (('{"a":1}', "[/TOOL", "_CALLS]"), '{"a":1}', ["trailing-garbage"]),
        (('{"a":1}', "`", "``"), '{"a":1}', ["trailing-garbage"]),
        (('{"a":1}', "<|x|>", " and", " so on"), '{"a":1}<|x|> and so on', ["trailing-garbage"]),
        (
            ('{"a":1}', "}", "get_weather", '{"b":2}'),
            '{"a":1}}get_weather{"b":2}',
            ["trailing-garbage", "merged-calls"],
        ),
        (('{"a":1}', "<"), '{"a":1}', ["trailing-garbage"]),
        (('{"a":1}', '{"a"'), '{"a":1}{"a"', ["replayed-arguments"]),
        (('{"a":1}', '{"a"', ":2}"), '{"a":1}{"a":2}', ["replayed-arguments", "merged-calls"]),
        (('{"a":1,"b":2}', '{"b":2,"a":1}'), '{"a":1,"b":2}', ["replayed-arguments"]),
        (('{"a"', '{"a"', ":1}"), '{"a"{"a":1}', []),
        (('{"a', '"', '{"a"'), '{"a"', ["cumulative-arguments"]),
        (('{"a"', '{"a"', '{"a":1}'), '{"a":1}', ["cumulative-arguments"]),
        (('{"a":1', '{"a":1}', "<|end|>"), '{"a":1}', ["cumulative-arguments", "trailing-garbage"]),
        (('{"a":"\ud83d', " ", 'x"}'), '{"a":"\ud83d x"}', ["split-surrogate"]),
        (('{"a":"x', "\n", 'y"}'), '{"a":"x\\ny"}', ["invalid-arguments"]),
    ],
)
def test_what_a_client_joins(pieces: tuple[str, ...], joined: str, rows: list[str]) -> None:
    """With every repair on."""
    assert spelled(*pieces) == (joined, rows)


def test_a_tool_without_parameters_waits_for_nothing() -> None:
    """Its `{}` is what it says."""
    spelling = ArgumentRepair(lambda row: True)  # noqa: ARG005
    spelling.take("{}", lambda row, message: True, may_wait=False)  # noqa: ARG005
    assert not spelling.waiting


PIECES = st.sampled_from(
    ["", " ", "{}", '{"a"', ":1}", '{"a":1}', '"', '"{\\"a\\":1', '}"', "null", "2", "}", "<|end", "|>", "</x>", "x",
     "[1]", "\n", "\ud83d", "\ude00", "<", "`", "``", '{"a":1', ',"b":2}']
)  # fmt: skip


@given(st.lists(PIECES | st.text(max_size=3), max_size=8), st.booleans())
def test_what_is_changed_was_told(pieces: list[str], may_wait: bool) -> None:
    """Whatever comes, what a client joins in the end is what came, unless a defect was told."""
    joined, rows = spelled(*pieces, may_wait=may_wait)
    assert rows or joined == "".join(pieces)


@given(st.lists(PIECES | st.text(max_size=3), max_size=8))
def test_what_is_kept_was_told(pieces: list[str]) -> None:
    """So that each change has its reason at the event where it shows."""
    told: list[str] = []

    def judge(row: Row, message: str) -> bool:
        told.append(row.name)
        return True

    spelling = ArgumentRepair(lambda row: True)  # noqa: ARG005
    for piece in pieces:
        turn = spelling.take(piece, judge)
        assert told or spelling.waiting or turn.text == piece


MARKUP = st.sampled_from(
    ["<|tool_call_end|>", "</tool_call>", "}", "]}", "<｜tool▁calls▁end｜>", "[/TOOL_CALLS]", "```"]
)


@given(
    st.dictionaries(st.text(max_size=4), st.text(max_size=6) | st.integers() | st.none(), min_size=1),
    st.lists(MARKUP, min_size=1, max_size=3),
    st.data(),
)
def test_markup_goes_however_it_is_cut(value: dict[str, object], markup: list[str], data: st.DataObject) -> None:
    """In one fragment, in many, glued to the last brace, and where its end never comes."""
    whole = json.dumps(value)
    text = whole + "".join(markup)
    end = data.draw(st.integers(len(whole) + 1, len(text)))
    cuts = sorted(data.draw(st.sets(st.integers(1, end), max_size=6)))
    pieces = [text[begin:stop] for begin, stop in zip([0, *cuts], [*cuts, end], strict=True)]
    assert spelled(*pieces)[0] == whole


@given(st.dictionaries(st.text(max_size=4), st.text(max_size=6) | st.integers(), min_size=1), st.data())
def test_encoded_twice_and_cut_off(value: dict[str, object], data: st.DataObject) -> None:
    """All that came goes out, as it came, wherever it stops; whole, it is what was meant."""
    text = json.dumps(json.dumps(value))
    end = data.draw(st.integers(1, len(text)))
    cuts = sorted(data.draw(st.sets(st.integers(1, end), max_size=6)))
    pieces = [text[begin:stop] for begin, stop in zip([0, *cuts], [*cuts, end], strict=True)]
    assert spelled(*pieces)[0] == (text[:end] if end < len(text) else json.dumps(value))


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
