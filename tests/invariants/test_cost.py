"""What events of odd streams cost: as much as those before them, in functions called, not in seconds."""

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
    """An SSE event."""
    event = f"event: {name}\n".encode() if name else b""
    return event + b"data: " + json.dumps(payload, separators=(",", ":")).encode() + b"\n\n"


def chunk(*entries: Payload, finish: str | None = None) -> bytes:
    """A chunk of a chat."""
    delta = {"tool_calls": list(entries)} if entries else {}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return block({"id": "c", "object": "chat.completion.chunk", "choices": [choice]})


def entry(at: int, arguments: str | None = None, **other: object) -> Payload:
    """A call of a chat, whole; what is `None` is left out."""
    function = {"name": "f", "arguments": f'{{"a":{at}}}' if arguments is None else arguments}
    said = {"index": at, "id": f"call_{at}", "type": "function", "function": function, **other}
    return {key: value for key, value in said.items() if value is not None}


def piece(arguments: str) -> bytes:
    """A fragment of a chat's one call."""
    return chunk({"index": 0, "function": {"arguments": arguments}})


def event(kind: str, **fields: object) -> bytes:
    """An event with its name; what is `None` is left out."""
    said = {key: value for key, value in fields.items() if value is not None}
    return block({"type": kind, **said}, kind)


def delta(arguments: str, index: int | None = 0, item_id: str | None = "i") -> bytes:
    """A fragment of an item."""
    return event("response.function_call_arguments.delta", item_id=item_id, output_index=index, delta=arguments)


def item(at: int, call_id: str | None, item_id: str | None, index: int | None, *, closes: bool = True) -> bytes:
    """A call of a Responses stream, from its start to its end."""
    said: Payload = {"type": "function_call", "id": item_id, "call_id": call_id, "name": "f", "arguments": ""}
    said = {key: value for key, value in said.items() if value is not None}
    out = event("response.output_item.added", output_index=index, item=said)
    out += delta(f'{{"a":{at}}}', index, item_id)
    whole = {**said, "arguments": f'{{"a":{at}}}'}
    return out + (event("response.output_item.done", output_index=index, item=whole) if closes else b"")


def more(arguments: str, index: int = 0) -> bytes:
    """A fragment of a block."""
    said = {"type": "input_json_delta", "partial_json": arguments}
    return event("content_block_delta", index=index, delta=said)


def content(at: int, identity: str | None = None, index: int | None = None, *, stops: bool = True) -> bytes:
    """A call of a Messages stream, from its start to its stop."""
    at_index = at if index is None else index
    call = {"type": "tool_use", "id": f"toolu_{at}" if identity is None else identity, "name": "f", "input": {}}
    out = event("content_block_start", index=at_index, content_block=call) + more(f'{{"a":{at}}}', at_index)
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
    "chat, one index, in pieces": (b"", lambda at: chunk(entry(at, '{"a', index=0)) + piece('":1}')),
    "chat, no index, in pieces": (
        b"",
        lambda at: chunk(entry(at, '{"a', index=None)) + chunk({"function": {"arguments": '":1}'}}),
    ),
    "chat, half": (b"", lambda at: chunk(entry(at, '{"a'))),
    "chat, a finish with each": (b"", lambda at: chunk(entry(at), finish="tool_calls")),
    "chat, a finish behind each": (b"", lambda at: chunk(entry(at)) + chunk(finish="stop")),
    "chat, a finish behind each half": (b"", lambda at: chunk(entry(at, '{"a')) + chunk(finish="stop")),
    "chat, a finish behind each header": (b"", lambda at: chunk(entry(at, "")) + chunk(finish="stop")),
    "responses": (CREATED, lambda at: item(at, f"c{at}", f"i{at}", at)),
    "responses, no id": (CREATED, lambda at: item(at, None, None, at)),
    "responses, no id and no index": (CREATED, lambda at: item(at, None, None, None)),
    "responses, one id": (CREATED, lambda at: item(at, "c", f"i{at}", at)),
    "responses, one id and one call": (CREATED, lambda at: item(7, "c", f"i{at}", at)),
    "responses, one index": (CREATED, lambda at: item(at, f"c{at}", f"i{at}", 0)),
    "responses, never closed": (CREATED, lambda at: item(at, None, None, at, closes=False)),
    "messages": (STARTED, content),
    "messages, one id": (STARTED, lambda at: content(at, "x")),
    "messages, no id": (STARTED, lambda at: content(at, "")),
    "messages, one index": (STARTED, lambda at: content(at, index=0)),
    "messages, never stopped": (STARTED, lambda at: content(at, stops=False)),
}
"""Many calls: what comes first, and the events of each."""
HEADS: dict[str, tuple[bytes, Callable[[str], bytes]]] = {
    "chat": (chunk(entry(0, "")), piece),
    "responses": (CREATED + event("response.output_item.added", output_index=0, item=ADDED), delta),
    "messages": (STARTED + event("content_block_start", index=0, content_block=TOOL), more),
}
ODD: dict[str, Callable[[int], Iterable[str]]] = {
    "encoded twice": lambda at: ['"{\\"a\\":\\"' if at == 0 else "word \\\\n"],
    "garbage behind them": lambda at: ['{"a":1}' if at == 0 else "<|x|>"],
    "sent again": lambda _: ['{"a":"x"}'],
    "sent again, in pieces": lambda _: ['{"a":', '"x"}'],
    "cumulative": lambda at: ['{"a":"' + "x" * min(at, 100)],
}
"""The arguments of one call in many fragments."""


def fed(line: Session, body: bytes) -> None:
    """In pieces as a network has them."""
    for at in range(0, len(body), 4096):
        line.feed(body[at : at + 4096])


def steps(head: bytes, make: Make, many: int, settings: Settings) -> list[float]:
    """Functions called for an event, in each quarter of the stream; for a call, or fragment, where it is over."""
    line = Session(StreamFacts(content_type="text/event-stream"), settings)
    line.feed(head + make(0))
    taken = []
    for quarter in range(QUARTERS):
        body = b"".join(make(at) for at in range(1 + quarter * many, 1 + (quarter + 1) * many))
        taken.append(functions_called(partial(fed, line, body)) / body.count(b"\n\n"))
    end = functions_called(lambda: (line.end(), line.record()))
    assert line.error is None
    record = line.record()
    assert record is not None
    assert record.calls
    return [*taken, end / (QUARTERS * many)]


@pytest.mark.parametrize("settings", [READING, REPAIRING], ids=["reading", "repairing"])
@pytest.mark.parametrize("name", CALLS)
def test_each_of_many_calls_costs_the_same(name: str, settings: Settings) -> None:
    """The last ones as much as the first ones, at the end of the stream too."""
    few, many = (steps(*CALLS[name], count, settings) for count in (35, 70))
    assert many[3] < 1.5 * many[1]
    assert many[4] < 1.5 * few[4] + 10


@pytest.mark.parametrize("settings", [READING, REPAIRING], ids=["reading", "repairing"])
@pytest.mark.parametrize("odd", ODD)
@pytest.mark.parametrize("protocol", HEADS)
def test_each_fragment_of_odd_arguments_costs_the_same(protocol: str, odd: str, settings: Settings) -> None:
    """Where nothing is mended, little more than one of plain arguments."""
    head, say = HEADS[protocol]
    taken = steps(head, lambda at: b"".join(map(say, ODD[odd](at))), 250, settings)
    assert taken[3] < 1.3 * taken[1] + 0.5
    assert taken[4] < 40
    if settings is READING:
        assert taken[3] < 85
