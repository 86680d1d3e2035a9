"""Shapes of Chat Completions calls, as far as the invariants of all shapes do not hold them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.invariants.driven import inspected
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.chat.repair.writer import LONGEST_EVEN
from toolstream_core.settings import Settings
from toolstream_core.stages.response_ids import Ids, Own

PATH = "/v1/chat/completions"


def written(*entries: dict[str, Any]) -> bytes:
    """An event each."""
    chunks = ({"choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]} for entry in entries)
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def entry(index: int, call_id: str | None, arguments: str = "{}") -> dict[str, Any]:
    """The start of a call, or with no id more of it."""
    function = {"name": "ping", "arguments": arguments} if call_id is not None else {"arguments": arguments}
    return {"index": index, **({"id": call_id} if call_id is not None else {}), "function": function}


def shaped(body: bytes, shape: str = "even-ids") -> tuple[bytes, Ids]:
    """What goes on, and the ids that were made up for it."""
    exchange = StreamFacts(path=PATH, content_type="text/event-stream", request={})
    run = Ids()
    line = Session(exchange, Settings(shapes=(shape,)), ids=run.for_response(PATH))
    out = b"".join([*line.feed(body), *line.end()])
    assert line.error is None
    return out, run


def ids(body: bytes) -> list[str | None]:
    """The id of each entry."""
    payloads = (json.loads(block.removeprefix(b"data: ")) for block in body.split(b"\n\n") if block)
    return [payload["choices"][0]["delta"]["tool_calls"][0].get("id") for payload in payloads]


def test_even_ids_lengthen_what_is_shorter() -> None:
    """Made-up ids are as long as the longest before them, and it is known what they stand for."""
    long = "call_0123456789012345678901234567890123456789"
    body = written(entry(0, "call_1"), entry(1, long), entry(2, "call_3"), entry(3, "call_4"), entry(3, None, ""))
    out, made = shaped(body)
    first, second, third, fourth, fifth = ids(out)
    assert (first, second, fifth) == ("call_1", long, None)
    assert third is not None
    assert fourth is not None
    assert third != fourth
    assert len(third) == len(fourth) == len(long)
    assert len(made) == 2
    assert made.own(third, PATH) == Own("call_3", "ping", PATH)
    assert made.own(fourth, PATH) == Own("call_4", "ping", PATH)


def test_even_ids_repeat_what_they_have_given() -> None:
    """Each of a call's entries has the same id, also where a longer one came between them."""
    body = written(
        entry(0, "a", "{"), entry(1, "call_b", "{"), entry(2, "c", "{"), entry(0, "a", "}"), entry(2, "c", "}")
    )
    out, _ = shaped(body)
    found = ids(out)
    assert found[:2] == ["a", "call_b"]
    assert (found[0], found[2]) == (found[3], found[4])


def test_even_ids_leave_what_is_long_enough() -> None:
    """Not a byte changes; empty ids are none, and nothing is as long as an id beyond all measure."""
    even = written(entry(0, "a1"), entry(1, "b2"), entry(2, "c33"), entry(3, ""))
    assert shaped(even)[0] == even
    endless = written(entry(0, "x" * 1000), entry(1, "y" * LONGEST_EVEN))
    assert shaped(endless)[0] == endless


def test_an_event_that_lacks_its_end_becomes_several_that_have_one() -> None:
    """All but the last: they would be one event, and no JSON, to a reader."""
    header = {**entry(0, "call_1", '{"a":1}'), "type": "function"}
    out, _ = shaped(written(header).rstrip(), "late-brace")
    events = out.strip().split(b"\n\n")
    assert len(events) == 2
    assert all(json.loads(event.removeprefix(b"data: ")) for event in events)


@pytest.mark.parametrize("shape", ["whole-calls", "sequential"])
def test_unknown_keys_that_contradict_each_other_are_both_kept(shape: str) -> None:
    """Their entries are not joined."""
    header, more = entry(1, "call_2", '{"a":'), entry(1, None, "1}")
    first = entry(0, "call_1", "{")
    body = written(first, {**header, "x": 1}, {**more, "x": 2}, entry(0, None, "}")) + b"data: [DONE]\n\n"
    out, _ = shaped(body, shape)
    assert [out.count(b'"x": %d' % value) + out.count(b'"x":%d' % value) for value in (1, 2)] == [1, 1]
    calls = inspected(out, StreamFacts(path=PATH, content_type="text/event-stream")).calls
    assert calls == [("ping", {}), ("ping", {"a": 1})]
