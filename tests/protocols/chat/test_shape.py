"""Properties of Chat Completions shapes beyond the invariants of all shapes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.invariants.driven import inspected, payloads
from toolstream_core.engine.session import Session
from toolstream_core.model import StreamFacts
from toolstream_core.protocols.chat.repair.writer import LONGEST_EVEN
from toolstream_core.settings import Settings
from toolstream_core.stages.response_ids import Ids, ProviderId

PATH = "/v1/chat/completions"


def written(*entries: dict[str, Any]) -> bytes:
    """Return an event for each entry."""
    chunks = ({"choices": [{"index": 0, "delta": {"tool_calls": [entry]}}]} for entry in entries)
    return b"".join(b"data: " + json.dumps(chunk).encode() + b"\n\n" for chunk in chunks)


def entry(index: int, call_id: str | None, arguments: str = "{}") -> dict[str, Any]:
    """Return the header of a call, or without an id a continuation."""
    function = {"name": "ping", "arguments": arguments} if call_id is not None else {"arguments": arguments}
    return {"index": index, **({"id": call_id} if call_id is not None else {}), "function": function}


def shaped(body: bytes, shape: str = "even-ids") -> tuple[bytes, Ids]:
    """Return the re-encoded body, and the added ids."""
    exchange = StreamFacts(path=PATH, content_type="text/event-stream", request={})
    added_ids = Ids()
    session = Session(exchange, Settings(shapes=(shape,)), ids=added_ids.for_response(PATH))
    out = b"".join([*session.feed(body), *session.end()])
    assert session.error is None
    return out, added_ids


def ids(body: bytes) -> list[str | None]:
    """Return the id of each entry."""
    return [payload["choices"][0]["delta"]["tool_calls"][0].get("id") for payload in payloads(body)]


def test_even_ids_replace_shorter_ids() -> None:
    """Ids that are shorter than an earlier id are replaced by ids of its length, which are mapped to the originals."""
    long = "call_0123456789012345678901234567890123456789"
    body = written(entry(0, "call_1"), entry(1, long), entry(2, "call_3"), entry(3, "call_4"), entry(3, None, ""))
    out, added_ids = shaped(body)
    first, second, third, fourth, fifth = ids(out)
    assert (first, second, fifth) == ("call_1", long, None)
    assert third is not None
    assert fourth is not None
    assert third != fourth
    assert len(third) == len(fourth) == len(long)
    assert len(added_ids) == 2
    assert added_ids.own(third, PATH) == ProviderId("call_3", "ping", PATH)
    assert added_ids.own(fourth, PATH) == ProviderId("call_4", "ping", PATH)


def test_even_ids_are_the_same_in_all_entries_of_a_call() -> None:
    """All entries of a call have the same id, even if a longer id appears between them."""
    body = written(
        entry(0, "a", "{"), entry(1, "call_b", "{"), entry(2, "c", "{"), entry(0, "a", "}"), entry(2, "c", "}")
    )
    out, _ = shaped(body)
    found = ids(out)
    assert found[:2] == ["a", "call_b"]
    assert (found[0], found[2]) == (found[3], found[4])


def test_even_ids_keep_ids_of_equal_length() -> None:
    """Ids of equal length, empty ids, and ids shorter than an extremely long one are unchanged."""
    even = written(entry(0, "a1"), entry(1, "b2"), entry(2, "c33"), entry(3, ""))
    assert shaped(even)[0] == even
    endless = written(entry(0, "x" * 1000), entry(1, "y" * LONGEST_EVEN))
    assert shaped(endless)[0] == endless


def test_an_unterminated_event_is_split_into_terminated_events() -> None:
    """If a shape splits an unterminated event, the first parts are terminated."""
    header = {**entry(0, "call_1", '{"a":1}'), "type": "function"}
    out, _ = shaped(written(header).rstrip(), "late-brace")
    events = out.strip().split(b"\n\n")
    assert len(events) == 2
    assert all(json.loads(event.removeprefix(b"data: ")) for event in events)


@pytest.mark.parametrize("shape", ["whole-calls", "sequential"])
def test_entries_with_contradicting_unknown_keys_are_not_joined(shape: str) -> None:
    """Entries with different values of an unknown key are not joined, and both values are kept."""
    header, more = entry(1, "call_2", '{"a":'), entry(1, None, "1}")
    first = entry(0, "call_1", "{")
    body = written(first, {**header, "x": 1}, {**more, "x": 2}, entry(0, None, "}")) + b"data: [DONE]\n\n"
    out, _ = shaped(body, shape)
    assert [out.count(b'"x": %d' % value) + out.count(b'"x":%d' % value) for value in (1, 2)] == [1, 1]
    calls = inspected(out, StreamFacts(path=PATH, content_type="text/event-stream")).calls
    assert calls == [("ping", {}), ("ping", {"a": 1})]
