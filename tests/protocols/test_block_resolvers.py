"""Anthropic's content blocks and Gemini's parts: where the protocol says call by call."""

from __future__ import annotations

import json

import pytest

from tests.calls.fragments import call_tuples, resolved
from toolstream_core.calls import Parameters
from toolstream_core.model import ABSENT, Fragment, Phase, Seen
from toolstream_core.protocols.anthropic.resolver import AnthropicCalls
from toolstream_core.protocols.gemini.resolver import GeminiCalls

F, G = ("a", "f", '{"x":1}'), ("b", "g", '{"y":2}')


def start(index: int, id_: str, name: str, input_: Seen[str] = ABSENT) -> Fragment:
    """A `content_block_start`."""
    return Fragment(index=index, id=id_, name=name, arguments=input_, phase=Phase.OPEN)


def delta(index: int, text: str) -> Fragment:
    """An `input_json_delta`."""
    return Fragment(index=index, arguments=text)


def stop(index: int) -> Fragment:
    """A `content_block_stop`."""
    return Fragment(index=index, phase=Phase.CLOSE)


BLOCKS = {
    "one block": ([stop(0), start(1, "a", "f"), delta(1, ""), delta(1, '{"x"'), delta(1, ":1}"), stop(1)], [F]),
    "two blocks": ([start(0, "a", "f"), delta(0, F[2]), stop(0), start(1, "b", "g"), delta(1, G[2]), stop(1)], [F, G]),
    "an index used again": ([start(0, "a", "f"), delta(0, F[2]), start(0, "b", "g"), delta(0, G[2])], [F, G]),
    "overlapping blocks": ([start(0, "a", "f"), start(1, "b", "g"), delta(0, F[2]), delta(1, G[2])], [F, G]),
    "no stop": ([start(0, "a", "f"), delta(0, F[2])], [F]),
    "stopped twice": ([start(0, "a", "f"), delta(0, F[2]), stop(0), stop(0)], [F]),
    "started twice": ([start(0, "a", "f"), delta(0, '{"x"'), start(0, "a", "f"), delta(0, ":1}")], [F]),
    "input in the start": ([start(0, "a", "f", F[2]), stop(0)], [F]),
    "input in the start does not count beside deltas": ([start(0, "a", "f", '{"z":0}'), delta(0, F[2])], [F]),
    "no input": ([start(0, "a", "f"), delta(0, ""), stop(0)], [("a", "f", "{}")]),
    "a delta of an index that was never started": ([start(0, "a", "f"), delta(5, F[2])], [F]),
    "a delta and no start at all": ([delta(0, F[2])], [("", "", F[2])]),
}


@pytest.mark.parametrize("stream", BLOCKS)
def test_anthropic(stream: str) -> None:
    """Each way in which blocks come reads as the calls that were meant."""
    fragments, calls = BLOCKS[stream]
    assert call_tuples(resolved(AnthropicCalls(), fragments)) == calls


def test_a_stop_of_no_call_belongs_to_nothing() -> None:
    """A stop says only an index; that of a text block is no call's."""
    calls = AnthropicCalls()
    assert calls.take(stop(0), 0) is None
    opened = calls.take(start(1, "a", "f"), 1)
    assert opened is not None
    assert calls.take(stop(1), 2) is opened
    assert calls.take(stop(1), 3) is None


def test_an_unknown_index_is_a_guess() -> None:
    """A delta whose block never started goes to the open call, marked."""
    (call,) = resolved(AnthropicCalls(), [start(0, "a", "f"), delta(5, F[2])])
    assert call.guessed


def part(name: Seen[str], args: Seen[str] = ABSENT, phase: Phase = Phase.CLOSE, id_: Seen[str] = ABSENT) -> Fragment:
    """A `functionCall` part."""
    return Fragment(id=id_, name=name, arguments=args, phase=phase)


def patch(*patches: dict[str, object]) -> Fragment:
    """A part with `partialArgs`."""
    return part(ABSENT, json.dumps(patches), Phase.MORE)


PARTS = {
    "a whole call in each part": ([part("f", F[2]), part("f", G[2])], [("", "f", F[2]), ("", "f", G[2])]),
    "with ids": ([part("f", F[2], id_="a")], [F]),
    "no args": ([part("f")], [("", "f", "{}")]),
    "a part without name goes on with the call before": ([part("f", "{}"), part(ABSENT, F[2])], [("", "f", F[2])]),
    "a part without name is no part of a whole call": (
        [part("f", F[2]), part(ABSENT, G[2]), part("", F[2])],
        [("", "f", F[2]), ("", "", G[2]), ("", "", F[2])],
    ),
    "a part that says nothing takes nothing away": (
        [part("f", F[2]), part(ABSENT), part(ABSENT, "{}")],
        [("", "f", F[2])],
    ),
    "partial arguments": (
        [
            part("f", phase=Phase.OPEN),
            patch({"jsonPath": "$.city", "stringValue": "Par"}),
            patch({"jsonPath": "$.city", "stringValue": "is"}),
            patch({"jsonPath": "$.days[0]", "numberValue": 3}, {"jsonPath": '$["days"][1]', "numberValue": 4}),
            patch(
                {"jsonPath": "$.deep['a b'].c", "boolValue": True}, {"jsonPath": "$.none", "nullValue": "NULL_VALUE"}
            ),
            part(ABSENT),
        ],
        [("", "f", '{"city":"Paris","days":[3,4],"deep":{"a b":{"c":true}},"none":null}')],
    ),
}


@pytest.mark.parametrize("stream", PARTS)
def test_gemini(stream: str) -> None:
    """Each part is a call, unless it goes on with one."""
    fragments, calls = PARTS[stream]
    assert call_tuples(resolved(GeminiCalls(), fragments)) == calls


def test_gemini_is_whole_when_its_last_part_came() -> None:
    """While more is announced the call is not whole."""
    calls = GeminiCalls()
    calls.take(part("f", phase=Phase.OPEN), 0)
    calls.take(patch({"jsonPath": "$.city", "stringValue": "Par"}), 1)
    assert not calls.resolved()[0].complete
    calls.take(part(ABSENT), 2)
    assert calls.resolved()[0].complete


def test_partial_arguments_are_arguments() -> None:
    """Also for a tool that cannot do without."""
    calls = GeminiCalls({"f": Parameters(required=True)})
    for fragment in (part("f", phase=Phase.OPEN), patch({"jsonPath": "$.city", "stringValue": "Par"}), part(ABSENT)):
        calls.take(fragment, 0)
    assert [(call.arguments, call.complete) for call in calls.resolved()] == [('{"city":"Par"}', True)]


def test_partial_arguments_keep_their_numbers() -> None:
    """As they were written."""
    calls = GeminiCalls()
    patches = '[{"jsonPath":"$.a","numberValue":1e400},{"jsonPath":"$.b","numberValue":0.12345678901234567890}]'
    for fragment in (part("f", phase=Phase.OPEN), part(ABSENT, patches, Phase.MORE), part(ABSENT)):
        calls.take(fragment, 0)
    assert calls.resolved()[0].arguments == '{"a":1e400,"b":0.12345678901234567890}'


@pytest.mark.parametrize("index", [AnthropicCalls.foreign_index, AnthropicCalls.foreign_index + 5])
def test_a_delta_that_was_set_apart_is_nobodys(index: int) -> None:
    """However few calls are open."""
    assert [call.name for call in resolved(AnthropicCalls(), [start(0, "a", "f"), delta(index, F[2])])] == ["f", ""]


def test_of_two_open_calls_none_gets_a_stray_delta() -> None:
    """Nobody can tell whose it is."""
    fragments = [start(0, "a", "f"), start(1, "b", "g"), delta(5, F[2])]
    assert [call.name for call in resolved(AnthropicCalls(), fragments)] == ["f", "g", ""]


@pytest.mark.parametrize("patches", ['"x"', '[1, {"jsonPath": 3}, {"jsonPath": "$.a[9999999].b", "stringValue": "x"}]'])
def test_foreign_partial_arguments_do_not_raise(patches: str) -> None:
    """What makes no sense changes nothing."""
    calls = GeminiCalls()
    calls.take(part("f", patches, Phase.MORE), 0)
    assert json.loads(calls.resolved()[0].arguments) in ({}, {"a": []})
