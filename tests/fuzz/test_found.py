"""Streams that broke a law once, written small: each stands for a kind of stream that the fuzzer found."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fuzz.case import Case
from tests.fuzz.drive import Outcome
from tests.fuzz.hunt import broken
from tests.fuzz.laws import Seen
from tests.fuzz.messages import MESSAGES, of_lines

type Json = dict[str, Any]


def sse(*events: Json | bytes) -> bytes:
    """A body of Server-Sent Events; bytes are blocks as they are."""
    return b"".join(one if isinstance(one, bytes) else _block(one) for one in events)


def _block(event: Json) -> bytes:
    name = b"event: %s\n" % event["type"].encode() if isinstance(event.get("type"), str) else b""
    return name + b"data: %s\n\n" % json.dumps(event).encode()


def chat(delta: Json, finish: str | None = None, key: str = "choices") -> Json:
    """A chunk of Chat Completions, its choices under `key`."""
    return {"object": "chat.completion.chunk", key: [{"index": 0, "delta": delta, "finish_reason": finish}]}


def entry(index: int | str | None, arguments: str, **header: str) -> Json:
    """A delta with one tool call."""
    function = {"arguments": arguments} | ({"name": header.pop("name")} if "name" in header else {})
    return {"tool_calls": [({} if index is None else {"index": index}) | header | {"function": function}]}


def one(key: str | None, index: object, arguments: str) -> Json:
    """An entry; with an `id` it opens a call."""
    header: Json = {} if key is None else {"id": key, "type": "function"}
    named: Json = {} if key is None else {"name": f"f_{key}"}
    return {"index": index} | header | {"function": named | {"arguments": arguments}}


def whole_call(index: int) -> Json:
    """A delta with a call in full, under one id for all."""
    return entry(index, '{"a":1}', id="call_1", name="f", type="function")


def same_id(name: str, arguments: str, key: str = "c1") -> Json:
    """An entry without an index."""
    return {"id": key, "function": {"name": name, "arguments": arguments}}


def tool_use(index: int, **more: Any) -> Json:
    """The start of an Anthropic block with a call."""
    block = {"type": "tool_use", "id": f"toolu_{index}", "name": "f", "input": {}} | more
    return {"type": "content_block_start", "index": index, "content_block": block}


def partial(index: int, text: object, kind: object = "content_block_delta") -> Json:
    """A delta of its arguments."""
    return {"type": kind, "index": index, "delta": {"type": "input_json_delta", "partial_json": text}}


def stopped(index: int) -> Json:
    """The end of a block."""
    return {"type": "content_block_stop", "index": index}


def message_delta(reason: str) -> Json:
    """What says how a message stopped."""
    return {"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 1}}


def text_block(index: int) -> Json:
    """The start of a block of text."""
    return {"type": "content_block_start", "index": index, "content_block": {"type": "text", "text": ""}}


def text(index: object, said: str) -> Json:
    """A delta of text."""
    return {"type": "content_block_delta", "index": index, "delta": {"type": "text_delta", "text": said}}


def retyped(event: Json) -> Json:
    """A delta of another type."""
    return event | {"delta": event["delta"] | {"type": "tool_use"}}


def item_done(index: int, item: str, arguments: str) -> Json:
    """The event that closes a Responses item, under one `call_id` for all."""
    call = {"type": "function_call", "id": item, "call_id": "c1", "name": "f", "arguments": arguments}
    return {"type": "response.output_item.done", "output_index": index, "item": call}


def item_added(index: int, item: str) -> Json:
    """The event that adds a Responses item."""
    return item_done(index, item, "") | {"type": "response.output_item.added"}


def argument_delta(index: int, item: str, text: str) -> Json:
    """A delta of its arguments."""
    return {
        "type": "response.function_call_arguments.delta",
        "item_id": item,
        "output_index": index,
        "delta": text,
    }


def added_by_name(index: int, item: str) -> bytes:
    """The event that adds a Responses item, without its type."""
    said = {key: one for key, one in item_added(index, item).items() if key != "type"}
    return b"event: response.output_item.added\ndata: %s\n\n" % json.dumps(said).encode()


def without_index(event: Json) -> Json:
    """The event without its output_index."""
    return {key: one for key, one in event.items() if key != "output_index"}


def completed(*items: Json) -> Json:
    """The event that ends a response, with these items."""
    response = {"status": "completed", "output": [one["item"] for one in items]}
    return {"type": "response.completed", "response": response}


def created(response: str) -> Json:
    """The event that starts a response."""
    return {"type": "response.created", "response": {"id": response, "status": "in_progress", "output": []}}


def cohere(index: float | None, entries: object, kind: str | None = "tool-call-start") -> Json:
    """A Cohere event of a call."""
    said = ({} if kind is None else {"type": kind}) | {"delta": {"message": {"tool_calls": entries}}}
    return said if index is None else {**said, "index": index}


def filled(index: float | None, arguments: str) -> Json:
    """A Cohere delta of a call."""
    return cohere(index, {"function": {"arguments": arguments}}, "tool-call-delta")


def named(name: str, arguments: str = "") -> Json:
    """The entry that starts a Cohere call."""
    return {"id": f"{name}_1", "type": "function", "function": {"name": name, "arguments": arguments}}


def parts_of(*parts: Json) -> Json:
    """A Gemini event."""
    return {"candidates": [{"content": {"role": "model", "parts": [*parts]}, "index": 0}], "modelVersion": "g"}


def converse(*events: tuple[str, Json]) -> bytes:
    """Messages of ConverseStream."""
    return of_lines([f"{name} {json.dumps(body)}\n".encode() for name, body in events])


def start(index: int, tool: Json) -> tuple[str, Json]:
    """A Converse block with a call."""
    return "contentBlockStart", {"contentBlockIndex": index, "start": {"toolUse": tool}}


def delta(index: object, tool: Json) -> tuple[str, Json]:
    """A delta of it."""
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": {"toolUse": tool}}


def text_in(index: int, said: str) -> tuple[str, Json]:
    """A delta of text in a Converse block."""
    return "contentBlockDelta", {"contentBlockIndex": index, "delta": {"text": said}}


def stop(index: int) -> tuple[str, Json]:
    """Its end."""
    return "contentBlockStop", {"contentBlockIndex": index}


def indexless(event: tuple[str, Json]) -> tuple[str, Json]:
    """The event without its index."""
    kind, body = event
    return kind, {key: one for key, one in body.items() if key != "contentBlockIndex"}


MESSAGE_START = {"type": "message_start", "message": {"id": "msg_1", "usage": {"input_tokens": 1}}}
ARGUMENTS_DONE = {"type": "response.function_call_arguments.done"}
TOOL_USE = ("messageStop", {"stopReason": "tool_use"})
CALLS_END: Json = {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL", "usage": {}}}
F = {"toolUseId": "t", "name": "f"}
UNREAD = b'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta"\n\n'
PALMYRA = {
    "index": 0,
    "finish_reason": None,
    "message": {"tool_calls": [{"index": 0, "id": None, "function": {"name": None, "arguments": '{"a":'}}]},
    "delta": {"tool_calls": [{"index": 0, "id": None, "function": "{}"}]},
}


def pieces(*arguments: str) -> list[Json]:
    """Messages with one call."""
    return [{"tool_calls": [{"id": "c", "function": {"name": "f", "arguments": one}}]} for one in arguments]


ANOTHER_ITEM = item_done(0, "fc_2", '{"a":1}')["item"] | {"call_id": "c2", "name": "g"}
MESSAGE_CALL = {"index": 0, "delta": {}, "message": entry(0, '{"a":1}', id="c", name="f")}
ONE_TEXT = [
    {"content": "Hi", "tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "arguments": one}}]}
    for one in ('{"a":', "1}")
]

FOUND: dict[str, tuple[str, bytes]] = {
    "Chat: a choice that is a list beside one that says its finish again": (
        "openai-chat",
        sse(
            {"choices": [[], {"index": 1, "delta": entry(0, "1}", id="c1", name="f"), "finish_reason": "tool_calls"}]},
            {"choices": [[], {"index": 1, "finish_reason": "tool_calls"}]},
        ),
    ),
    "anthropic: a call's arguments again, under the index of a block that nobody could read": (
        "anthropic",
        sse(
            *(tool_use(1, id=1e2), partial(1, '{"a":1}'), stopped(1)),
            *({"type": "content_block_start", "index": 1, "block": {}}, partial(1, '{"a":1}')),
        ),
    ),
    "Chat: an entry whose index is a list beside one that has a number": (
        "openai-chat",
        sse(
            chat(
                {
                    "tool_calls": [
                        {"index": 0, "type": "function", "function": {"name": "f", "arguments": ""}},
                        {"index": [[]], "function": {"arguments": '{"a":1}```jso'}},
                    ]
                }
            ),
        ),
    ),
    "Chat: two pieces without an index, and between them an event that nobody can read": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a":"', id="c1", name="f", type="function")),
            chat(entry(None, "three ")),
            b'data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\x01"}}]}}]}\n\n',
            chat(entry(None, "three ")),
            chat(entry(0, '"}')),
        ),
    ),
    "Chat: an object amid the pieces of a call whose header has no index": (
        "openai-chat",
        sse(
            chat(entry(None, "", id="c1", name="f", type="function")),
            *(chat(entry(0, one)) for one in ('{"', '":"')),
            chat({"tool_calls": [{"index": 0, "function": {"arguments": {"": None}}}]}),
            chat(entry(0, '"}')),
        ),
    ),
    "Chat: an object amid the pieces of a call whose header has no index, under odd indexes": (
        "openai-chat",
        sse(
            chat(entry(None, "", id="c1", name="f", type="function")),
            *(chat({"tool_calls": [one(None, index, text)]}) for index, text in ((1e2, '{"'), (1.5, '":"'))),
            chat({"tool_calls": [{"index": 0, "function": {"arguments": {"": None}}}]}),
            chat(entry(0, '"}')),
        ),
    ),
    "Chat: a piece without an index that does not go on with one of two calls, then one that does": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a', id="c0", name="f", type="function")),
            chat(entry(1, '{"b"', id="c1", name="g", type="function")),
            chat(entry(None, 'south"}')),
            chat(entry(0, '":"Os')),
            chat(entry(None, 'south"}')),
        ),
    ),
    "Chat: entries of one event without an index, under two ids": (
        "openai-chat",
        sse(
            chat({"tool_calls": [same_id("f", '{"a', "m1"), {"id": "m2", "function": {"arguments": "f"}}]}),
            chat({"tool_calls": [same_id("f", '":1', "m2"), same_id("f", '{"a":2}', "m2")]}),
            chat({"tool_calls": [same_id("f", "}", "m2"), same_id("f", '{"a":2}', "m2")]}),
        ),
    ),
    "Chat: pieces in messages, and a message with other arguments behind them": (
        "openai-chat",
        sse(*({"choices": [{"index": 0, "message": one}]} for one in pieces('{"a":', "{}", '{"a": 1}'))),
    ),
    "Chat: two calls as function_call, and a text before a third call": (
        "openai-chat",
        sse(
            *(chat({"function_call": {"name": "g", "arguments": '{"a":1}'}}) for _ in "ab"),
            chat({"content": "Hi"}),
            chat(entry(0, "", id="c1", name="f", type="function")),
        ),
    ),
    "Responses: a piece of a call in an item that only its event's name says to be added": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", '{"a":1{}}'),
            added_by_name(1, "fc_2"),
            item_done(1, "fc_2", '{"a":2}'),
        ),
    ),
    "Responses: a delta of nothing, and a text between the items behind it": (
        "openai-responses",
        sse(
            {"type": "response.function_call_arguments.delta", "output_index": 0},
            {"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m"}},
            item_added(0, "fc_1"),
            {"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": "hi"},
            item_added(1, "fc_2"),
        ),
    ),
    "Chat: a whole object amid a call of two entries without an index, under one id": (
        "openai-chat",
        sse(
            chat({"tool_calls": [same_id("f", '{"a": 1, ', "m1"), same_id("f", '{"b": 1}', "m1")]}, "tool_calls"),
            chat({"tool_calls": [same_id("g", '"b": 2}', "m1"), same_id("g", '{"b": 1}', "m2")]}, "tool_calls"),
        ),
    ),
    "Chat: a whole object amid a call of entries without an index, an event for each two of them": (
        "openai-chat",
        sse(
            chat({"tool_calls": [same_id("f", '{"a', "m2"), {"id": "m2", "function": {"arguments": '":1'}}]}),
            chat({"tool_calls": [same_id("f", '{"a":2}', "m2"), same_id("f", "}", "m2")]}),
        ),
    ),
    "Chat: a piece without an index goes to a call that no JSON can be made of, then one to another call": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a', id="c0", name="f", type="function")),
            chat(entry(1, 'NaN{"b"', id="c1", name="g", type="function")),
            chat(entry(None, 'south"}')),
            chat(entry(0, '":"Os')),
            chat(entry(None, 'south"}')),
        ),
    ),
    "Responses: null for the arguments under the id of one item and the index of another": (
        "openai-responses",
        sse(
            item_done(1, "fc_1", '{"a":1}'),
            {"type": "response.output_item.added", "output_index": 2, "item": {**ANOTHER_ITEM, "arguments": ""}},
            {**ARGUMENTS_DONE, "item_id": "fc_2", "output_index": 1, "arguments": "null"},
            item_done(1, "fc_1", '{"a":1}'),
            {"type": "response.output_item.done", "output_index": 2, "item": ANOTHER_ITEM},
        ),
    ),
    "Responses: deltas under an id that another item is added with in between": (
        "openai-responses",
        sse(
            item_added(0, "fc_2"),
            argument_delta(0, "fc_1", '{"'),
            {"type": "response.output_item.added", "output_index": 1, "item": {**ANOTHER_ITEM, "id": "fc_1"}},
            argument_delta(0, "fc_1", "a"),
            argument_delta(0, "fc_2", '":1}'),
        ),
    ),
    "Responses: deltas under an id, and an item added under it at the place where they came": (
        "openai-responses",
        sse(
            item_added(0, "fc_2"),
            argument_delta(0, "fc_1", '{"'),
            {"type": "response.output_item.added", "output_index": 0, "item": {**ANOTHER_ITEM, "id": "fc_1"}},
            argument_delta(0, "fc_1", "a"),
            argument_delta(0, "fc_2", '":1}'),
        ),
    ),
    "Responses: the next piece of a call is added, and says all of it, at the body's end": (
        "openai-responses",
        sse(
            item_done(0, "fc_1", ""),
            item_added(9, "fc_2"),
            {**ARGUMENTS_DONE, "item_id": "fc_2", "output_index": 9, "arguments": "{}"},
        ),
    ),
    "Responses: arguments before their item, and an end under its id and another index": (
        "openai-responses",
        sse(
            {**ARGUMENTS_DONE, "item_id": "fc_1", "output_index": 1, "arguments": '{"a":1}'},
            {**ARGUMENTS_DONE, "item_id": "fc_1", "output_index": 0, "arguments": "{}"},
            item_added(1, "fc_1"),
        ),
    ),
    "Chat: two pieces without an index, the second of which does not go on": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a', id="c0", name="f", type="function")),
            chat(entry(None, '":1')),
            chat(entry(None, '":1')),
            chat(entry(0, "}"), "tool_use"),
        ),
    ),
    "Responses: half arguments under an odd index, all of them under the item's": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", '{"a":{') | {"output_index": -0.5},
            argument_delta(0, "fc_1", '{"a":{}}'),
        ),
    ),
    "Responses: all arguments so far without an index, amid those that have it": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", '{"a'),
            without_index(argument_delta(0, "fc_1", '{"a":1}')),
            argument_delta(0, "fc_1", '":1}'),
        ),
    ),
    "Responses: the response is created again amid a call without an index": (
        "openai-responses",
        sse(
            {"type": "response.created", "response": {"id": "resp_1", "output": []}},
            without_index(item_added(0, "fc_1")),
            without_index(argument_delta(0, "fc_1", "{")),
            {"type": "response.created", "response": {"id": "resp_1", "output": []}},
            without_index(argument_delta(0, "fc_1", '"a":1}')),
        ),
    ),
    "Responses: an item closed as another, and an event at the end that lacks only its blank line": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            {"type": "response.output_item.done", "output_index": 0, "item": ANOTHER_ITEM},
            argument_delta(0, "fc_1", "{}"),
            item_done(0, "fc_1", "{}"),
        ).removesuffix(b"\n"),
    ),
    "Chat: whole arguments under an index below 0, those of the call's own behind them": (
        "openai-chat",
        sse(
            chat(entry(0, "", id="c1", name="f", type="function")),
            chat(entry(-1, '{"b":2}', id="c1", name="")),
            chat(entry(0, '{"a":1}')),
        ),
    ),
    "Chat: all arguments so far in an entry without an index, amid those that have it": (
        "openai-chat",
        sse(
            chat(entry(0, "", id="c1", name="f", type="function")),
            chat(entry(0, '{"a')),
            chat(entry(None, '{"a":1}')),
            chat(entry(0, '":1}')),
        ),
    ),
    "Chat: no JSON under the call's id and no index, before its arguments": (
        "openai-chat",
        sse(
            chat(entry(1, "", id="c2", name="g", type="function")),
            chat(entry(None, "x", id="c2", name="")),
            chat(entry(1, '{"b":2}')),
        ),
    ),
    "Chat: arguments under another key, then without an index, then as they should be": (
        "openai-chat",
        sse(
            chat(
                {
                    "tool_calls": [
                        {"index": 0, "function": {"name": "g", "parameters": "{}"}},
                        {"index": 9.5, "function": {"arguments": '"{\\"a\\":1}"'}},
                    ]
                }
            ),
            chat(entry(0, '{"a":1}')),
        ),
    ),
    "Chat: white space alone between cumulative arguments, within a string": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a')),
            chat(entry(0, '{"a":"')),
            chat(entry(None, " ")),
            chat(entry(0, '{"a":"b"}')),
        ),
    ),
    "Chat: a placeholder of two calls, and garbage behind the finish": (
        "openai-chat",
        sse(
            chat(entry(0, "{}", id="c1", name="f", type="function")),
            chat(entry(1, "{}", id="c2", name="g", type="function")),
            chat(entry(0, '{"a":1}')),
            chat({}, "tool_calls"),
            chat(entry(0, '{"b":"')),
        ),
    ),
    "Chat: entries of two calls under no index and one id, told apart by their names": (
        "openai-chat",
        sse(
            chat({"tool_calls": [same_id("plus", '{"a": 1, '), same_id("minus", '{"a": 2}')]}, "tool_calls"),
            chat({"tool_calls": [same_id("plus", '"b": 2}'), same_id("minus", '{"a": 2}', "c2")]}, "tool_calls"),
        ),
    ),
    "Chat: a placeholder, arguments of another protocol, and a piece of a call that nothing opens": (
        "openai-chat",
        sse(
            chat(entry(0, "{}", id="c1", name="f", type="function")),
            chat(entry(0, '{"a":')),
            partial(0, "{}"),
            chat(entry(1, '{"b":')),
            chat(entry(0, "1}")),
        ),
    ),
    "Chat: a placeholder, a piece of a call that nothing opens, and one of the first form": (
        "openai-chat",
        sse(
            chat(entry(0, "{}", id="c1", name="f", type="function")),
            chat(entry(0, '{"a":')),
            chat(entry(1, '{"b":')),
            chat({"function_call": {"arguments": '{"loc'}}),
            chat(entry(0, "1}")),
        ),
    ),
    "Chat: a call whose id changes, and one of its pieces also before its header": (
        "openai-chat",
        sse(
            chat(entry(0, "loc", id="c_2")),
            chat(entry(0, "", id="c", name="f", type="function")),
            chat(entry(0, '{"', id="c_1")),
            chat(entry(0, "loc", id="c_2")),
            chat(entry(0, '":"', id="c_3")),
            chat(entry(0, '"}', id="c_4")),
        ),
    ),
    "Responses: an item that is added with an empty input": (
        "openai-responses",
        sse(item_added(0, "fc_1") | {"item": {"type": "function_call", "id": "fc_1", "name": "f", "input": {}}}),
    ),
    "Gemini: empty arguments before those of a call without a name, and an event that lacks its end": (
        "gemini",
        sse(
            parts_of({"functionCall": {"name": "f", "args": {}}}),
            parts_of({"functionCall": {"args": {"a": 1}}}),
            parts_of({"functionCall": {"name": "g", "args": {}}}),
        )[:-1],
    ),
    "Chat: half a character before a piece without an index": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a":"', id="c1", name="f", type="function")),
            chat(entry(0, "F\ud83d")),
            chat(entry(None, "or")),
            chat(entry(0, '"}')),
        ),
    ),
    "Chat: a choice whose index is text": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a":1}')),
            {"choices": [{"index": "1", "delta": entry(0, "{}", id="c2", name="g"), "finish_reason": None}]},
        ),
    ),
    "Chat: a call of the first form before text, and an entry that nobody has": (
        "openai-chat",
        sse(
            chat({"function_call": {"name": "g", "arguments": '"{\\"a\\":1}"'}}),
            chat({"content": "Hi"}),
            chat(entry(0, "", id="c1", name="f", type="function")),
            chat({"tool_calls": [{"index": -1, "function": {}}]}),
        ),
    ),
    "anthropic: a call starts anew behind a block of text that came inside it": (
        "anthropic",
        sse(
            tool_use(1),
            partial(1, '{"b":2'),
            text_block(0),
            {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
            tool_use(1),
            partial(1, '{"b":2'),
        ),
    ),
    "chat: garbage without an index behind a whole placeholder": (
        "openai-chat",
        sse(
            chat(entry(0, "{}", id="c", name="f", type="function")),
            chat(entry(None, "2}")),
            chat({}, "tool_calls"),
            b"data: [DONE]\n\n",
        ),
    ),
    "chat: an index that nobody's piece was given comes as a call's": (
        "openai-chat",
        sse(
            chat({"tool_calls": [one("a", 1.5, "{")]}),
            b'data: {"x\n\n',
            chat({"tool_calls": [one(None, 0, "}")]}),
            chat({"tool_calls": [one("b", 1, '{"a":1}')]}),
            chat({}, "tool_calls"),
        ),
    ),
    "chat: what can be no begin of arguments opens without an index, and a call's own come under one": (
        "openai-chat",
        sse(
            chat(entry(None, "}")),
            chat(entry(1, "{}")),
            chat(entry(1, "", id="c", name="f", type="function")),
            chat({}, "tool_calls"),
        ),
    ),
    "chat: a delta that is the begin of what came, where arguments were cumulative": (
        "openai-chat",
        sse(
            chat(entry(0, '{"', id="c", name="f", type="function")),
            *[chat(entry(0, text)) for text in ('{"a', '{"', 'a":1}')],
            chat({}, "tool_calls"),
        ),
    ),
    "chat: pieces that are nobody's, under an index that a call of another one was given": (
        "openai-chat",
        sse(
            chat(
                {
                    "tool_calls": [
                        {"index": 1e400, "id": "c1", "function": {"name": "f", "finishReason": '{"a":'}},
                        {"index": 2, "id": "c2", "function": {"name": "g", "arguments": '{"b":'}},
                    ]
                }
            ),
            chat({"tool_calls": [one(None, 0, "1}"), one(None, 1, "2}")]}),
        ),
    ),
    "one call_id, and garbage behind the second object": (
        "openai-responses",
        sse(item_done(0, "fc_1", '{"a":1}'), item_done(1, "fc_2", '{"a":2}```json\n')),
    ),
    "an entry of nothing beside a message": ("openai-chat", sse(chat({}) | {"choices": [PALMYRA]})),
    "a message that says other arguments than the pieces before it": (
        "openai-chat",
        sse(*(chat({}) | {"choices": [{"index": 0, "message": one}]} for one in pieces('{"a":', "{} 1}", '{"a": 1}'))),
    ),
    "an item that closes with a piece that no delta brought": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", '{"'),
            item_done(1, "fc_9", "[]"),
            item_added(2, "fc_2"),
            argument_delta(2, "fc_2", '":"'),
            item_added(7, "fc_7"),
            argument_delta(7, "fc_7", '"}'),
            item_done(0, "fc_1", '{"'),
        ),
    ),
    "a doubled call of which a delta comes before its start": (
        "openai-responses",
        sse(
            item_done(0, "fc_1", "{}"),
            argument_delta(9, "fc_2", "{}"),
            item_added(9, "fc_2"),
            item_done(9, "fc_2", "{}"),
        ),
    ),
    "a repetition that begins in the event with the finish": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a":', id="call_1", name="f", type="function")),
            chat(entry(0, "1}{"), "tool_calls"),
        ),
    ),
    "what cannot begin arguments, without an index": (
        "openai-chat",
        sse(
            chat(entry(0, "", id="call_1", name="f", type="function")),
            chat(entry(None, "\0")),
            chat(entry(0, '{"a":1}')),
        ),
    ),
    "a piece without an index behind one that no client reads": (
        "openai-chat",
        sse(
            chat(entry(0, '{"', id="")),
            chat(entry(0, '":"', id="")),
            chat({"text": entry(0, ".md", id="")["tool_calls"]}),
            chat(entry("-", '"}', id="")),
        ),
    ),
    "a piece of an odd index beside two open calls": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a')),
            chat(entry(1, '{"b"')),
            chat(entry(0, '":"Os')),
            chat(entry("{", 'south"}')),
        ),
    ),
    "arguments under another key before the header of the call that has its own": (
        "openai-chat",
        sse(
            chat({"tool_calls": [{"index": 0, "function": {"name": [[]], "parameters": {"a": 1}}}]}),
            chat(entry(0, "", id="call_1", name="f", type="function")),
            chat({}, "tool_calls"),
            chat(entry(0, '{"b":2}')),
        ),
    ),
    "arguments under a misspelt key, and the right ones behind a second finish": (
        "openai-chat",
        sse(
            chat({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "f", "argument": '{"a":1}'}}]}),
            chat({}, "tool_calls"),
            chat({"content": "!"}),
            chat({}, "stop"),
            chat(entry(0, '{"a":1}', id="c", name="f", type="function")),
        ),
    ),
    "a piece under an index of its own behind one that gave its call an index": (
        "openai-chat",
        sse(
            chat(entry(None, "{", id="c0", name="f")),
            chat(entry(0, '"c":"')),
            chat(entry(2, "2}")),
            chat(entry(1, "", id="c1", name="g")),
            chat(entry(1, '{"c":"x')),
            chat(entry(0, '"}')),
        ),
    ),
    "a text with a blank before the object in it": (
        "openai-chat",
        sse(chat(entry(0, '"', id="c", name="f")), chat(entry(0, ' {\\"a\\": 1}"', id="c", name="f"))),
    ),
    "a line of another protocol before the first event": (
        "openai-chat",
        b'{"model":"m","message":{"content":"a"}}\n' + sse(chat(entry(0, '{"', id="")))
        + b'{"model":"m","message":{"content":"b"}}\n',
    ),
    "an index of a blank, and then the number": (
        "openai-chat",
        sse(
            chat({"tool_calls": [one("c1", 0, '{"a":'), one("c2", " ", '{"b":')]}),
            chat({"tool_calls": [one(None, 0, "1}"), one(None, 1, "2}")]}),
        ),
    ),
    "a call that only the end of a resumed stream says, behind half of another one": (
        "openai-responses",
        sse(
            item_added(0, "fc_1") | {"sequence_number": 2},
            argument_delta(0, "fc_1", '{"'),
            completed({"item": item_done(0, "fc_2", '{"a":1}')["item"] | {"call_id": "c2", "name": "g"}}),
        ),
    ),
    "a call that only the end of a resumed stream says, closed without its arguments behind half of another one": (
        "openai-responses",
        sse(
            item_added(1, "fc_2") | {"sequence_number": 4},
            argument_delta(1, "fc_2", '{"'),
            argument_delta(0, "fc_1", '{"a":1}'),
            item_done(0, "fc_1", ""),
            completed(item_done(0, "fc_1", '{"a":1}')),
        ),
    ),
    "a call of a second response that is closed without its arguments, behind half of one of the first": (
        "openai-responses",
        sse(
            created("r1"),
            item_added(1, "fc_2"),
            argument_delta(1, "fc_2", '{"'),
            created("r2"),
            argument_delta(0, "fc_1", '{"a":1}'),
            item_done(0, "fc_1", ""),
            completed(item_done(0, "fc_1", '{"a":1}')),
        ),
    ),
    "other arguments under another item's id at the index of a call that came without one": (
        "openai-responses",
        sse(
            without_index(item_added(0, "fc_1")),
            without_index(argument_delta(0, "fc_1", '{"a":1}')),
            argument_delta(0, "fc_2", "") | ARGUMENTS_DONE | {"arguments": ""},
            argument_delta(0, "fc_2", "") | ARGUMENTS_DONE | {"arguments": '{"b":2}'},
        ),
    ),
    "a delta of another item behind a whole call that came without an index": (
        "openai-responses",
        sse(
            without_index(item_added(0, "fc_1")),
            without_index(argument_delta(0, "fc_1", "{}")),
            argument_delta(0, "fc_2", "lo"),
            argument_delta(0, "fc_2", "") | ARGUMENTS_DONE | {"arguments": '{"b":2}'},
        ),
    ),
    "a last event without its end that says less than the deltas": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", '{"a":1}'),
            argument_delta(0, "fc_1", "") | ARGUMENTS_DONE | {"arguments": '{"a'},
        ).removesuffix(b"\n"),
    ),
    "an item that is closed with a blank, and that the last event says whole": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            item_done(0, "fc_1", " "),
            completed({"item": item_done(0, "fc_2", '{"a":1}')["item"] | {"call_id": "c2"}}),
        ),
    ),
    "a call without arguments before one whose arguments close and are spoilt, behind a null": (
        "openai-chat",
        sse(
            chat(entry(0, "", id="call_1", name="f", type="function")),
            chat(entry(0, "null", id="call_2", name="g")),
            *(chat(entry(0, one)) for one in ('{"p":', '{"a":1}', "3}")),
            chat({}, "tool_calls"),
        ),
    ),
    "a piece of another choice's call between those of a call in an object": (
        "openai-chat",
        sse(
            chat({"tool_calls": entry(0, '{"')["tool_calls"][0]}),
            chat({}) | {"choices": [{"index": 1, "delta": {"tool_calls": entry(0, "Flor")["tool_calls"][0]}}]},
            chat({"tool_calls": entry(0, '":1}')["tool_calls"][0]}),
        ),
    ),
    "a piece at the index that another call has for the client alone": (
        "openai-chat",
        sse(
            chat(
                {
                    "tool_calls": [
                        {"index": 9.5, "id": "c1", "function": {"name": "f", "args": '{"a":'}},
                        {"index": 2, "id": "c2", "function": {"name": "g", "arguments": '{"b":'}},
                    ]
                }
            ),
            chat({"tool_calls": [one(None, 0, "1}"), one(None, 1, "2}")]}),
        ),
    ),
    "arguments of nobody at the index under which an item is added of which a piece came before": (
        "openai-responses",
        sse(
            argument_delta(1, "fc_3", "") | ARGUMENTS_DONE | {"arguments": '"}'},
            argument_delta(0, "fc_1", '"}'),
            item_added(1, "fc_1"),
            item_done(1, "fc_1", '{"a":1}'),
        ),
    ),
    "an item without a name, and a part of it at the index of another one": (
        "openai-responses",
        sse(
            item_added(0, "fc_1") | {"item": item_done(0, "fc_1", '{"a":1}')["item"] | {"name": ""}},
            item_done(1, "fc_1", '{"a') | {"item": {"type": "function_call", "id": "fc_1", "call_id": "c1"}},
            item_done(1, "fc_2", '{"b":2}'),
        ),
    ),
    "an end that says other arguments of an item that is closed, without output_index": (
        "openai-responses",
        sse(
            item_done(0, "fc_1", '{"a":1}'),
            without_index(argument_delta(0, "fc_1", "{}")),
            without_index(argument_delta(0, "fc_1", "") | ARGUMENTS_DONE | {"arguments": "{}"}),
        ),
    ),
    "an output_index that is a list": ("openai-responses", sse(argument_delta(0, "fc_1", " ") | {"output_index": []})),
    "the whole arguments of an item before it is added elsewhere, at the index of another one": (
        "openai-responses",
        sse(
            item_done(1, "fc_1", '{"a":1}'),
            argument_delta(1, "fc_2", "") | ARGUMENTS_DONE | {"arguments": "null"},
            item_done(1, "fc_1", '{"a":1}'),
            item_added(2, "fc_2") | {"item": item_added(2, "fc_2")["item"] | {"call_id": "c2", "name": "g"}},
        ),
    ),
    "a part that is said under no name once more behind calls that were given back": (
        "openai-responses",
        sse(
            item_done(0, "fc_1", "{}"),
            without_index(item_added(0, "fc_3")) | {"item": {"type": "function_call", "id": "fc_3"}},
            item_added(1, "fc_2") | {"item": ANOTHER_ITEM | {"arguments": ""}},
            argument_delta(1, "fc_2", "") | ARGUMENTS_DONE | {"arguments": '{"a":1}'},
            item_done(5, "fc_2", '"}') | {"item": ANOTHER_ITEM | {"call_id": "c3", "arguments": '"}'}},
        ),
    ),
    "a whole call that was taken for a piece of half another one": (
        "openai-responses",
        sse(item_done(0, "fc_3", '{"a'), *map(without_index, (item_added(0, "fc_1"), item_done(0, "fc_1", "{}")))),
    ),
    "an end of another call at an index, amid the arguments of one that came without one": (
        "openai-responses",
        sse(
            without_index(item_added(0, "fc_1")),
            without_index(argument_delta(0, "fc_1", '{"')),
            item_done(5, "fc_3", '"}') | {"item": item_done(5, "fc_3", '"}')["item"] | {"call_id": "c2"}},
            without_index(argument_delta(0, "fc_1", 'a":1}')),
        ),
    ),
    "arguments of nobody without an index around the end of an item that has one": (
        "openai-responses",
        sse(
            without_index(argument_delta(0, "fc_1", "{")),
            item_done(0, "fc_3", ""),
            without_index(argument_delta(0, "fc_1", '"a":1}')),
            without_index(item_added(0, "fc_2")) | {"item": ANOTHER_ITEM | {"arguments": ""}},
        ),
    ),
    "other arguments of an item that seemed to be one with arguments again": (
        "openai-responses",
        sse(
            item_added(0, "fc_9") | {"item": item_done(0, "fc_9", '{"a":1}')["item"]},
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", "}"),
            argument_delta(0, "fc_1", "") | ARGUMENTS_DONE | {"arguments": "{}"},
        ),
    ),
    "two items under one id, each at its index": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", '{"'),
            item_added(1, "fc_1") | {"item": ANOTHER_ITEM | {"id": "fc_1", "call_id": "c1"}},
            argument_delta(0, "fc_1", 'a":1}'),
            argument_delta(0, "fc_2", '":1}'),
            completed(item_done(0, "fc_1", '{"a":1}')),
        ),
    ),
    "a call once more at the index that another one has for the client alone": (
        "openai-responses",
        sse(
            item_done(0, "fc_1", "1}") | {"item": ANOTHER_ITEM | {"id": "fc_1", "arguments": "1}"}},
            item_done(0, "fc_1", '{"a":1}'),
            item_added(1, "fc_2") | {"item": ANOTHER_ITEM | {"arguments": ""}},
            item_done(1, "fc_2", '{"b":2}') | {"item": ANOTHER_ITEM | {"arguments": '{"b":2}'}},
        ),
    ),
    "a call of a message without its name before the deltas that say it": (
        "openai-chat",
        sse(
            chat({}) | {"choices": [{"index": 0, "delta": {}, "message": entry(0, '{"a":1}')}]},
            chat(entry(0, '{"a":1}', id="call_1", name="f", type="function")),
        ),
    ),
    "an item under the call_id of half a call that begins anew": (
        "openai-responses",
        sse(
            item_added(1, "fc_1"),
            argument_delta(1, "fc_1", '{"des'),
            item_added(2, "fc_2"),
            item_done(1, "fc_1", '{"des'),
            argument_delta(2, "fc_2", ""),
            argument_delta(2, "fc_2", '{"des":1}'),
        ),
    ),
    "two messages with the same text": (
        "openai-chat",
        sse(*({"object": "chat.completion", "choices": [{"index": 0, "message": one}]} for one in ONE_TEXT)),
    ),
    "arguments in deltas of two types, in a string": (
        "anthropic",
        sse(tool_use(0), partial(0, '"{\\"ci'), retyped(partial(0, 'ty\\":'))),
    ),
    "a block that starts again within a string": (
        "anthropic",
        sse(tool_use(0), partial(0, '"{\\"a'), tool_use(0)),
    ),
    "a block that starts behind its first delta": (
        "anthropic",
        sse(tool_use(2), partial(1, '{"a":'), tool_use(1), partial(1, "1}"), partial(2, "2}")),
    ),
    "two calls under one call_id, which only the last event tells apart": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", '{"a":1{}}'),
            item_added(1, "fc_2"),
            item_done(1, "fc_2", '{"a":2}'),
            completed(item_done(0, "fc_1", '{"a":1}'), item_done(1, "fc_2", '{"a":2}')),
        ),
    ),
    "text of no block behind a block of text that waits": (
        "anthropic",
        sse(tool_use(0, type="server_tool_use"), text_block(0), text(0, "I see"), text("x", " you")),
    ),
    "a line separator behind a first {}": ("anthropic", sse(tool_use(0), partial(0, "{}"), partial(0, '\u2028{"a":'))),
    "null behind a first {} of a moved block": (
        "anthropic",
        sse(tool_use(3), partial(3, "{}"), partial(3, None)),
    ),
    "an entry without fields before a list": ("cohere-v2", sse(cohere(0, {}), cohere(0, [named("f"), named("g")]))),
    "other arguments behind the end of a call that said its own": (
        "cohere-v2",
        sse(
            cohere(0, named("f")),
            cohere(0, {"function": {"arguments": '{"a":1}'}}, "tool-call-end"),
            filled(0, "{}"),
        ),
    ),
    "a delta of {} behind the end of a call that had such a placeholder before its arguments": (
        "cohere-v2",
        sse(
            cohere(1, named("f")),
            *(filled(0, "{}"), filled(0, '{"b"'), filled(0, ":2}"), {"type": "tool-call-end", "index": 0}),
            {"type": "message-start", "id": "m", "delta": {"message": {"role": "assistant"}}},
            filled(1, "{}"),
        ),
    ),
    "an index that is a float, and arguments of nobody at the call's place": (
        "cohere-v2",
        sse(
            cohere(0, named("f")),
            cohere(100.0, named("g")),
            cohere(1, {"function": {"arguments": '{"a":1}'}}, "tool-call-delta"),
        ),
    ),
    "a delta without input behind {}": (
        "bedrock",
        converse(start(0, F), delta(0, {"input": "{}"}), delta(0, {}), stop(0), TOOL_USE),
    ),
    "null behind a first {}": (
        "bedrock",
        converse(start(0, F), delta(0, {"input": "{}"}), delta(0, {"input": None}), stop(0), TOOL_USE),
    ),
    "a doubled call behind an early stop": (
        "bedrock",
        converse(TOOL_USE, start(1, F), TOOL_USE, start(1, F), stop(1)),
    ),
    "a doubled call beside an unreadable message": (
        "bedrock",
        converse(start(0, F), stop(0), start(9, F), ("event:", {}), delta(9, {"input": "{}"}), start(0, F), stop(0)),
    ),
    "metadata before the message's stop": (
        "bedrock",
        converse(start(0, F), delta(0, {"input": '{"a":1}'}), ("metadata", {"usage": {}}), TOOL_USE),
    ),
    "[DONE] before the message's end": (
        "cohere-v2",
        sse(cohere(0, named("f", '{"a":1}')), b"data: [DONE]\n\n", {"type": "message-end", "delta": {}}),
    ),
    "a block without id and name": ("bedrock", converse(start(1, {}))),
    "a call that is spoilt behind the one that repeated it": (
        "openai-chat",
        sse(chat(whole_call(0)), chat(whole_call(7)), chat(entry(0, " x")), chat({}, "tool_calls")),
    ),
    "a call that is spoilt in the event that repeats it": (
        "openai-chat",
        sse(chat(whole_call(0)), chat({"tool_calls": [*whole_call(1)["tool_calls"], *entry(0, "x")["tool_calls"]]})),
    ),
    "half a call again behind the one that repeated it": (
        "openai-chat",
        sse(chat(whole_call(0)), chat(whole_call(1)), chat(entry(0, '{"a')), chat({}, "tool_calls")),
    ),
    "a call that goes on behind its repetition": (
        "openai-chat",
        sse(chat(whole_call(0)), chat(whole_call(1)), chat(entry(1, " x")), chat({}, "tool_calls")),
    ),
    "arguments behind the stop of a block whose start had them all": (
        "anthropic",
        sse(tool_use(0, input={"a": 1}), stopped(0), partial(0, "{}"), partial(0, '{"a":2}')),
    ),
    "arguments under the index of a block of text": (
        "anthropic",
        sse(text_block(0), tool_use(1), partial(1, '{"a":'), partial(0, "1"), partial(1, "2}")),
    ),
    "a call that goes on behind the message's stop reason": (
        "anthropic",
        sse(tool_use(0), message_delta("tool_use"), tool_use(0), partial(0, '{"a":'), partial(0, "1}")),
    ),
    "a start again behind text within the call": (
        "anthropic",
        sse(tool_use(0), text(0, "Let me look."), tool_use(0, name="null")),
    ),
    "an end that says other arguments, in an event of another name": (
        "openai-responses",
        sse(item_done(0, "fc_1", '{"a":1}'), completed(item_done(0, "fc_1", '{"a":2}')) | {"type": "response.done"}),
    ),
    "an end that says other arguments of an item without output_index": (
        "openai-responses",
        sse(
            {key: value for key, value in item_done(0, "fc_1", '{"a":1}').items() if key != "output_index"},
            completed(item_done(0, "fc_1", '{"a":2}')),
        ),
    ),
    "arguments of nobody before a call that only the end says": (
        "openai-responses",
        sse(
            argument_delta(0, "fc_1", '{"a":'),
            item_added(0, "fc_2"),
            item_done(0, "fc_2", "1}"),
            completed(item_done(0, "fc_1", '{"a":1}')),
        ),
    ),
    "whole arguments of nobody at the place of a call": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", '{"a":1}'),
            {"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "1}", "call_id": "x"},
            item_done(0, "fc_1", '{"a":1}'),
        ),
    ),
    "arguments that are said whole twice, and otherwise": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            *(argument_delta(0, "fc_1", one) | ARGUMENTS_DONE | {"arguments": one} for one in ('{"a":1}', '{"a":2}')),
            {"type": "response.output_item.done", "output_index": 0, "item": {"type": "function_call", "id": "fc_1"}},
        ),
    ),
    "a second end that says the call of the first whole": (
        "openai-responses",
        sse(completed(item_done(0, "fc_1", 'a":1}')), completed(item_done(0, "fc_1", '{"a":1}'))),
    ),
    "text behind an end that is kept back": (
        "openai-responses",
        sse(
            argument_delta(0, "fc_1", '{"a"'),
            item_done(0, "fc_1", '{"a"'),
            completed(),
            {"type": "response.output_text.delta", "output_index": 1, "delta": "Hi!"},
        ),
    ),
    "an object in a call's start, and deltas behind it": (
        "cohere-v2",
        sse(
            cohere(0, {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": {}}}),
            *(cohere(0, {"function": {"arguments": one}}, "tool-call-delta") for one in ('{"a":', "1}")),
        ),
    ),
    "half another object behind cumulative arguments": (
        "anthropic",
        sse(tool_use(0), partial(0, '{"a"'), partial(0, '{"a":1}'), partial(0, '{"b')),
    ),
    "cumulative arguments again, half of them": (
        "openai-responses",
        sse(item_added(0, "fc_1"), *(argument_delta(0, "fc_1", one) for one in ('{"a"', '{"a":1}', '{"a":'))),
    ),
    "an object in a call's start, and {} behind it": (
        "cohere-v2",
        sse(
            cohere(0, {"id": "f_1", "type": "function", "function": {"name": "f", "arguments": {"type": "function"}}}),
            cohere(0, {"function": {"arguments": "{}"}}, "tool-call-delta"),
        ),
    ),
    "arguments of no block before an empty delta of the open one": (
        "anthropic",
        sse(tool_use(0), partial(1, 'ey"}'), *(partial(0, one) for one in ("", '{"a":', "1}"))),
    ),
    "arguments of another index and of another type": (
        "anthropic",
        sse(
            text_block(0),
            tool_use(2),
            *(partial(1, one) for one in ('{"a":', '"}')),
            stopped(1),
            retyped(partial(0, '{"a') | {"index": None}),
            partial(2, 'b"}'),
        ),
    ),
    "a raw tab in arguments that are a string": (
        "openai-chat",
        sse(
            chat(entry(0, "", id="call_1", name="f", type="function")),
            *(chat(entry(0, one)) for one in ('"}', "one ", "two ")),
            b"data: %s\n\n" % json.dumps(chat(entry(0, "x\ty"))).encode().replace(b"\\t", b"\t"),
        ),
    ),
    "a whole call in an object between two pieces of another in such": (
        "openai-chat",
        sse(
            *(
                chat({"tool_calls": entry(0, one, id="c", name="f")["tool_calls"][0]})
                for one in ('{"b":2', '{"a":1}', "}")
            )
        ),
    ),
    "half of a message's call again before a finish that is said again": (
        "openai-chat",
        sse(
            chat({}, "tool_calls") | {"choices": [MESSAGE_CALL | {"finish_reason": "tool_calls"}]},
            chat(entry(0, '{"a":', id="c", name="f")),
            chat({}, "tool_calls"),
            chat(entry(0, "1}")),
        ),
    ),
    "text between pieces in an object and the call in a list": (
        "openai-chat",
        sse(
            *(chat({"tool_calls": entry(0, one)["tool_calls"][0]}) for one in ("{", '"')),
            chat({"reasoning": "Hm."}),
            chat(whole_call(0)),
        ),
    ),
    "an end that says a call whole of which an item had a piece, and half another": (
        "openai-responses",
        sse(
            item_done(3, "fc_3", "Flor"),
            argument_delta(4, "fc_4", "ence"),
            item_done(4, "fc_4", "ence") | {"item": item_done(4, "fc_4", "ence")["item"] | {"call_id": "c2"}},
            completed(item_done(0, "fc_0", '{"a":"Florence"}')),
        ),
    ),
    "an error, and an end that says a call without arguments": (
        "openai-responses",
        sse(b"error: something\n\n", completed(item_done(0, "fc_1", ""))),
    ),
    "an end that nobody can read between two ends of an item at the index of another": (
        "openai-responses",
        sse(
            item_done(0, "fc_1", '{"b":2}'),
            argument_delta(0, "fc_2", "") | ARGUMENTS_DONE | {"arguments": '{"a":1}'},
            b'event: response.completed\ndata: {"type"\n\n',
            item_done(0, "fc_2", "") | {"item": ANOTHER_ITEM},
        ),
    ),
    "half a call that only the end says": (
        "openai-responses",
        sse(item_added(0, "fc_1"), completed(item_done(0, "fc_1", '{"a"'))),
    ),
    "a whole delta behind an item that closes with no whole arguments": (
        "openai-responses",
        sse(item_added(0, "fc_1"), item_done(0, "fc_1", "}"), argument_delta(0, "fc_1", '{"a":1}')),
    ),
    "an item that says one thing in a delta and another when it closes, and a whole one": (
        "openai-responses",
        sse(
            item_added(1, "fc_2"),
            argument_delta(1, "fc_2", "des"),
            item_done(1, "fc_2", '{"des'),
            item_added(2, "fc_3"),
            argument_delta(2, "fc_3", '{"des":1}'),
        ),
    ),
    "an end that says another call at the place of one that came in two items": (
        "openai-responses",
        sse(
            item_done(1, "fc_2", '{"des'),
            item_added(2, "fc_3"),
            item_done(2, "fc_3", '{"des":1}'),
            completed(item_done(0, "fc_1", '{"a":1}'), item_done(1, "fc_2", '{"a":2}')),
        ),
    ),
    "half arguments, and {} of the call without an index": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a": "b"')),
            chat(entry(0, "", id="c1", name="f")),
            chat(entry(None, "{}", id="c1", name="f")),
        ),
    ),
    "an array that begins twice": (
        "gemini",
        b'[{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":"{}"}}]}}]}\n' * 2 + b"]",
    ),
    "a call and a block of another kind under one index": (
        "anthropic",
        sse(tool_use(1), tool_use(1, type="tool_"), partial(1, '{"a":2}')),
    ),
    "an item that closes with null and other arguments, under another index": (
        "openai-responses",
        sse(item_added(0, "fc_1"), argument_delta(0, "fc_1", '{"a":1}'), item_done(1, "fc_2", 'null{"a":2}')),
    ),
    "arguments without an index behind whole ones": (
        "openai-responses",
        sse(
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", '{"a":1}'),
            without_index(argument_delta(0, "fc_1", '<f>{"a":1}')),
        ),
    ),
    "arguments of no block under the index that a block is moved to": (
        "bedrock",
        converse(start(-1, F), delta(-1, {"input": "{"}), delta(-1, {"input": "}"}), delta(0, {"input": "{}"})),
    ),
    "text in half a call behind the message's stop": (
        "bedrock",
        converse(
            start(0, F),
            delta(0, {"input": '{"a'}),
            TOOL_USE,
            ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hi"}}),
        ),
    ),
    "a doubled call whose last event says other arguments": (
        "openai-responses",
        sse(
            item_done(0, "fc_1", '{"a":1}'),
            item_added(0, "fc_1"),
            argument_delta(0, "fc_1", "") | ARGUMENTS_DONE | {"arguments": '{"a":{}}'},
        ),
    ),
    "messages of a name that is no event's": (
        "openai-chat",
        of_lines(
            [
                b"PayloadPart " + json.dumps(chat(entry(0, "", id="call_1", name="f"))).encode() + b"\n",
                b"PayloadPart " + json.dumps(chat({}, "tool_calls")).encode() + b"\n",
            ]
        ),
    ),
    "text of no block behind one that waits, then text of the one before": (
        "anthropic",
        sse(
            text_block(0),
            tool_use(1, type="server_tool_use"),
            tool_use(4, type="x_tool_result"),
            text(5, "Here"),
            text(0, " it is."),
        ),
    ),
    "a block of text behind text within a call, and arguments of that": (
        "anthropic",
        sse(text_block(0), tool_use(1), text(1, "Here"), text(0, " it is."), partial(1, "{}"), stopped(1)),
    ),
    "a call that is spoilt behind the block that repeated it": (
        "anthropic",
        sse(
            *(tool_use(0), partial(0, '{"a":1}'), stopped(0)),
            *(tool_use(1, id="toolu_0"), partial(1, '{"a": 1}'), stopped(1), partial(0, '{"a":1}')),
        ),
    ),
    "a call that goes on behind a second message's start, at another index": (
        "anthropic",
        sse(
            MESSAGE_START,
            tool_use(0, type="server_tool_use", id="toolu_s"),
            tool_use(0),
            MESSAGE_START | {"message": {"id": "msg_2", "usage": {"input_tokens": 1}}},
            partial(0, '{"a":1}'),
        ),
    ),
    "arguments of an index that no block has, its stop, and arguments of the call's own": (
        "anthropic",
        sse(tool_use(1), partial(0, '{"a":1}'), stopped(0), partial(1, '{"a":2}')),
    ),
    "a repetition of a call of which only strays were whole": (
        "anthropic",
        sse(
            tool_use(1),
            retyped(partial(1, '{"a"') | {"index": False}),
            *(partial(1, one) for one in (":", "1}")),
            *(tool_use(0, id="toolu_1"), partial(0, '{"a":1}')),
        ),
    ),
    "a start again behind arguments that are none": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f")), cohere(0, {"function": {"arguments": "{{}}"}}, "tool-call-delta")),
            *(cohere(0, named("f")), cohere(0, {"function": {"arguments": "{}"}}, "tool-call-delta")),
        ),
    ),
    "arguments under another key, and an event of no type": (
        "cohere-v2",
        sse(
            cohere(0, named("f")),
            *(cohere(0, {"function": {"parameters": one}}, "tool-call-delta") for one in ('{"', '":"')),
            cohere(0, {"function": {"parameters": "5"}}, " "),
            cohere(0, {"function": {"parameters": '"}'}}, "tool-call-delta"),
        ),
    ),
    "text behind the message's end amid a call": (
        "cohere-v2",
        sse(
            cohere(0, named("f", '{"a":')),
            {"type": "message-end", "delta": {"finish_reason": "TOOL_CALL"}},
            {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Hi"}}}},
        ),
    ),
    "a start again behind whole arguments": (
        "bedrock",
        converse(start(0, F), delta(0, {"input": {"a": 1}}), start(0, F), delta(0, {"input": "{}"})),
    ),
    "a start again behind a block of another kind at its index": (
        "bedrock",
        converse(
            start(1, F),
            ("contentBlockStart", {"contentBlockIndex": 1, "start": {}}),
            *(delta(1, {"input": '{"a":1}'}), start(1, F), delta(1, {"input": '{"a":1}'})),
        ),
    ),
    "text within a call before a call that starts": (
        "bedrock",
        converse(
            start(0, F), ("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": "Hi"}}),
            start(2, F | {"toolUseId": "u"}),
        ),
    ),
    "a delta without an index that no arguments begin with": (
        "bedrock",
        converse(
            start(0, F),
            ("contentBlockDelta", {"delta": {"toolUse": {"input": "1}"}}}),
            *(delta(0, {"input": '{"a":1}'}), stop(0)),
        ),
    ),
    "an object within half arguments": (
        "bedrock",
        converse(start(0, F), delta(0, {"input": '{"a":"'}), delta(0, {"input": {}}), delta(0, {"input": 'b"}'})),
    ),
    "a call that goes on behind a second message's start": (
        "bedrock",
        converse(
            *(("messageStart", {"role": "assistant"}), start(-1, F), ("messageStart", {"role": "user"})),
            delta(-1, {"input": "{}"}),
        ),
    ),
    "an event cut into the message's stop while a block waits": (
        "anthropic",
        sse(
            *(tool_use(0, name="g"), tool_use(0, id="toolu_1"), partial(0, '{"a":1}')),
            b'event: message_stop\ndata: {"type":"message_stop"}event: content_block_stop\n\n',
        ),
    ),
    "a delta without an index before one of a type that nobody knows": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f")), cohere(0, {"function": {"arguments": '{"a"'}}, "tool-call-delta")),
            {key: one for key, one in cohere(0, {"function": {"arguments": ':"b'}}, "tool-call-delta").items()
             if key != "index"},
            cohere(0, {"function": {"arguments": "c"}}, "to,-call-delta"),
            cohere(0, {"function": {"arguments": '"}'}}, "tool-call-delta"),
        ),
    ),
    "arguments of an index that no block has, then the call's stop and its own arguments": (
        "anthropic",
        sse(tool_use(1), partial(0, '{"a":1}'), stopped(1), partial(1, '{"a":2}')),
    ),
    "the start of a block that is no call behind one that waits": (
        "bedrock",
        converse(
            *(start(0, F | {"type": "server_tool_use"}), start(2, F | {"toolUseId": "u"})),
            ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolResult": {"toolUseId": "t"}}}),
            delta(2, {"input": '{"a":1}'}),
        ),
    ),
    "arguments and a stop of an index at which a block starts then, and arguments of the call's own": (
        "anthropic",
        sse(tool_use(1), partial(0, '{"a":1}'), stopped(0), tool_use(0, id="toolu_1"), partial(1, '{"a":2}')),
    ),
    "a start with text that is no arguments, and arguments behind the message's stop reason": (
        "anthropic",
        sse(tool_use(0, input="x"), message_delta("tool_use"), partial(0, '{"a":1}')),
    ),
    "a block that waits for half a call behind the message's stop reason": (
        "anthropic",
        sse(
            *(tool_use(0), partial(0, 'x"}'), message_delta("tool_use")),
            *(tool_use(2, name="g"), partial(2, '{"a":1}'), {"type": "ping"}),
        ),
    ),
    "arguments behind the end of a call that repeated another one": (
        "cohere-v2",
        sse(
            *(cohere(1, named("f")), {"type": "tool-call-end", "index": 0}),
            *(cohere(1, named("f")), {"type": "tool-call-end", "index": 1}),
            cohere(1, {"function": {"arguments": '{"a":1}'}}, "tool-call-delta"),
        ),
    ),
    "arguments without an index, and the rest of them behind another block's start": (
        "bedrock",
        converse(
            *(start(0, F), indexless(delta(0, {"input": '{"a":'})), start(-1, F)),
            *(delta(-1, {"input": "{}"}), indexless(delta(0, {"input": "1}"}))),
        ),
    ),
    "arguments behind the stop of a block that said an earlier call again": (
        "bedrock",
        converse(start(0, F), delta(0, {"input": "{}"}), stop(0), start(0, F), stop(0), delta(0, {"input": '{"a":1}'})),
    ),
    "a block that is spoilt behind the one that said it again": (
        "bedrock",
        converse(
            *(start(0, F), delta(0, {"input": '{"a":1}'}), stop(0)),
            *(start(1, F), delta(1, {"input": '{"a":1}'}), stop(1), delta(0, {"input": "x"})),
        ),
    ),
    "a start of another type, which no client reads, and then the call's own, behind a block that waits": (
        "anthropic",
        sse(
            *(tool_use(0, type="server_tool_use"), text_block(1), tool_use(1, id="toolu_1", type=None)),
            *(tool_use(1), partial(1, '{"a":2}')),
        ),
    ),
    "{} before arguments of which one part has an odd index and another a type that nobody knows": (
        "anthropic",
        sse(
            *(tool_use(0), partial(0, "{}"), partial(0, '{"a":"1')),
            *(partial(0, "2") | {"index": []}, partial(0, "3") | {"delta": {"type": {}, "partial_json": "3"}}),
            partial(0, '4"}'),
        ),
    ),
    "{} before arguments of which one part cannot be read and another has no index": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f")), cohere(0, {"function": {"arguments": "{}"}}, "tool-call-delta")),
            *(cohere(0, {"function": {"arguments": '{"a":"1'}}, "tool-call-delta"), b'data: {"type":"tool-call\n\n'),
            {key: one for key, one in cohere(0, {"function": {"arguments": "2"}}, "tool-call-delta").items()
             if key != "index"},
            cohere(0, {"function": {"arguments": '3"}'}}, "tool-call-delta"),
        ),
    ),
    "arguments and a stop under the index of the block that starts then": (
        "bedrock",
        converse(
            *(start(2, F), delta(1, {"input": '{"b":2}'}), stop(1), start(1, F | {"toolUseId": "u"})),
            *(delta(2, {"input": '{"a":1}'}), stop(2)),
        ),
    ),
    "arguments under the index of a start that starts no call": (
        "bedrock",
        converse(
            *(start(2, F), ("contentBlockStart", {"contentBlockIndex": 1, "start": {"toolUse": 0}})),
            *(delta(1, {"input": "{}"}), stop(1), delta(2, {"input": '{"a":1}'}), stop(2)),
        ),
    ),
    "a bracket too many behind an event that nobody can read": (
        "bedrock",
        converse(
            *(start(1, F), delta(1, {"input": '{"a'}), ("{}", delta(1, {"input": '":{"'})[1])),
            *(delta(1, {"input": 'b":1}}'}), stop(1), TOOL_USE),
        ),
    ),
    "text within a call that waits, and then another block": (
        "anthropic",
        sse(tool_use(1), tool_use(5), text(5, "Hi"), tool_use(2, name="g")),
    ),
    "arguments under an index that no call has, and then the call's own": (
        "cohere-v2",
        sse(
            *(cohere(1, named("f")), cohere(0, {"function": {"arguments": "x"}}, "tool-call-delta")),
            cohere(1, {"function": {"arguments": '{"b":2}'}}, "tool-call-delta"),
        ),
    ),
    "a delta of an earlier call once more, before the next call's own": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f", '{"a":1}')), {"type": "tool-call-end", "index": 0}, cohere(1, named("g"))),
            *(cohere(at, {"function": {"arguments": one}}, "tool-call-delta")
              for at, one in ((0, "}"), (1, '{"b":2}'))),
            {"type": "tool-call-end", "index": 1},
        ),
    ),
    "whole arguments under an earlier call's index within another call's": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f", '{"a":1}')), {"type": "tool-call-end", "index": 0}, cohere(1, named("g"))),
            *(cohere(at, {"function": {"arguments": one}}, "tool-call-delta")
              for at, one in ((1, '{"c":"'), (0, '{"c":"x"}'), (1, 'x"}'))),
            {"type": "tool-call-end", "index": 1},
        ),
    ),
    "anthropic: a call that starts again within a key, and begins as before": (
        "anthropic",
        sse(
            *(tool_use(0), partial(0, '{"a":1}'), stopped(0), tool_use(1), partial(1, '{"'), partial(1, "a")),
            *(partial(0, '{"a":1}'), tool_use(1), partial(1, '{"'), partial(1, "a"), partial(1, '":1}')),
        ),
    ),
    "anthropic: a first {} that waits, and a second message": (
        "anthropic",
        sse(
            *(tool_use(0), MESSAGE_START, partial(0, "{}"), MESSAGE_START),
            *({"type": "content_block_stop", "index": 1.5}, message_delta("tool_use"), {"type": "message_stop"}),
        ),
    ),
    "bedrock: arguments of nobody, and the call's own behind the message's stop": (
        "bedrock",
        converse(start(0, F), delta(1, {"input": '{"c":"x"}'}), TOOL_USE, delta(0, {"input": "{}"}), stop(0)),
    ),
    "bedrock: arguments of nobody, an event of no kind, and a block that starts there": (
        "bedrock",
        converse(
            *(start(2, F), delta(1, {"input": "{}"}), ("None", {"contentBlockIndex": 1})),
            *(start(1, F | {"toolUseId": "u", "name": "g"}), delta(2, {"input": '{"a":{"b":1}}'}), TOOL_USE),
        ),
    ),
    "cohere: an earlier call's piece behind a call that came twice, and is closed": (
        "cohere-v2",
        sse(
            *(cohere(1, named("g")), filled(1, '{"a":1}'), cohere(101, named("g")), filled(101, '{"a":1}')),
            filled(1, 'irobi"}'),
        ),
    ),
    "cohere: arguments without an index behind the end of the last of two calls": (
        "cohere-v2",
        sse(
            *(cohere(None, named("f")), filled(None, "}"), cohere(None, named("g"))),
            *({"type": "tool-call-end"}, filled(None, '{"b":2}')),
        ),
    ),
    "cohere: pieces of nobody under an index that two calls had": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f")), filled(0, '{"a'), filled(0, '":1}'), cohere(0, named("g"))),
            *({"type": "tool-call-end", "index": 0}, filled(1, "location"), filled(0, '":')),
        ),
    ),
    "cohere: pieces of nobody before another call's, and then the call's own": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f")), cohere(2, named("h")), {"type": "tool-call-end", "index": 0}),
            *(filled(1, '{"a'), filled(1, '":1}'), filled(0, ':{"b":1}}'), filled(2, '{"b":2}')),
        ),
    ),
    "cohere: whole arguments of nobody within a call that is open": (
        "cohere-v2",
        sse(*(cohere(0, named("f")), filled(0, '{"a":{"b'), filled(1, '{"a":{"b":1}}'), filled(0, '":1}}'))),
    ),
    "cohere: a piece behind a call whose new index another call had": (
        "cohere-v2",
        sse(
            *(cohere(1, named("g")), cohere(0, named("f")), filled(0, '{"a":1}')),
            *({"type": "tool-call-end", "index": 0}, cohere(1, named("g"))),
            *(filled(0, "x"), filled(1, '{"c":"x"}'), {"type": "tool-call-end", "index": 1}),
        ),
    ),
    "cohere: nobody's arguments before a message's end, the call's own behind it": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f")), filled(1, '{"a":1}'), CALLS_END, filled(0, '{"b":2}')),
            *({"type": "tool-call-end", "index": 0}, CALLS_END),
        ),
    ),
    "cohere: half of nobody's arguments before a message's end, the call's own behind it": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f")), filled(1, '{"a"'), CALLS_END, filled(0, '{"b":2}')),
            *({"type": "tool-call-end", "index": 0}, CALLS_END),
        ),
    ),
    "cohere: a piece of a call that is over amid another's that waits": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f")), {"type": "tool-call-end", "index": 0}, cohere(1, named("g"))),
            *(filled(0, '{"a":'), filled(1, "{}"), filled(0, '{"b":2}'), CALLS_END),
        ),
    ),
    "cohere: one bracket too many, and nothing ends the call": (
        "cohere-v2",
        sse(cohere(0, named("f")), *(filled(0, one) for one in ('{"c":"x"', "}", "}"))),
    ),
    "Anthropic: text behind the stop of a block of text that waits for a call": (
        "anthropic",
        sse(
            *(tool_use(2), text_block(0), stopped(0), text(0, "hi"), tool_use(1)),
            {"type": "message_stop"},
        ),
    ),
    "Anthropic: a call that waits starts again, text in it, and another one starts": (
        "anthropic",
        sse(
            tool_use(0, type="server_tool_use", id="u"),
            *(tool_use(0, id="t"), tool_use(0, id="t", input={"a": 1}), text(0, "Hi"), tool_use(2, id="u")),
        ),
    ),
    "Anthropic: half arguments of an unknown block, the call starts again, and has arguments of its own": (
        "anthropic",
        sse(tool_use(0), partial(False, '{"b": "c"'), tool_use(0), partial(0, '{"a":1}')),
    ),
    "Anthropic: null of an unknown block, an event that is null, and the call's own arguments": (
        "anthropic",
        sse(tool_use(-1), partial(5, "null"), b"event: message_delta\ndata: null\n\n", partial(-1, '{"a":1}')),
    ),
    "Anthropic: text that waits for a call, and a message_stop that is null": (
        "anthropic",
        sse(tool_use(2), text_block(0), text(0, "hi"), b"event: message_stop\ndata: null\n\n"),
    ),
    "Anthropic: text inside a call, and a message_stop that is null": (
        "anthropic",
        sse(tool_use(0), partial(0, '{"a'), text(0, "hi"), b"event: message_stop\ndata: null\n\n"),
    ),
    "Anthropic: a piece under an index that nothing starts, and one behind another call's stop": (
        "anthropic",
        sse(
            *(tool_use(1), stopped(1), tool_use(2), partial(0, '{"a'), partial(2, '":"b')),
            *(partial(1, 'c"}'), partial(2, '"}')),
        ),
    ),
    "Anthropic: a placeholder, and a piece in an event without a type and a name": (
        "anthropic",
        sse(
            *(tool_use(0), partial(0, "{}"), partial(0, '{"a":"')),
            *({k: v for k, v in partial(0, "1").items() if k != "type"}, partial(0, '4"}')),
        ),
    ),
    "Anthropic: white space of a call between pieces of two unknown blocks": (
        "anthropic",
        sse(
            *(tool_use(0), partial(5, '{"a":'), retyped(partial(0, " "))),
            *(partial(1, '":1}'), partial(0, "1}")),
        ),
    ),
    "Anthropic: a placeholder, and pieces of a type and of an event that nobody knows": (
        "anthropic",
        sse(
            *(tool_use(0), partial(0, "{}"), partial(0, '{"a":"'), partial(0, "1", {})),
            *(retyped(partial(0, "3")), partial(0, '4"}')),
        ),
    ),
    "Anthropic: a call starts again amid its arguments, and what follows nobody can read": (
        "anthropic",
        sse(
            *(tool_use(1), partial(1, '{"'), partial(1, "a"), tool_use(1)),
            *(partial(1, '{"', -0.5), partial(1, "a"), partial(1, '":1}')),
        ),
    ),
    "Bedrock: a call starts again behind its arguments, and text inside another one before": (
        "bedrock",
        converse(
            *(start(0, F), start(1, F), start(5, F), text_in(1, "Hi")),
            *(delta(5, {"input": '{"b":2}'}), start(5, F)),
        ),
    ),
    "Bedrock: arguments without an index behind an event that nobody can read": (
        "bedrock",
        converse(
            *(start(1, F), delta(1, {"input": '{"a":"b'}), ("{}", delta(1, {"input": "c"})[1])),
            indexless(delta(1, {"input": 'd"}'})),
        ),
    ),
    "Bedrock: a call under the id of another one, an event that nobody can read, and a bracket too many": (
        "bedrock",
        converse(
            *(start(1, F), stop(1), start(1, F), delta(1, {"input": '{"a'}), ("{}", delta(1, {"input": '":{"'})[1])),
            delta(1, {"input": 'b":1}}'}),
        ),
    ),
    "Bedrock: arguments without an index around those of an index below 0": (
        "bedrock",
        converse(
            *(start(0, F), indexless(delta(0, {"input": '{"a":'})), delta(-1, {"input": "{}"})),
            indexless(delta(0, {"input": "1}"})),
        ),
    ),
    "Bedrock: an object amid arguments of which each piece has all so far": (
        "bedrock",
        converse(
            *(start(0, F), delta(0, {"input": '{"a"'}), delta(0, {"input": '{"a":"'})),
            *(delta(0, {"input": {}}), delta(0, {"input": 'b"}'})),
        ),
    ),
    "Bedrock: arguments without an index behind the end, and an event before them that is not JSON": (
        "bedrock",
        converse(indexless(start(0, F)), indexless(delta(0, {"input": "{}"})), TOOL_USE)
        + of_lines([b"contentBlockStart data: {\n"])
        + converse(indexless(delta(0, {"input": "{}"}))),
    ),
    "Bedrock: arguments without an index behind the end, and the same before under another one": (
        "bedrock",
        converse(
            *(indexless(start(0, {"name": "f"})), delta("{}", {"input": '"{\\"a\\":1}"'}), TOOL_USE),
            indexless(delta(0, {"input": '{"a":1}'})),
        ),
    ),
    "cohere: pieces without an index before and behind an event that nobody can read": (
        "cohere-v2",
        sse(
            *(cohere(0, named("f")), filled(0, '{"a"'), filled(None, ':"b')),
            cohere(0, {"function": {"arguments": "c"}}, "x"),
            *(filled(None, ':"b'), filled(0, '"}')),
        ),
    ),
    "cohere: a piece under a key that nobody knows, and one without an index": (
        "cohere-v2",
        sse(
            cohere(0, named("f", '{"a":"')),
            {"type": "tool-call-delta", "index": 0, "delta": {"message": {"x": {"function": {"arguments": "3"}}}}},
            *(filled(None, "."), filled(0, '"}')),
        ),
    ),
    "Responses: half a call closes under the index of another, and is a part of one before it": (
        "openai-responses",
        sse(
            *(item_done(0, "fc_0", '{"a":'), {**item_done(1, "fc_2", "{}"), "item": ANOTHER_ITEM}),
            *(item_done(1, "fc_1", "1}"), completed({"item": ANOTHER_ITEM})),
        ),
    ),
    "Responses: a call without a name waits where the response is created again": (
        "openai-responses",
        sse(
            {**item_added(0, "fc_0"), "item": {"type": "function_call", "id": "fc_0", "call_id": "c0", "name": ""}},
            *(argument_delta(0, "fc_0", '{"b":2}') | ARGUMENTS_DONE | {"arguments": '{"b":2}'}, created("r")),
            *(created("r"), item_added(0, "fc_1"), argument_delta(0, "fc_1", '{"a":1}')),
        ),
    ),
    "Realtime: the end of arguments comes before the item, which is added with their begin": (
        "openai-realtime",
        b"".join(
            json.dumps(one).encode() + b"\n"
            for one in (
                argument_delta(1, "fc_1", "1}") | {"call_id": "c1", "response_id": "r"},
                {**item_added(0, "fc_0"), "response_id": "r", "item": item_done(0, "fc_0", '{"a":')["item"]},
            )
        ),
    ),
    "Anthropic: the start of a call again, behind a block of an unknown type at its index": (
        "anthropic",
        sse(tool_use(1), tool_use(1, type="tool_"), tool_use(1), partial(1, '{"a":2}')),
    ),
    "Chat: messages with two calls, of which the second comes in pieces": (
        "openai-chat",
        sse(
            *(
                chat({}) | {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls", "message": message}]}
                for message in (
                    {"tool_calls": [same_id("f", text, ""), same_id("f", piece, "")]}
                    for text, piece in (('{"a":1}', "{"), ('{"a":1}', '"b'), ('{"a":1}', '":2}'))
                )
            )
        ),
    ),
    "Chat: a placeholder, and a piece under a key of the delta that nobody knows": (
        "openai-chat",
        sse(
            *(chat(entry(0, "{}", id="c", name="f")), chat(entry(0, '{"a":')), chat(entry(1, '{"b":'))),
            *(chat({"x": entry(0, "1}")["tool_calls"]}), chat(entry(0, "2}"))),
        ),
    ),
    "Chat: a call said again beside text, and a name alone before it": (
        "openai-chat",
        sse(
            chat(entry(0, '{"a":1}', id="c", name="f")),
            chat({"tool_calls": [{"index": 0, "function": {"name": "g"}}]}),
            chat({"content": "and", **entry(9, '{"a":1}', id="c", name="f")}),
        ),
    ),
    "Chat: a choice whose index is no number, and the call once more": (
        "openai-chat",
        sse(
            chat(entry(0, "", id="c", name="f")),
            chat({}) | {"choices": [{"index": False, "delta": entry(0, '{"a"')}]},
            *(chat(entry(0, ":1}")), chat(entry(9, '{"a":1}', id="c", name="f"))),
        ),
    ),
    "Chat: what looks like a mark behind a first event of which nothing is read": (
        "openai-chat",
        b'\xefx: 1\n\n\xef\xbb\xbfdata: {"object"\n: 1}\n\n' + sse(chat(entry(None, "{}", id="c", name="f"))),
    ),
    "Chat: the same data in a field that nobody knows": (
        "openai-chat",
        sse(chat(entry(None, "{}", id="c", name="f")), chat(entry(0, "{}"))).removesuffix(b"\n")
        + b"x: %s\n\n" % json.dumps(chat(entry(0, "{}"))).encode(),
    ),
    "cohere: a piece of an odd index, and one under a key that nobody knows": (
        "cohere-v2",
        sse(
            *(cohere(2, named("f")), {**filled(2, '{"a":"'), "index": "x"}),
            {"type": "tool-call-delta", "index": 2, "delta": {"message": {"x": {"function": {"arguments": "3"}}}}},
            filled(2, '"}'),
        ),
    ),
    "Responses: whole arguments behind the event that closes the item without any, and no output": (
        "openai-responses",
        sse(
            *(item_done(0, "fc_1", ""), argument_delta(0, "fc_1", "") | ARGUMENTS_DONE | {"arguments": '{"a":1}'}),
            {"type": "response.completed", "response": {"status": "completed", "output": None}},
        ),
    ),
    "Responses: a call that is closed again by an item of its id, with garbage behind its arguments": (
        "openai-responses",
        sse(
            *(item_done(0, "fc_0", '{"a":1}<|im_end|>'), item_added(9, "fc_1")),
            *(argument_delta(9, "fc_1", "") | ARGUMENTS_DONE | {"arguments": '{"a":1}'},),
            *(item_done(-1, "fc_1", '{"a":1}<|im_end|>'), completed(item_done(0, "fc_0", '{"a":1}<|im_end|>'))),
        ),
    ),
    "cohere: a list of two calls in a start without a type": (
        "cohere-v2",
        sse(
            *(cohere(3, named("e")), {"type": "tool-call-end", "index": 3}),
            b"event: tool-call-start\ndata: %s\n\n" % json.dumps(cohere(0, [named("f"), named("g")], None)).encode(),
        ),
    ),
}  # fmt: skip

STOOD_ASIDE: dict[str, bytes] = {
    "Chat: null for the arguments of a call, and of another one behind the finish": sse(
        chat(entry(0, "null", id="c1", name="f", type="function")),
        chat({}, "tool_calls"),
        chat(entry(0, "null", id="c2", name="g")),
    ),
    "Responses: an item is closed, other arguments come, and it is closed as before": sse(
        item_done(0, "fc_1", '{"a":1}'),
        {**ARGUMENTS_DONE, "item_id": "fc_1", "output_index": 0, "arguments": '{"b":1}'},
        item_done(0, "fc_1", '{"a":1}'),
    ),
    "Responses: items under one index, of which pieces follow in items of their own": sse(
        item_added(0, "fc_1"),
        {**item_added(0, "fc_9"), "item": {**ANOTHER_ITEM, "id": "fc_9", "arguments": ""}},
        item_done(0, "fc_1", ""),
        item_added(1, "fc_2"),
        argument_delta(1, "fc_2", '{"d'),
        item_added(2, "fc_3"),
        argument_delta(2, "fc_3", '{"d":1}'),
    ),
    "Responses: an item without an index, the begin of it once more, and another call": sse(
        without_index(item_added(0, "fc_1")),
        without_index(item_done(0, "fc_1", '{"a":1}')),
        item_added(0, "fc_1"),
        argument_delta(0, "fc_1", '{"a"'),
        {**item_added(1, "fc_2"), "item": {**ANOTHER_ITEM, "arguments": ""}},
        argument_delta(1, "fc_2", '{"b":2}'),
        b'data: {"type":"resp',
    ),
    "Responses: a piece of a call in items behind another item of its call_id": sse(
        item_added(1, "fc_2"),
        item_done(1, "fc_1", '{"ci'),
        argument_delta(1, "fc_2", 'ty":"Os'),
        item_added(3, "fc_3"),
        argument_delta(11, "fc_9", ':"UT'),
        item_done(11, "fc_9", ':"UT'),
        argument_delta(3, "fc_2", 'south"}'),
    ),
    "Responses: a second response closes an item under the index of a call that was moved": sse(
        created("resp_1"),
        item_added(0, "fc_1") | {"item": item_added(0, "fc_1")["item"] | {"type": ""}},
        item_done(0, "fc_1", '{"a":1}'),
        created("resp_2"),
        {**item_done(1, "fc_2", "{}"), "item": {**ANOTHER_ITEM, "arguments": "{}"}},
    ),
    "Responses: null for the arguments of an item that is closed before it is added": sse(
        item_done(2, "fc_1", '{"a":1}'),
        {**ARGUMENTS_DONE, "item_id": "fc_2", "output_index": 1, "arguments": "null"},
        {"type": "response.output_item.added", "output_index": 2, "item": {**ANOTHER_ITEM, "arguments": ""}},
    ),
    "Responses: an event behind a closed item that says its arguments, and neither an index nor any": sse(
        argument_delta(1, "fc_1", 'x"}'),
        item_added(1, "fc_1"),
        item_done(1, "fc_1", '{"c":"x"}'),
        {**ARGUMENTS_DONE, "item_id": "fc_1"},
    ),
    "Responses: a response without its envelope has an item that does not say its arguments": sse(
        item_added(0, "fc_1"),
        argument_delta(0, "fc_1", '"b":2}|>'),
        {**ARGUMENTS_DONE, "item_id": "fc_1", "output_index": 0, "arguments": '{"b":2}'},
        {
            "type": "response.completed",
            "status": "completed",
            "output": [{"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "f", "text": "{}"}],
        },
    ),
    "Responses: nobody's delta before a piece of a call in items": sse(
        item_done(0, "fc_1", '{"ci'),
        item_added(1, "fc_2"),
        argument_delta(1, "fc_2", 'ty":"Os'),
        item_added(3, "fc_3"),
        argument_delta(11, "fc_9", ':"UT'),
        argument_delta(0, "fc_3", 'south"}'),
    ),
}
"""Streams in which a call is read otherwise behind the repair, and no harm is done."""
DIALECTS = {"Chat": "openai-chat", "Responses": "openai-responses"}

WITH_A_GAP: dict[str, tuple[bytes, tuple[bytes, ...], bytes]] = {
    "openai-chat": (
        sse(chat(entry(0, '{"a":1', id="call_1", name="f", type="function"))),
        (sse(chat(entry(0, "2"), key="choice")), b'data: {"choices":[\n\n'),
        sse(chat(entry(0, "2}"))),
    ),
    "openai-responses": (
        sse(item_added(0, "fc_1"), argument_delta(0, "fc_1", '{"a":1')),
        (sse(argument_delta(0, "fc_1", "2") | {"type": 0}), b'data: {"type":"response.\n\n'),
        sse(argument_delta(0, "fc_1", "2}")),
    ),
    "anthropic": (
        sse(tool_use(0), partial(0, '{"a":1')),
        (sse(partial(0, "2", {})), sse(partial(0, "2", "input")), UNREAD),
        sse(partial(0, "2}")),
    ),
    "cohere-v2": (
        sse(cohere(0, named("f")), cohere(0, {"function": {"arguments": '{"a":1'}}, "tool-call-delta")),
        (sse(cohere(0, {"function": {"arguments": "2"}}, "length")), b'data: {"type":"tool-call\n\n'),
        sse(cohere(0, {"function": {"arguments": "2}"}}, "tool-call-delta")),
    ),
    "bedrock": (
        converse(start(0, F), delta(0, {"input": '{"a":1'})),
        (converse(("contentBlock", {"delta": {"toolUse": {"input": "2"}}})),),
        converse(delta(0, {"input": "2}"}), stop(0)),
    ),
}
"""Calls that nothing ends, in two halves, and what stands between them."""


@pytest.mark.parametrize("ended", ["clean", "broken"])
@pytest.mark.parametrize("name", FOUND)
def test_what_was_found_keeps_every_law(name: str, ended: str) -> None:
    """With safe repairs."""
    dialect, body = FOUND[name]
    kinds = {b"\0": MESSAGES, b"{": "application/x-ndjson"}
    kind = kinds.get(body[:1], "text/event-stream")
    assert list(broken(Case(dialect, body, kind, broken="reset" if ended == "broken" else None))) == []


WITHOUT_ONE_INDEX: dict[str, bytes] = {
    "openai-chat": sse(
        chat(entry(0, "", id="c1", name="f", type="function")),
        chat(entry(0, '{"a":"')),
        chat(entry(None, "1")),
        chat(entry(0, '2"}')),
    ),
    "openai-responses": sse(
        item_added(0, "fc_1"),
        argument_delta(0, "fc_1", '{"a":"'),
        {"type": "response.function_call_arguments.delta", "delta": "1"},
        argument_delta(0, "fc_1", '2"}'),
    ),
    "cohere-v2": sse(cohere(0, named("f")), filled(0, '{"a":"'), filled(None, "1"), filled(0, '2"}')),
    "bedrock": converse(
        start(0, F), delta(0, {"input": '{"a":"'}), indexless(delta(0, {"input": "1"})), delta(0, {"input": '2"}'})
    ),
}
"""A piece without an index between others that have one."""


@pytest.mark.parametrize("dialect", WITHOUT_ONE_INDEX)
def test_no_provider_leaves_out_the_index_of_some_pieces_alone(dialect: str) -> None:
    """So such a piece is not put into the call: a client that goes by the index has what it would have without us."""
    kind = MESSAGES if dialect == "bedrock" else "text/event-stream"
    case = Case(dialect, WITHOUT_ONE_INDEX[dialect], kind)
    assert list(broken(case)) == []
    seen = Seen(case)
    assert [call.text for call in seen.changed.calls.values() if call.name] == ['{"a":"2"}']
    assert seen.off.names == seen.on.names
    assert seen.on.names - {"cut-off-call"} == {"missing-index", "truncated-stream"}  # of nobody


@pytest.mark.parametrize("ended", ["clean", "broken"])
@pytest.mark.parametrize("name", STOOD_ASIDE)
def test_what_stood_aside_makes_nothing_whole(name: str, ended: str) -> None:
    """With safe repairs."""
    case = Case(DIALECTS[name.partition(":")[0]], STOOD_ASIDE[name], broken="reset" if ended == "broken" else None)
    assert list(broken(case, ["nothing-made-whole", "no-call-lost"])) == []


@pytest.mark.parametrize("dialect", WITH_A_GAP)
def test_nothing_is_put_that_ends_a_message_of_which_a_part_was_not_read(dialect: str) -> None:
    """The same message without that event is ended."""
    begin, unread, rest = WITH_A_GAP[dialect]
    kind = MESSAGES if dialect == "bedrock" else "text/event-stream"
    assert Outcome(Case(dialect, begin + rest, kind)).on.out != begin + rest
    for gap in unread:
        assert Outcome(Case(dialect, begin + gap + rest, kind)).on.out == begin + gap + rest


def test_pieces_are_not_joined_where_that_repair_is_off() -> None:
    """Another one is on."""
    body = sse(
        item_added(2, "fc_1"),
        item_done(2, "fc_1", '":"'),
        item_added(3, "fc_2"),
        completed(item_done(0, "fc_9", '{"a":1}')),
    )
    assert Outcome(Case("openai-responses", body, repair=("missing-event-name",))).on.out == body
    assert Outcome(Case("openai-responses", body, repair=("item-per-fragment",))).on.out != body


@pytest.mark.parametrize("comments", [1, 8, 9, 20])
@pytest.mark.parametrize("closes", [False, True])
def test_comments_behind_an_event_that_is_held_stay_there(comments: int, *, closes: bool) -> None:
    """Nothing of the stream is changed, also where the body ends with them."""
    text = '{"a' if closes else "{}"
    held = [argument_delta(0, "fc_1", text), *([item_done(0, "fc_1", text)] if closes else [])]
    body = sse(item_added(0, "fc_1"), *held, *[b": keep-alive\n\n"] * comments)
    assert Outcome(Case("openai-responses", body)).on.out == body
    ended = body + sse(item_done(0, "fc_1", text), completed(item_done(0, "fc_1", text)))
    assert closes or Outcome(Case("openai-responses", ended)).on.out == ended


@pytest.mark.parametrize(
    ("repair", "body"),
    [("reused-index", sse(tool_use(2))), ("offset-index", sse(text_block(0), tool_use(0, id="toolu_1")))],
)
def test_a_block_keeps_its_index_where_that_repair_is_off(repair: str, body: bytes) -> None:
    """The repair of the other defect of indexes is on."""
    assert Outcome(Case("anthropic", body, repair=(repair,))).on.out == body
    assert Outcome(Case("anthropic", body, repair=("reused-index", "offset-index"))).on.out != body


ANOTHER_AT_ITS_INDEX: dict[str, bytes] = {
    "anthropic": sse(tool_use(1), partial(1, '{"a":1}'), text_block(0), tool_use(1, name="g")),
    "bedrock": converse(start(0, F), delta(0, {"input": '{"a":1}'}), start(0, F | {"name": "g"})),
    "cohere-v2": sse(cohere(0, named("f", '{"a":1}')), cohere(0, named("g") | {"id": "f_1"})),
}


@pytest.mark.parametrize("dialect", ANOTHER_AT_ITS_INDEX)
def test_a_start_under_the_id_of_the_open_call_is_another_call_where_its_name_is(dialect: str) -> None:
    """It has no arguments, and nothing says that it is over."""
    kind = MESSAGES if dialect == "bedrock" else "text/event-stream"
    outcome = Outcome(Case(dialect, ANOTHER_AT_ITS_INDEX[dialect], kind))
    calls = [("f", '{"a":1}', True), ("g", "", False)]
    assert outcome.off.calls == outcome.reread.calls == calls


def test_a_call_that_starts_again_with_other_arguments_repeats_nothing() -> None:
    """Behind another block at its index, and an event that nobody can read."""
    result = {"type": "web_search_tool_result", "tool_use_id": "s", "content": []}
    between = {**text_block(1), "content_block": result}
    body = sse(tool_use(1), between, partial(1, '{"a":1}'), UNREAD, tool_use(1), partial(1, '{"a":2}'))
    assert ("f", '{"a":2}', True) in Outcome(Case("anthropic", body)).reread.calls


def test_a_tool_that_needs_no_arguments_is_known_by_its_name_without_decoration() -> None:
    """The call without arguments shares its index with another one."""
    offered = {"tools": [{"type": "function", "function": {"name": "snooze", "parameters": {"required": []}}}]}
    body = sse(
        chat(entry(0, "", id="c1", name="functions.snooze")),
        chat(entry(0, '{"a":1}', id="c2", name="g")),
        chat({}, "tool_calls"),
    )
    case = Case("openai-chat", body, request=offered)
    assert list(broken(case)) == []
    assert ("snooze", "{}", True) in Outcome(case).reread.calls
