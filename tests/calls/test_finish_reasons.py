"""A call is complete if the protocol ended it, or if its arguments are a complete JSON object."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolstream_core.calls import Parameters
from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.wire.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Sequence

BY_NAME = {dialect.name: dialect for dialect in PROTOCOLS}
OBJECTS = st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=4) | st.lists(st.none()), min_size=1)

type Payload = dict[str, object]


def chat(arguments: object = None, finish: str | None = None, **entry: object) -> Payload:
    """Return a chunk with the call or a finish reason."""
    calls = {"tool_calls": [{"index": 0, **entry, "function": {"name": "f", "arguments": arguments}}]}
    delta = {} if arguments is None else calls
    return {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


def block(kind: str, index: int = 0, **more: object) -> Payload:
    """Return an event of a content block."""
    return {"type": f"content_block_{kind}", "index": index, **more}


def stopped(reason: str) -> Payload:
    """Return a `message_delta`."""
    return {"type": "message_delta", "delta": {"stop_reason": reason}}


def item(kind: str, **more: object) -> Payload:
    """Return an event of the output item."""
    call = {"type": "function_call", "id": "i", "call_id": "a", "name": "f", "arguments": "", **more}
    return {"type": f"response.output_item.{kind}", "output_index": 0, "item": call}


def response(status: str, *output: object) -> Payload:
    """Return a terminal event."""
    return {"type": f"response.{status}", "response": {"status": status, "output": output}}


DONE = b"[DONE]"
HEAD = chat("", id="a")
START = block("start", content_block={"type": "tool_use", "id": "a", "name": "f", "input": {}})
TEXT = [block("start", 1, content_block={"type": "text", "text": "x"}), block("stop", 1)]
ARGUMENTS_DONE = {"type": "response.function_call_arguments.done", "item_id": "i", "output_index": 0, "arguments": ""}
SEARCH = {"type": "web_search_call", "id": "i"}


def frames(events: Sequence[Payload | bytes]) -> list[Frame]:
    """Return the frames of a stream."""
    datas = (event if isinstance(event, bytes) else json.dumps(event).encode() for event in events)
    return [Frame(data, number, data) for number, data in enumerate(datas)]


def complete(dialect: str, *events: Payload | bytes) -> list[bool]:
    """Return whether each call is complete."""
    return [is_complete for _, is_complete in read(dialect, *events)]


def read(dialect: str, *events: Payload | bytes) -> list[tuple[str, bool]]:
    """Return arguments and completeness of each call."""
    protocol = BY_NAME[dialect]
    calls = protocol.calls({"f": Parameters()})
    for frame in frames(events):
        calls.resolve(protocol.read(frame), frame.number)
    return [(call.arguments, call.complete) for call in calls.resolved()]


CHAT = {
    "only a header": ([HEAD], False),
    "a finish": ([HEAD, chat(finish="tool_calls")], True),
    "the legacy finish": ([HEAD, chat(finish="function_call")], True),
    "stop": ([HEAD, chat(finish="stop")], True),
    "[DONE]": ([HEAD, DONE], True),
    "an empty finish reason": ([HEAD, chat(finish="")], False),
    "cut off by a limit": ([HEAD, chat(finish="length"), DONE], False),
    "cut off by a filter": ([HEAD, chat(finish="content_filter"), DONE], False),
    "an error": ([HEAD, {"error": {"message": "no"}}, DONE], False),
    "null": ([chat("null", id="a"), chat(finish="stop")], True),
    "null without an end": ([chat("null", id="a")], False),
    "a number": ([chat("2", id="a")], False),
    "a number with an end": ([chat("2", id="a"), chat(finish="tool_calls")], True),
    "a string": ([chat('"x"', id="a")], False),
    "a list": ([chat("[1]", id="a")], False),
    "an object": ([chat('{"a":1}', id="a")], True),
    "an object within a string": ([chat('"{\\"a\\":1}"', id="a")], True),
    "an object that is not JSON": ([chat('{"a":NaN}', id="a"), chat(finish="tool_calls")], False),
    "more after the finish": ([HEAD, chat(finish="tool_calls"), chat("2")], False),
    "more after the finish, and its end": ([HEAD, chat(finish="tool_calls"), chat("2"), DONE], True),
    "truncated": ([chat('{"a":', id="a"), chat(finish="tool_calls"), DONE], False),
}
ANTHROPIC = {
    "only a start": ([START], False),
    "its stop": ([START, block("stop")], True),
    "a stop reason": ([START, stopped("tool_use")], True),
    "a message_stop alone": ([START, {"type": "message_stop"}], False),
    "cut off by a limit": ([START, stopped("max_tokens"), {"type": "message_stop"}], False),
    "cut off by a limit, its block stopped": ([START, block("stop"), stopped("max_tokens")], False),
    "text after it, cut off": ([START, block("stop"), *TEXT, stopped("max_tokens")], True),
    "an error": ([START, {"type": "error", "error": {"message": "no"}}, {"type": "message_stop"}], False),
}
RESPONSES = {
    "only the item": ([item("added")], False),
    "arguments done": ([item("added"), ARGUMENTS_DONE], True),
    "item done": ([item("added"), item("done")], True),
    "item done, incomplete": ([item("added"), item("done", status="incomplete"), response("completed")], False),
    "in the completed response": ([response("completed", item("x")["item"])], True),
    "in an incomplete response": ([response("incomplete", item("x")["item"])], False),
    "the response failed": ([item("added"), response("failed")], False),
    "free text": ([item("added", type="custom_tool_call", input="x")], False),
    "free text, done": ([item("added", type="custom_tool_call"), item("done", type="custom_tool_call")], True),
    "run by the provider": ([item("added", **SEARCH)], False),
    "run by the provider, done": ([item("added", **SEARCH), item("done", **SEARCH)], True),
}
STREAMS = [
    pytest.param(dialect, events, is_complete, id=f"{dialect}: {name}")
    for dialect, table in (("openai-chat", CHAT), ("anthropic", ANTHROPIC), ("openai-responses", RESPONSES))
    for name, (events, is_complete) in table.items()
]


@pytest.mark.parametrize(("dialect", "events", "is_complete"), STREAMS)
def test_a_call_is_complete_if_ended_or_an_object(
    dialect: str, events: list[Payload | bytes], *, is_complete: bool
) -> None:
    """A call is complete only if the protocol ended it or its arguments are a complete object."""
    assert complete(dialect, *events) == [is_complete]


def test_a_call_in_one_event_is_complete() -> None:
    """A call of Gemini and Ollama is complete, also without arguments."""
    part: Payload = {"candidates": [{"content": {"parts": [{"functionCall": {"name": "f"}}]}}]}
    assert complete("gemini", part) == [True]
    line: Payload = {"message": {"tool_calls": [{"function": {"name": "f"}}]}, "done": False}
    assert complete("ollama", line) == [True]


def test_a_choice_ends_its_own_calls() -> None:
    """A finish reason completes only the calls of its own choice."""
    other = json.loads(json.dumps(HEAD).replace('{"index": 0, "delta"', '{"index": 1, "delta"'))
    assert complete("openai-chat", HEAD, other, chat(finish="stop")) == [True, False]
    assert complete("openai-chat", HEAD, other, chat(finish="length"), DONE) == [False, True]


@given(OBJECTS, st.data())
def test_a_truncated_call_is_incomplete(value: dict[str, object], data: st.DataObject) -> None:
    """A call of a response that ends inside its arguments is incomplete, and keeps the received arguments."""
    text = json.dumps(value)
    if data.draw(st.booleans()):
        text = json.dumps(text)
    end = data.draw(st.integers(0, len(text) - 1))
    cuts = sorted({0, end, *data.draw(st.lists(st.integers(0, end)))})
    fragments = [text[begin:stop] for begin, stop in itertools.pairwise(cuts)]
    deltas = [block("delta", delta={"type": "input_json_delta", "partial_json": fragment}) for fragment in fragments]
    more = {"type": "response.function_call_arguments.delta", "item_id": "i", "output_index": 0}
    assert read("openai-chat", HEAD, *map(chat, fragments)) == [(text[:end], False)]
    assert read("anthropic", START, *deltas) == [(text[:end], False)]
    assert read("openai-responses", item("added"), *({**more, "delta": fragment} for fragment in fragments)) == [
        (text[:end], False)
    ]


@pytest.mark.parametrize(
    ("reason", "cut"),
    [
        ("tool_calls", False), ("stop", False), ("end_turn", False), ("STOP", False), ("eos_token", False),
        ("completed", False), ("pause_turn", False), ("done", False), ("length", True), ("max_tokens", True),
        ("MAX_TOKENS", True), ("content_filter", True), ("error", True), ("incomplete: max_output_tokens", True),
        ("refusal", True), ("SAFETY", True), ("model_context_window_exceeded", True), ("abort", True),
        ("insufficient_system_resource", True), ("cancelled", True), ("failed", True),
    ],
)  # fmt: skip
def test_cut_reasons(reason: str, *, cut: bool) -> None:
    """The finish reasons of all protocols are classified as cut or not."""
    assert is_cut(reason) is cut
