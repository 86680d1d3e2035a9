"""The resolvers of Anthropic's content blocks and Gemini's parts."""

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
    """Return a `content_block_start`."""
    return Fragment(index=index, id=id_, name=name, arguments=input_, phase=Phase.OPEN)


def delta(index: int, text: str) -> Fragment:
    """Return an `input_json_delta`."""
    return Fragment(index=index, arguments=text)


def stop(index: int) -> Fragment:
    """Return a `content_block_stop`."""
    return Fragment(index=index, phase=Phase.CLOSE)


BLOCKS = {
    "one block": ([stop(0), start(1, "a", "f"), delta(1, ""), delta(1, '{"x"'), delta(1, ":1}"), stop(1)], [F]),
    "two blocks": ([start(0, "a", "f"), delta(0, F[2]), stop(0), start(1, "b", "g"), delta(1, G[2]), stop(1)], [F, G]),
    "a reused index": ([start(0, "a", "f"), delta(0, F[2]), start(0, "b", "g"), delta(0, G[2])], [F, G]),
    "overlapping blocks": ([start(0, "a", "f"), start(1, "b", "g"), delta(0, F[2]), delta(1, G[2])], [F, G]),
    "no stop": ([start(0, "a", "f"), delta(0, F[2])], [F]),
    "stopped twice": ([start(0, "a", "f"), delta(0, F[2]), stop(0), stop(0)], [F]),
    "started twice": ([start(0, "a", "f"), delta(0, '{"x"'), start(0, "a", "f"), delta(0, ":1}")], [F]),
    "input in the start": ([start(0, "a", "f", F[2]), stop(0)], [F]),
    "input in the start, ignored with deltas": ([start(0, "a", "f", '{"z":0}'), delta(0, F[2])], [F]),
    "no input": ([start(0, "a", "f"), delta(0, ""), stop(0)], [("a", "f", "{}")]),
    "a delta of an unknown index": ([start(0, "a", "f"), delta(5, F[2])], [F]),
    "a delta without any start": ([delta(0, F[2])], [("", "", F[2])]),
}


@pytest.mark.parametrize("stream", BLOCKS)
def test_anthropic_blocks(stream: str) -> None:
    """The blocks of each stream are read as the intended calls."""
    fragments, calls = BLOCKS[stream]
    assert call_tuples(resolved(AnthropicCalls(), fragments)) == calls


def test_the_stop_of_another_block_belongs_to_no_call() -> None:
    """The stop of a text block, or a second stop, belongs to no call."""
    calls = AnthropicCalls()
    assert calls.take(stop(0), 0) is None
    opened = calls.take(start(1, "a", "f"), 1)
    assert opened is not None
    assert calls.take(stop(1), 2) is opened
    assert calls.take(stop(1), 3) is None


def test_an_unknown_index_is_a_guess() -> None:
    """A delta of an unknown index is added to the open call, which is marked as guessed."""
    (call,) = resolved(AnthropicCalls(), [start(0, "a", "f"), delta(5, F[2])])
    assert call.guessed


def part(name: Seen[str], args: Seen[str] = ABSENT, phase: Phase = Phase.CLOSE, id_: Seen[str] = ABSENT) -> Fragment:
    """Return a `functionCall` part."""
    return Fragment(id=id_, name=name, arguments=args, phase=phase)


def patch(*patches: dict[str, object]) -> Fragment:
    """Return a part with `partialArgs`."""
    return part(ABSENT, json.dumps(patches), Phase.MORE)


PARTS = {
    "a complete call in each part": ([part("f", F[2]), part("f", G[2])], [("", "f", F[2]), ("", "f", G[2])]),
    "with ids": ([part("f", F[2], id_="a")], [F]),
    "no args": ([part("f")], [("", "f", "{}")]),
    "a part without name continues the call before": ([part("f", "{}"), part(ABSENT, F[2])], [("", "f", F[2])]),
    "a part without name after a complete call": (
        [part("f", F[2]), part(ABSENT, G[2]), part("", F[2])],
        [("", "f", F[2]), ("", "", G[2]), ("", "", F[2])],
    ),
    "an empty part": (
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
def test_gemini_parts(stream: str) -> None:
    """Each part is a call, or continues the call before it."""
    fragments, calls = PARTS[stream]
    assert call_tuples(resolved(GeminiCalls(), fragments)) == calls


def test_a_gemini_call_is_complete_with_its_last_part() -> None:
    """A call is incomplete while further parts are announced."""
    calls = GeminiCalls()
    calls.take(part("f", phase=Phase.OPEN), 0)
    calls.take(patch({"jsonPath": "$.city", "stringValue": "Par"}), 1)
    assert not calls.resolved()[0].complete
    calls.take(part(ABSENT), 2)
    assert calls.resolved()[0].complete


def test_partial_arguments_count_as_arguments() -> None:
    """A call with partial arguments is complete, also for a tool with required parameters."""
    calls = GeminiCalls({"f": Parameters(required=True)})
    for fragment in (part("f", phase=Phase.OPEN), patch({"jsonPath": "$.city", "stringValue": "Par"}), part(ABSENT)):
        calls.take(fragment, 0)
    assert [(call.arguments, call.complete) for call in calls.resolved()] == [('{"city":"Par"}', True)]


def test_partial_arguments_keep_their_numbers() -> None:
    """Numbers in partial arguments keep their text."""
    calls = GeminiCalls()
    patches = '[{"jsonPath":"$.a","numberValue":1e400},{"jsonPath":"$.b","numberValue":0.12345678901234567890}]'
    for fragment in (part("f", phase=Phase.OPEN), part(ABSENT, patches, Phase.MORE), part(ABSENT)):
        calls.take(fragment, 0)
    assert calls.resolved()[0].arguments == '{"a":1e400,"b":0.12345678901234567890}'


@pytest.mark.parametrize("index", [AnthropicCalls.foreign_index, AnthropicCalls.foreign_index + 5])
def test_a_delta_of_a_foreign_index_belongs_to_no_call(index: int) -> None:
    """A delta of a foreign index is not added to the only open call."""
    assert [call.name for call in resolved(AnthropicCalls(), [start(0, "a", "f"), delta(index, F[2])])] == ["f", ""]


def test_a_delta_of_an_unknown_index_is_not_added_to_one_of_two_calls() -> None:
    """A delta of an unknown index is not added to a call while two are open."""
    fragments = [start(0, "a", "f"), start(1, "b", "g"), delta(5, F[2])]
    assert [call.name for call in resolved(AnthropicCalls(), fragments)] == ["f", "g", ""]


@pytest.mark.parametrize("patches", ['"x"', '[1, {"jsonPath": 3}, {"jsonPath": "$.a[9999999].b", "stringValue": "x"}]'])
def test_invalid_partial_arguments_are_ignored(patches: str) -> None:
    """Invalid partial arguments raise nothing and change nothing."""
    calls = GeminiCalls()
    calls.take(part("f", patches, Phase.MORE), 0)
    assert json.loads(calls.resolved()[0].arguments) in ({}, {"a": []})
