"""Calls of custom tools in Chat Completions: free text under `custom.input`, and nothing to repair."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import inspected, repaired, shaped, sse
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
    "nothing": "",
    "a patch": "*** Begin Patch\n*** Add File: a\n+{\n*** End Patch",
    "an object": '{"cmd": "ls"}',
    "half an object": '{"cmd": "l',
    "two objects": '{"a":1}{"a":1}',
    "null": "null",
    "a string": '"{\\"a\\":1}"',
    "the same twice": "abab",
    "white space": " \n ",
}
SHAPES = tuple(named("openai-chat").shapes)


def chunk(*entries: Payload, finish: str | None = None, choice: int = 0, **delta: Any) -> Payload:
    """One chunk."""
    said = {**delta, **({"tool_calls": list(entries)} if entries else {})}
    return {
        "id": "chatcmpl-9",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": choice, "delta": said, "finish_reason": finish}],
    }


def custom(index: int, identity: str, text: str = "") -> Payload:
    """The entry that opens a call."""
    return {"index": index, "id": identity, "type": "custom", "custom": {"name": "shell", "input": text}}


def more(index: int, text: str) -> Payload:
    """An entry with the next part of a call's input."""
    return {"index": index, "custom": {"input": text}}


def function(index: int, identity: str, arguments: str) -> Payload:
    """A complete call of a function."""
    return {
        "index": index,
        "id": identity,
        "type": "function",
        "function": {"name": "get_weather", "arguments": arguments},
    }


def parts(text: str, size: int) -> list[str]:
    """A text in parts."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def stream(text: str, size: int) -> list[Payload | str]:
    """A custom call, a function call and another custom call."""
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
    """The calls of a stream."""
    calls = inspected(body, EXCHANGE).record.calls
    return [(call.kind, call.id, call.name, call.arguments, call.complete) for call in calls]


@pytest.mark.parametrize("size", [1, 3, 99])
@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_the_input_is_the_call_s_text_and_nothing_is_repaired(text: str, size: int) -> None:
    """Whatever the text looks like."""
    body = sse(*stream(text, size))
    assert read(body) == [
        ("custom", "call_a", "shell", text, True),
        ("function", "call_b", "get_weather", '{"city":"Oslo"}', True),
        ("custom", "call_c", "shell", text, True),
    ]
    went = repaired(body, EXCHANGE)
    assert (went.finding_names, went.out) == ([], body)


def test_entries_of_one_event_and_of_two_choices() -> None:
    """Each call has its own text."""
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
    went = repaired(body, EXCHANGE)
    assert (went.finding_names, went.out) == ([], body)


@pytest.mark.parametrize("end", [[], [chunk(finish="length"), "[DONE]"]], ids=["the stream ends", "a limit"])
def test_a_call_that_no_finish_ended_is_incomplete(end: list[Payload | str]) -> None:
    """Only the finish reason says that free text is complete."""
    body = sse(chunk(custom(0, "call_a")), chunk(more(0, "ls -")), *end)
    assert [one[3:] for one in read(body)] == [("ls -", False)]


def test_a_call_beside_an_incomplete_one_is_its_own() -> None:
    """A function call that is cut off says nothing of the custom call before it; the response is no complete one."""
    half = function(1, "call_b", '{"city":')
    body = sse(chunk(custom(0, "call_a", "ls")), chunk(half), chunk(finish="tool_calls"), "[DONE]")
    assert [one[3] for one in read(body)] == ["ls", '{"city":']
    assert read(body)[1][4] is False


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_keeps_the_calls(shape: str) -> None:
    """Shapes re-encode functions; events of custom calls are forwarded, perhaps later."""
    body = sse(*stream("ls -la /srv", 3))
    assert sorted(read(shaped(body, EXCHANGE, shape))) == sorted(read(body))


def test_an_empty_custom_field_beside_a_function_says_nothing() -> None:
    """Some servers write both keys into each entry."""
    entry = {**function(0, "call_b", '{"city":"Oslo"}'), "custom": {}}
    body = sse(chunk(entry), chunk(finish="tool_calls"), "[DONE]")
    assert read(body) == [("function", "call_b", "get_weather", '{"city":"Oslo"}', True)]
    assert repaired(body, EXCHANGE).out == body


def test_a_complete_response() -> None:
    """The same entries in a message."""
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
    payloads = [json.loads(line[6:]) for line in streamed.splitlines() if line.startswith(b"data: {")]
    assembled: Any = named("openai-chat").assembled(payloads, record.calls)
    assert assembled["choices"][0]["message"]["tool_calls"] == message["tool_calls"]


def test_what_a_request_offers() -> None:
    """A custom tool takes any text, and is no function."""
    assert [(tool.name, tool.custom) for tool in offered({"tools": TOOLS})] == [("shell", True), ("get_weather", False)]
