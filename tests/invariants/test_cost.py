"""Each event of a malformed stream costs as many function calls as the events before it."""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.counted import functions_called
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

type Payload = dict[str, object]
type Make = Callable[[int], bytes]

QUARTERS = 4
READING, REPAIRING = Settings(), Settings(SAFE)


def block(payload: Payload, name: str = "") -> bytes:
    """Return a server-sent event."""
    event = f"event: {name}\n".encode() if name else b""
    return event + b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n"


def chunk(*entries: Payload, finish: str | None = None) -> bytes:
    """Return a chunk of Chat Completions."""
    delta = {"tool_calls": list(entries)} if entries else {}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return block({"id": "c", "object": "chat.completion.chunk", "choices": [choice]})


def entry(at: int, arguments: str | None = None, **other: object) -> Payload:
    """Return an entry of a complete call; fields that are `None` are left out."""
    function = {"name": "f", "arguments": f'{{"a":{at}}}' if arguments is None else arguments}
    fields = {"index": at, "id": f"call_{at}", "type": "function", "function": function, **other}
    return {key: value for key, value in fields.items() if value is not None}


def fragment(arguments: str) -> bytes:
    """Return a chunk with a fragment of the call at index 0."""
    return chunk({"index": 0, "function": {"arguments": arguments}})


def event(kind: str, **fields: object) -> bytes:
    """Return a named event; fields that are `None` are left out."""
    present = {key: value for key, value in fields.items() if value is not None}
    return block({"type": kind, **present}, kind)


def item_delta(arguments: str, index: int | None = 0, item_id: str | None = "i") -> bytes:
    """Return an event with a fragment of an item."""
    return event("response.function_call_arguments.delta", item_id=item_id, output_index=index, delta=arguments)


def item(at: int, call_id: str | None, item_id: str | None, index: int | None, *, closes: bool = True) -> bytes:
    """Return the events of a call of Responses."""
    fields: Payload = {"type": "function_call", "id": item_id, "call_id": call_id, "name": "f", "arguments": ""}
    fields = {key: value for key, value in fields.items() if value is not None}
    out = event("response.output_item.added", output_index=index, item=fields)
    out += item_delta(f'{{"a":{at}}}', index, item_id)
    complete = {**fields, "arguments": f'{{"a":{at}}}'}
    return out + (event("response.output_item.done", output_index=index, item=complete) if closes else b"")


def block_delta(arguments: str, index: int = 0) -> bytes:
    """Return an event with a fragment of a block."""
    fields = {"type": "input_json_delta", "partial_json": arguments}
    return event("content_block_delta", index=index, delta=fields)


def tool_block(at: int, identity: str | None = None, index: int | None = None, *, stops: bool = True) -> bytes:
    """Return the events of a call of Messages."""
    at_index = at if index is None else index
    call = {"type": "tool_use", "id": f"toolu_{at}" if identity is None else identity, "name": "f", "input": {}}
    out = event("content_block_start", index=at_index, content_block=call) + block_delta(f'{{"a":{at}}}', at_index)
    return out + (event("content_block_stop", index=at_index) if stops else b"")


USAGE = {"input_tokens": 1, "output_tokens": 1}
CREATED = event("response.created", response={"id": "r", "object": "response", "status": "in_progress", "output": []})
STARTED = event("message_start", message={"id": "m", "role": "assistant", "content": [], "usage": USAGE})
TOOL = {"type": "tool_use", "id": "t", "name": "f", "input": {}}
ADDED = {"type": "function_call", "id": "i", "call_id": "c", "name": "f", "arguments": ""}

CALLS: dict[str, tuple[bytes, Make]] = {
    "chat": (b"", lambda at: chunk(entry(at))),
    "chat, no id": (b"", lambda at: chunk(entry(at, id=None))),
    "chat, one id": (b"", lambda at: chunk(entry(at, id="x"))),
    "chat, no index": (b"", lambda at: chunk(entry(at, index=None))),
    "chat, one index": (b"", lambda at: chunk(entry(at, index=0))),
    "chat, one index, in fragments": (b"", lambda at: chunk(entry(at, '{"a', index=0)) + fragment('":1}')),
    "chat, no index, in fragments": (
        b"",
        lambda at: chunk(entry(at, '{"a', index=None)) + chunk({"function": {"arguments": '":1}'}}),
    ),
    "chat, incomplete": (b"", lambda at: chunk(entry(at, '{"a'))),
    "chat, a finish with each": (b"", lambda at: chunk(entry(at), finish="tool_calls")),
    "chat, a finish after each": (b"", lambda at: chunk(entry(at)) + chunk(finish="stop")),
    "chat, a finish after each incomplete call": (b"", lambda at: chunk(entry(at, '{"a')) + chunk(finish="stop")),
    "chat, a finish after each header": (b"", lambda at: chunk(entry(at, "")) + chunk(finish="stop")),
    "responses": (CREATED, lambda at: item(at, f"c{at}", f"i{at}", at)),
    "responses, no id": (CREATED, lambda at: item(at, None, None, at)),
    "responses, no id and no index": (CREATED, lambda at: item(at, None, None, None)),
    "responses, one id": (CREATED, lambda at: item(at, "c", f"i{at}", at)),
    "responses, one id and one call": (CREATED, lambda at: item(7, "c", f"i{at}", at)),
    "responses, one index": (CREATED, lambda at: item(at, f"c{at}", f"i{at}", 0)),
    "responses, never closed": (CREATED, lambda at: item(at, None, None, at, closes=False)),
    "messages": (STARTED, tool_block),
    "messages, one id": (STARTED, lambda at: tool_block(at, "x")),
    "messages, no id": (STARTED, lambda at: tool_block(at, "")),
    "messages, one index": (STARTED, lambda at: tool_block(at, index=0)),
    "messages, never stopped": (STARTED, lambda at: tool_block(at, stops=False)),
}
"""Streams of many calls: the first events, and the events of each call."""
HEADS: dict[str, tuple[bytes, Callable[[str], bytes]]] = {
    "chat": (chunk(entry(0, "")), fragment),
    "responses": (CREATED + event("response.output_item.added", output_index=0, item=ADDED), item_delta),
    "messages": (STARTED + event("content_block_start", index=0, content_block=TOOL), block_delta),
}
ODD: dict[str, Callable[[int], Iterable[str]]] = {
    "encoded twice": lambda at: ['"{\\"a\\":\\"' if at == 0 else "word \\\\n"],
    "trailing garbage": lambda at: ['{"a":1}' if at == 0 else "<|x|>"],
    "sent again": lambda _: ['{"a":"x"}'],
    "sent again, in fragments": lambda _: ['{"a":', '"x"}'],
    "cumulative": lambda at: ['{"a":"' + "x" * min(at, 100)],
}
"""Fragments of the arguments of one call."""


def feed(session: Session, body: bytes) -> None:
    """Feed the body in chunks of 4096 bytes."""
    for at in range(0, len(body), 4096):
        session.feed(body[at : at + 4096])


def costs(head: bytes, make: Make, many: int, settings: Settings) -> list[float]:
    """Return function calls per event in each quarter of the stream, and at the end per call or fragment."""
    session = Session(StreamFacts(content_type="text/event-stream"), settings)
    session.feed(head + make(0))
    counts = []
    for quarter in range(QUARTERS):
        body = b"".join(make(at) for at in range(1 + quarter * many, 1 + (quarter + 1) * many))
        counts.append(functions_called(partial(feed, session, body)) / body.count(b"\n\n"))
    end = functions_called(lambda: (session.end(), session.record()))
    assert session.error is None
    record = session.record()
    assert record is not None
    assert record.calls
    return [*counts, end / (QUARTERS * many)]


@pytest.mark.parametrize("settings", [READING, REPAIRING], ids=["reading", "repairing"])
@pytest.mark.parametrize("name", CALLS)
def test_each_of_many_calls_costs_the_same(name: str, settings: Settings) -> None:
    """Each of many calls costs the same, while it is streamed and at the end of the stream."""
    few, many = (costs(*CALLS[name], count, settings) for count in (35, 70))
    assert many[3] < 1.5 * many[1]
    assert many[4] < 1.5 * few[4] + 10


@pytest.mark.parametrize("settings", [READING, REPAIRING], ids=["reading", "repairing"])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("protocol", HEADS)
def test_each_fragment_of_odd_arguments_costs_the_same(protocol: str, odd: str, settings: Settings) -> None:
    """Each fragment of odd arguments costs the same; without repairs, little more than a plain fragment."""
    head, fragment_event = HEADS[protocol]
    counts = costs(head, lambda at: b"".join(map(fragment_event, ODD[odd](at))), 250, settings)
    assert counts[3] < 1.3 * counts[1] + 0.5
    assert counts[4] < 40
    if settings is READING:
        assert counts[3] < 85
