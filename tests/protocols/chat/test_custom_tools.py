"""Calls of custom tools in Chat Completions: free text in `custom.input`, without repairs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import inspected, payloads, repaired, shaped, sse
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.registry import named
from toolstream_core.protocols.requests.tools import offered

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

TOOLS = [
    {"type": "custom", "custom": {"name": "shell", "description": "runs a command"}},
    {"type": "function", "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}},
]
EXCHANGE = StreamFacts(
    path="/v1/chat/completions", content_type="text/event-stream", request={"stream": True, "n": 2, "tools": TOOLS}
)
TEXTS = {
    "a command": "ls -la /srv",
    "empty": "",
    "a patch": "*** Begin Patch\n*** Add File: a\n+{\n*** End Patch",
    "an object": '{"cmd": "ls"}',
    "an incomplete object": '{"cmd": "l',
    "two objects": '{"a":1}{"a":1}',
    "null": "null",
    "a string": '"{\\"a\\":1}"',
    "the same twice": "abab",
    "whitespace": " \n ",
}
SHAPES = tuple(named("openai-chat").shapes)


def chunk(*entries: Payload, finish: str | None = None, choice: int = 0, **delta: Any) -> Payload:
    """Return a chunk."""
    content = {**delta, **({"tool_calls": list(entries)} if entries else {})}
    return {
        "id": "chatcmpl-9",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": choice, "delta": content, "finish_reason": finish}],
    }


def custom(index: int, identity: str, text: str = "") -> Payload:
    """Return the header of a custom call."""
    return {"index": index, "id": identity, "type": "custom", "custom": {"name": "shell", "input": text}}


def more(index: int, text: str) -> Payload:
    """Return an entry with the next part of a call's input."""
    return {"index": index, "custom": {"input": text}}


def function(index: int, identity: str, arguments: str) -> Payload:
    """Return the entry of a complete function call."""
    return {
        "index": index,
        "id": identity,
        "type": "function",
        "function": {"name": "get_weather", "arguments": arguments},
    }


def parts(text: str, size: int) -> list[str]:
    """Split a text into parts."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def stream(text: str, size: int) -> list[Payload | str]:
    """Return a custom call, a function call and another custom call."""
    return [
        chunk(role="assistant", content=None),
        chunk(custom(0, "call_a")),
        *(chunk(more(0, one)) for one in parts(text, size)),
        chunk(function(1, "call_b", '{"city":"Oslo"}')),
        chunk(custom(2, "call_c", text[:size])),
        *(chunk(more(2, one)) for one in parts(text[size:], size)),
        chunk(finish="tool_calls"),
        "[DONE]",
    ]


def read(body: bytes) -> list[tuple[str, str, str, str, bool]]:
    """Return the calls of a stream."""
    calls = inspected(body, EXCHANGE).record.calls
    return [(call.kind, call.id, call.name, call.arguments, call.complete) for call in calls]


@pytest.mark.parametrize("size", [1, 3, 99])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_input_is_read_and_not_repaired(text: str, size: int) -> None:
    """Any input of a custom call is read as its text, and the stream is unchanged."""
    body = sse(*stream(text, size))
    assert read(body) == [
        ("custom", "call_a", "shell", text, True),
        ("function", "call_b", "get_weather", '{"city":"Oslo"}', True),
        ("custom", "call_c", "shell", text, True),
    ]
    outcome = repaired(body, EXCHANGE)
    assert (outcome.finding_names, outcome.out) == ([], body)


def test_several_entries_and_choices() -> None:
    """Custom calls in one event and in two choices have their own text."""
    body = sse(
        chunk(custom(0, "call_a"), custom(1, "call_b")),
        chunk(more(1, "pwd"), more(0, "ls")),
        chunk(custom(0, "call_c", "df"), choice=1),
        chunk(finish="tool_calls"),
        chunk(finish="tool_calls", choice=1),
        "[DONE]",
    )
    assert [(one[1], one[3], one[4]) for one in read(body)] == [
        ("call_a", "ls", True),
        ("call_b", "pwd", True),
        ("call_c", "df", True),
    ]
    outcome = repaired(body, EXCHANGE)
    assert (outcome.finding_names, outcome.out) == ([], body)


@pytest.mark.parametrize("end", [[], [chunk(finish="length"), "[DONE]"]], ids=["the stream ends", "a limit"])
def test_a_custom_call_without_a_finish_reason_is_incomplete(end: list[Payload | str]) -> None:
    """A custom call is incomplete without a finish reason, and at the token limit."""
    body = sse(chunk(custom(0, "call_a")), chunk(more(0, "ls -")), *end)
    assert [one[3:] for one in read(body)] == [("ls -", False)]


def test_a_custom_call_before_an_incomplete_call_keeps_its_text() -> None:
    """A truncated function call does not change the text of the custom call before it."""
    incomplete = function(1, "call_b", '{"city":')
    body = sse(chunk(custom(0, "call_a", "ls")), chunk(incomplete), chunk(finish="tool_calls"), "[DONE]")
    assert [one[3] for one in read(body)] == ["ls", '{"city":']
    assert read(body)[1][4] is False


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_keeps_the_calls(shape: str) -> None:
    """After every shape, a stream has the same custom calls and function calls."""
    body = sse(*stream("ls -la /srv", 3))
    assert sorted(read(shaped(body, EXCHANGE, shape))) == sorted(read(body))


def test_an_empty_custom_field_with_a_function_is_ignored() -> None:
    """An entry with a function and an empty `custom` field, as some servers send it, is a function call."""
    entry = {**function(0, "call_b", '{"city":"Oslo"}'), "custom": {}}
    body = sse(chunk(entry), chunk(finish="tool_calls"), "[DONE]")
    assert read(body) == [("function", "call_b", "get_weather", '{"city":"Oslo"}', True)]
    assert repaired(body, EXCHANGE).out == body


def test_an_unstreamed_response() -> None:
    """A custom call of an unstreamed response is read, and kept by the conversion to a stream and back."""
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "custom", "custom": {"name": "shell", "input": "ls"}}],
    }
    payload = {"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}]}
    (fragment,) = named("openai-chat").read_response(payload).fragments
    assert (fragment.kind, fragment.name, fragment.arguments) == ("custom", "shell", "ls")
    streamed = b"".join(named("openai-chat").streamed(payload, {}))
    assert [one[0] for one in read(streamed)] == ["custom"]
    record = inspected(streamed, EXCHANGE).record
    assembled: Any = named("openai-chat").assembled(payloads(streamed), record.calls)
    assert assembled["choices"][0]["message"]["tool_calls"] == message["tool_calls"]


def test_offered_custom_tools_are_read() -> None:
    """The tools of a request are read as custom tools and functions."""
    assert [(tool.name, tool.custom) for tool in offered({"tools": TOOLS})] == [("shell", True), ("get_weather", False)]
