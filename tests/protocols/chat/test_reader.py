"""Chat Completions: what its deltas, messages and ends say, absent, null and empty kept apart."""

from __future__ import annotations

import json

import pytest

from tests.protocols.frames import frame
from toolstream_core.engine.session import Session
from toolstream_core.model import ABSENT, Finish, Fragment, Phase, StreamFacts
from toolstream_core.protocols.chat import CHAT
from toolstream_core.settings import SAFE, Settings

read = CHAT.read


def chunk(delta: object, **choice: object) -> dict[str, object]:
    """A chunk with one choice."""
    return {"object": "chat.completion.chunk", "model": "m", "choices": [{"index": 0, "delta": delta, **choice}]}


@pytest.mark.parametrize(
    ("entry", "fragment"),
    [
        ({}, Fragment(well_formed=False)),
        ({"id": None, "index": None, "type": None}, Fragment(id=None, index=None, type=None, well_formed=False)),
        (
            {"id": "", "type": "", "function": {"name": "", "arguments": ""}},
            Fragment(id="", type="", name="", arguments=""),
        ),
        ({"function": {"name": None, "arguments": None}}, Fragment(name=None, arguments=None)),
        ({"index": "1", "id": 7}, Fragment(index=1, id="7", well_formed=False)),
        ({"index": 0.0}, Fragment(index=0, well_formed=False)),
        ({"function": {"arguments": {"a": "ä"}}}, Fragment(arguments='{"a":"ä"}', well_formed=False, is_object=True)),
        ({"function": {"parameters": {"a": 1}}}, Fragment(arguments='{"a":1}', well_formed=False)),
        ({"name": "f", "arguments": "{}"}, Fragment(name="f", arguments="{}", well_formed=False)),
    ],
)
def test_entries(entry: object, fragment: Fragment) -> None:
    """An entry says what is there, and no more."""
    assert read(frame(chunk({"tool_calls": [entry]}))).fragments == (fragment,)


def test_several_entries_choices_and_what_stands_beside() -> None:
    """Every entry of every choice, with text and finish reason of the same chunk."""
    said = read(
        frame(
            {
                "model": "m",
                "choices": [
                    {"index": 0, "delta": {"content": "hi", "tool_calls": [{"index": 0}, {"index": 1}]}},
                    {"index": 3, "delta": {"tool_calls": [{"index": 0}]}, "finish_reason": "tool_calls"},
                ],
            }
        )
    )
    assert [(one.choice, one.index) for one in said.fragments] == [(0, 0), (0, 1), (3, 0)]
    assert (said.finishes, said.text, said.model) == ((Finish(3, "tool_calls"),), "hi", "m")


def test_calls_that_are_an_object() -> None:
    """One entry where a list belongs, or entries by number."""
    assert len(read(frame(chunk({"tool_calls": {"index": 0, "id": "a"}}))).fragments) == 1
    assert len(read(frame(chunk({"tool_calls": {"1": {"id": "b"}, "0": {"id": "a"}}}))).fragments) == 2


def test_message_counts_only_without_delta_entries() -> None:
    """A `message` beside a delta with the same entries says nothing more."""
    entry = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    both = chunk({"tool_calls": [entry]}, message={"tool_calls": [entry]})
    only = chunk({}, message={"tool_calls": [entry]})
    assert [one.phase for one in read(frame(both)).fragments] == [Phase.MORE]
    assert [one.phase for one in read(frame(only)).fragments] == [Phase.WHOLE]


def test_legacy_function_call() -> None:
    """`function_call` is a call where there are no `tool_calls`."""
    said = read(frame(chunk({"function_call": {"name": "f", "arguments": "{"}})))
    assert said.fragments == (Fragment(name="f", arguments="{", well_formed=False),)
    assert read(frame(chunk({"function_call": {"name": "f"}, "tool_calls": [{"index": 0}]}))).fragments == (
        Fragment(index=0, well_formed=False),
    )


def test_ends_and_errors() -> None:
    """`[DONE]`, an error in a chunk, an error alone, an `event: error`."""
    assert read(frame(b" [DONE] ")).end
    assert read(frame({"choices": [], "error": {"code": 502, "message": "gone"}})).error == "502: gone"
    assert read(frame({"error": {"message": "no"}})).error == "no"
    assert read(frame({"error": {"type": "tool_use_failed", "message": "x"}}, "error")).error == "tool_use_failed: x"


def test_answer() -> None:
    """A whole answer's calls, text and finish reason."""
    said = CHAT.read_response(
        {
            "object": "chat.completion",
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "tool_calls",
                    "message": {
                        "content": "hi",
                        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
                    },
                }
            ],
        }
    )
    assert said.end
    assert (said.text, said.finishes) == ("hi", (Finish(0, "tool_calls"),))
    assert said.fragments == (Fragment(id="a", name="f", arguments="{}", type="function", phase=Phase.WHOLE),)
    assert said.fragments[0].index is ABSENT


TYPED = {"type": "tool_use", "input": '{"city":'}
"""A delta of Snowflake Cortex."""


@pytest.mark.parametrize(
    ("payload", "ours"),
    [
        ({"choices": [{"delta": {"content": "a"}}]}, True),
        ({"choices": [{"delta": {}, "finish_reason": None}]}, True),
        ({"choices": [{"message": {"role": "assistant"}}]}, True),
        ({"object": "chat.completion.chunk", "choices": [{"delta": TYPED}]}, True),
        ({"choices": [{"delta": TYPED, "finish_reason": None}]}, True),
        ({"choices": [{"delta": TYPED}], "usage": {}}, False),
        ({"choices": [{"delta": {"type": "text", "content": "a", "text": "a"}}], "usage": {}}, False),
        ({"choices": [{"delta": {}}], "usage": {}}, False),
        ({"choices": [{"text": "a"}]}, False),
    ],
)
def test_choices_of_other_apis_are_not_ours(payload: object, ours: bool) -> None:
    """A delta that says its own type, in a choice without a finish reason, is another API's."""
    assert CHAT.recognise("", payload) is ours


def test_a_stream_of_another_api_passes_unread() -> None:
    """Nothing is found in it: nobody knows what its end is."""
    body = b"".join(
        b"data: "
        + json.dumps({"id": "x", "model": "claude", "choices": [{"delta": delta}], "usage": {}}).encode()
        + b"\n\n"
        for delta in ({"type": "text", "content": "Hm."}, TYPED, TYPED, {"type": "text", "content": ""}, {})
    )
    path = "/api/v2/cortex/inference:complete"
    session = Session(StreamFacts(path=path, content_type="text/event-stream"), Settings(SAFE))
    assert b"".join([*session.feed(body), *session.end()]) == body
    assert session.record() is None
