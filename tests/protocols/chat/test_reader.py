"""The reader of Chat Completions; absent, null and empty values are distinct."""

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
    """Return a chunk with one choice."""
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
def test_entries_are_read(entry: object, fragment: Fragment) -> None:
    """The fields of an entry are read, and marked if they are not well-formed."""
    assert read(frame(chunk({"tool_calls": [entry]}))).fragments == (fragment,)


def test_several_entries_and_choices_are_read() -> None:
    """All entries of all choices are read, with text and finish reason of the chunk."""
    content = read(
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
    assert [(one.choice, one.index) for one in content.fragments] == [(0, 0), (0, 1), (3, 0)]
    assert (content.finishes, content.text, content.model) == ((Finish(3, "tool_calls"),), "hi", "m")


def test_tool_calls_as_an_object_are_read() -> None:
    """An object in the place of the list is read as one entry, or as entries by number."""
    assert len(read(frame(chunk({"tool_calls": {"index": 0, "id": "a"}}))).fragments) == 1
    assert len(read(frame(chunk({"tool_calls": {"1": {"id": "b"}, "0": {"id": "a"}}}))).fragments) == 2


def test_a_message_is_read_only_without_delta_entries() -> None:
    """The calls of a `message` are read only if the delta has none."""
    entry = {"id": "a", "function": {"name": "f", "arguments": "{}"}}
    both = chunk({"tool_calls": [entry]}, message={"tool_calls": [entry]})
    only = chunk({}, message={"tool_calls": [entry]})
    assert [one.phase for one in read(frame(both)).fragments] == [Phase.MORE]
    assert [one.phase for one in read(frame(only)).fragments] == [Phase.WHOLE]


def test_a_legacy_function_call_is_read() -> None:
    """A `function_call` is read as a call if there are no `tool_calls`."""
    content = read(frame(chunk({"function_call": {"name": "f", "arguments": "{"}})))
    assert content.fragments == (Fragment(name="f", arguments="{", well_formed=False),)
    assert read(frame(chunk({"function_call": {"name": "f"}, "tool_calls": [{"index": 0}]}))).fragments == (
        Fragment(index=0, well_formed=False),
    )


def test_ends_and_errors_are_read() -> None:
    """`[DONE]`, and errors in chunks, in payloads and in `error` events are read."""
    assert read(frame(b" [DONE] ")).end
    assert read(frame({"choices": [], "error": {"code": 502, "message": "gone"}})).error == "502: gone"
    assert read(frame({"error": {"message": "no"}})).error == "no"
    assert read(frame({"error": {"type": "tool_use_failed", "message": "x"}}, "error")).error == "tool_use_failed: x"


def test_a_keepalive_chunk_names_no_model() -> None:
    """OMLX sends such chunks before the first token."""
    assert read(frame(chunk({"content": ""}))).model == "m"
    assert read(frame({**chunk({"content": ""}), "model": "keepalive"})).model is None


def test_an_unstreamed_response_is_read() -> None:
    """Calls, text and finish reason of an unstreamed response are read."""
    content = CHAT.read_response(
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
    assert content.end
    assert (content.text, content.finishes) == ("hi", (Finish(0, "tool_calls"),))
    assert content.fragments == (Fragment(id="a", name="f", arguments="{}", type="function", phase=Phase.WHOLE),)
    assert content.fragments[0].index is ABSENT


TYPED = {"type": "tool_use", "input": '{"city":'}
"""A delta of Snowflake Cortex."""


@pytest.mark.parametrize(
    ("payload", "recognised"),
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
        ({"object": "chat.completion", "is_end": False, "result": "a"}, False),
    ],
)
def test_choices_of_other_apis_are_not_recognised(payload: object, recognised: bool) -> None:
    """A delta with a type, in a choice without a finish reason, is not recognised as Chat Completions."""
    assert CHAT.recognise("", payload) is recognised


def test_a_stream_of_another_api_is_forwarded_unchanged() -> None:
    """A stream of another API with `choices` is forwarded unchanged and has no record."""
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
