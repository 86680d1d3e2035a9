"""Arguments with each defect of providers and combinations of two defects, in all fragment sizes."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.invariants.driven import payloads
from toolstream_core.calls.arguments import ArgumentText
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.repair.arguments_reader import ArgumentsReader
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    type Protocol = Callable[[list[str]], tuple[str, list[Any]]]

OBJECTS: Final = ("{}", '{"path":"a"}', '{"a":[1,2]}', '{"o":{"o":{"x":1}}}', '{"t":"}{"}', '{"n":null,"s":""}')


def cut(text: str, size: int) -> list[str]:
    """Split into fragments of `size` characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def cumulative(fragments: list[str]) -> list[str]:
    """Return fragments that each have all arguments so far."""
    return ["".join(fragments[: at + 1]) for at in range(len(fragments))]


def quoted(fragments: list[str]) -> list[str]:
    """Return fragments of the arguments as a JSON string."""
    inside = [json.dumps(one)[1:-1] for one in fragments]
    return [f'"{inside[0]}', *inside[1:], '"'] if len(inside) > 1 else [f'"{inside[0]}"']


DEFECTS: Final[dict[str, Callable[[list[str]], list[str]]]] = {
    "valid": lambda fragments: fragments,
    "cumulative": cumulative,
    "placeholder": lambda fragments: ["{}", *fragments],
    "null": lambda fragments: ["null", *fragments],
    "placeholder, cumulative": lambda fragments: ["{}", *cumulative(fragments)],
    "replayed": lambda fragments: [*fragments, "".join(fragments)],
    "placeholder, replayed": lambda fragments: ["{}", *fragments, "".join(fragments)],
    "cumulative, replayed": lambda fragments: [*cumulative(fragments), "".join(fragments)],
    "double encoded": quoted,
    "placeholder, double encoded": lambda fragments: ["{}", *quoted(fragments)],
    "two placeholders": lambda fragments: ["{}", "{}", *fragments],
}


def anthropic(fragments: list[str]) -> tuple[str, list[Any]]:
    """Return a path, and the events of an Anthropic message with one call of these fragments."""
    start = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    usage = {"input_tokens": 1, "output_tokens": 1}
    events: list[Any] = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": start},
    ]
    for one in fragments:
        delta = {"type": "input_json_delta", "partial_json": one}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    ending = {"stop_reason": "tool_use", "stop_sequence": None}
    end = {"type": "message_delta", "delta": ending, "usage": usage}
    return "/v1/messages", [*events, {"type": "content_block_stop", "index": 0}, end, {"type": "message_stop"}]


def chat(fragments: list[str]) -> tuple[str, list[Any]]:
    """Return the same in Chat Completions."""
    head = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "f", "arguments": ""}}
    entries = [head, *({"index": 0, "function": {"arguments": one}} for one in fragments)]
    deltas = [({"tool_calls": [one]}, None) for one in entries]
    choices = [{"index": 0, "delta": delta, "finish_reason": end} for delta, end in [*deltas, ({}, "tool_calls")]]
    base = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return "/v1/chat/completions", [*({**base, "choices": [one]} for one in choices), "[DONE]"]


def responses(fragments: list[str]) -> tuple[str, list[Any]]:
    """Return the same in Responses. The closed item has all fragments joined."""
    item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "f", "arguments": ""}
    place = {"item_id": "fc_1", "output_index": 0}
    head = {"id": "resp_1", "object": "response", "status": "in_progress", "output": []}
    deltas = [{"type": "response.function_call_arguments.delta", **place, "delta": one} for one in fragments]
    closed = {"type": "response.output_item.done", "output_index": 0, "item": item | {"arguments": "".join(fragments)}}
    end = {**head, "status": "completed", "output": [closed["item"]]}
    added = {"type": "response.output_item.added", "output_index": 0, "item": item}
    begin: list[Any] = [{"type": "response.created", "response": head}, added]
    return "/v1/responses", [*begin, *deltas, closed, {"type": "response.completed", "response": end}]


def read(event: Any) -> list[str]:
    """Return the argument fragments of an event, as a client reads them."""
    if "choices" in event:
        return [one["function"]["arguments"] for one in event["choices"][0]["delta"].get("tool_calls", [])]
    if event["type"] == "response.function_call_arguments.delta":
        return [event["delta"]]
    return [event["delta"]["partial_json"]] if event["type"] == "content_block_delta" else []


def block(event: Any) -> bytes:
    """Return a server-sent event."""
    data = event if isinstance(event, str) else json.dumps(event)
    name = f"event: {event['type']}\n" if isinstance(event, dict) and "type" in event else ""
    return f"{name}data: {data}\n\n".encode()


def sent(protocol: Protocol, fragments: list[str]) -> tuple[list[str], list[str]]:
    """Return the fragments that the client receives, and the findings."""
    path, events = protocol(fragments)
    session = Session(StreamFacts(path=path, content_type="text/event-stream"), Settings(SAFE))
    out = b"".join([chunk for one in events for chunk in session.feed(block(one))] + [*session.end()])
    record = session.record()
    assert record is not None
    assert session.error is None
    return [fragment for one in payloads(out) for fragment in read(one)], [one.name for one in record.findings]


@pytest.mark.parametrize("protocol", [anthropic, chat, responses])
@pytest.mark.parametrize("defect", DEFECTS)
def test_the_client_gets_the_intended_arguments(defect: str, protocol: Protocol) -> None:
    """The client receives the intended arguments for every defect and fragment size."""
    for text, size in product(OBJECTS, (1, 2, 3, 5, 8, 40)):
        fragments = DEFECTS[defect](cut(text, size))
        received, findings = sent(protocol, fragments)
        assert "".join(received) == text, (text, size, findings)
        assert bool(findings) == (fragments != cut(text, size)), (text, size)


@pytest.mark.parametrize("protocol", [anthropic, chat, responses])
def test_an_object_that_repeats_its_beginning_is_not_cumulative(protocol: Protocol) -> None:
    """A value that equals the fragments so far does not make the fragments cumulative."""
    fragments = ['{"a":', '{"a":1}', "}"]
    received, findings = sent(protocol, fragments)
    assert ("".join(received), findings) == ("".join(fragments), [])


def test_text_without_an_object_is_not_cumulative() -> None:
    """Fragments without the beginning of an object are not cumulative, even if one begins with the text so far."""
    received = ArgumentText()
    reader = ArgumentsReader(received)
    for fragment in ("xx", "xxxx", 'xxxxxxxxxxxx"}'):
        received.add(fragment)
        reader.add(fragment, received)
    assert reader.cumulative is None


@pytest.mark.parametrize("protocol", [anthropic, chat, responses])
def test_a_cumulative_fragment_may_end_within_a_surrogate_pair(protocol: Protocol) -> None:
    """A program that counts UTF-16 units can cut a character: the client gets it once, with the next fragment."""
    fragments = ['{"a":', '{"a":"x', '{"a":"x\ud83d', '{"a":"x😀', '{"a":"x😀y"}']
    received, findings = sent(protocol, fragments)
    assert ("".join(received), findings[0]) == (fragments[-1], "cumulative-arguments")
