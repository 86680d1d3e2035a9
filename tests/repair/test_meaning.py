"""Arguments in every way in which providers garble them, cut at every place, and combinations of two ways."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any, Final

import pytest

from toolstream_core.engine.session import Session
from toolstream_core.model import Exchange
from toolstream_core.settings import SAFE, Settings

if TYPE_CHECKING:
    from collections.abc import Callable

OBJECTS: Final = ('{"path":"a"}', '{"a":[1,2]}', '{"o":{"o":{"x":1}}}', '{"t":"}{"}', '{"n":null,"s":""}')


def cut(text: str, size: int) -> list[str]:
    """Fragments of so many characters."""
    return [text[at : at + size] for at in range(0, len(text), size)]


def cumulative(pieces: list[str]) -> list[str]:
    """Each fragment has all arguments so far."""
    return ["".join(pieces[: at + 1]) for at in range(len(pieces))]


def quoted(pieces: list[str]) -> list[str]:
    """JSON inside a JSON string."""
    inside = [json.dumps(one)[1:-1] for one in pieces]
    return [f'"{inside[0]}', *inside[1:], '"'] if len(inside) > 1 else [f'"{inside[0]}"']


WAYS: Final[dict[str, Callable[[list[str]], list[str]]]] = {
    "valid": lambda pieces: pieces,
    "cumulative": cumulative,
    "placeholder": lambda pieces: ["{}", *pieces],
    "null": lambda pieces: ["null", *pieces],
    "placeholder, cumulative": lambda pieces: ["{}", *cumulative(pieces)],
    "replayed": lambda pieces: [*pieces, "".join(pieces)],
    "placeholder, replayed": lambda pieces: ["{}", *pieces, "".join(pieces)],
    "cumulative, replayed": lambda pieces: [*cumulative(pieces), "".join(pieces)],
    "double encoded": quoted,
    "placeholder, double encoded": lambda pieces: ["{}", *quoted(pieces)],
    "two placeholders": lambda pieces: ["{}", "{}", *pieces],
}


def sent(pieces: list[str]) -> tuple[list[str], list[str]]:
    """What the client gets of the arguments, and the findings."""
    start = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    usage = {"input_tokens": 1, "output_tokens": 1}
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "m", "role": "assistant", "content": [], "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": start},
    ]
    for one in pieces:
        delta = {"type": "input_json_delta", "partial_json": one}
        events.append({"type": "content_block_delta", "index": 0, "delta": delta})
    ending = {"stop_reason": "tool_use", "stop_sequence": None}
    events += [
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": ending, "usage": usage},
        {"type": "message_stop"},
    ]
    session = Session(Exchange(path="/v1/messages", content_type="text/event-stream"), Settings(SAFE))
    body = [f"event: {one['type']}\ndata: {json.dumps(one)}\n\n".encode() for one in events]
    out = b"".join([piece for one in body for piece in session.feed(one)] + [*session.end()])
    record = session.record()
    assert record is not None
    data = [json.loads(line[5:]) for line in out.splitlines() if line.startswith(b"data:")]
    return [one["delta"]["partial_json"] for one in data if one["type"] == "content_block_delta"], [
        one.name for one in record.findings
    ]


@pytest.mark.parametrize("way", WAYS)
def test_the_client_gets_the_intended_arguments(way: str) -> None:
    """However they are cut."""
    for text, size in product(OBJECTS, (1, 2, 3, 5, 8, 40)):
        got, findings = sent(WAYS[way](cut(text, size)))
        assert "".join(got) == text, (text, size, findings)
        assert bool(findings) == (WAYS[way](cut(text, size)) != cut(text, size)), (text, size)


def test_an_object_that_repeats_its_begin_is_no_accumulation() -> None:
    """The value of a key may be what came so far."""
    pieces = ['{"a":', '{"a":1}', "}"]
    assert sent(pieces) == (pieces, [])
