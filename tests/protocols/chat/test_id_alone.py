"""Entries with only an id, without name and arguments, are not calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import inspected, repaired, sse
from tests.protocols.chat.test_split_names import exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.invariants.driven import Payload

CALL = {"index": 0, "id": "call_o", "type": "function", "function": {"name": "search", "arguments": '{"q":1}'}}
ID_ONLY: dict[str, Payload] = {
    "an id": {"index": 1, "id": "call_p"},
    "a type too": {"index": 1, "id": "call_p", "type": "function"},
    "an empty function": {"index": 1, "id": "call_p", "type": "function", "function": {}},
    "empty fields": {"index": 1, "id": "call_p", "type": "function", "function": {"name": "", "arguments": ""}},
    "null fields": {"index": 1, "id": "call_p", "type": "function", "function": {"name": None, "arguments": None}},
}
EXCHANGE = exchange("search", "other")


def chunk(*entries: Payload, finish: str | None = None, **delta: Any) -> Payload:
    """Return a chunk."""
    content = {**delta, **({"tool_calls": list(entries)} if entries else {})}
    choice = {"index": 0, "delta": content, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


STREAMS: dict[str, Callable[[Payload], tuple[Payload, ...]]] = {
    "with the finish": lambda id_only: (chunk(CALL), chunk(id_only, finish="tool_calls")),
    "before the finish": lambda id_only: (chunk(CALL), chunk(id_only), chunk(finish="tool_calls")),
    "before the call": lambda id_only: (chunk({**id_only, "index": 1}), chunk(CALL), chunk(finish="tool_calls")),
    "in one event": lambda id_only: (chunk(CALL, id_only), chunk(finish="tool_calls")),
}


@pytest.mark.parametrize("id_only", ID_ONLY.values(), ids=ID_ONLY)
@pytest.mark.parametrize("place", STREAMS)
def test_an_entry_with_only_an_id_is_removed(place: str, id_only: Payload) -> None:
    """An entry with only an id is not read as a call, and is removed; the rest of its event is kept."""
    body = sse(*STREAMS[place](id_only), "[DONE]")
    assert inspected(body, EXCHANGE).calls == [("search", {"q": 1})]
    outcome = repaired(body, EXCHANGE)
    assert b"call_p" not in outcome.out
    assert b'"finish_reason":"tool_calls"' in outcome.out
    assert inspected(outcome.out, EXCHANGE).calls == [("search", {"q": 1})]


def test_a_later_name_makes_a_call() -> None:
    """An entry with only an id is held, and is a call if its name follows."""
    named = {"index": 1, "function": {"name": "other", "arguments": "{}"}}
    body = sse(chunk(CALL), chunk(ID_ONLY["an id"]), chunk(named), chunk(finish="tool_calls"), "[DONE]")
    outcome = repaired(body, EXCHANGE)
    assert (
        inspected(body, EXCHANGE).calls
        == inspected(outcome.out, EXCHANGE).calls
        == [("search", {"q": 1}), ("other", {})]
    )
    assert [call.id for call in inspected(outcome.out, EXCHANGE).record.calls] == ["call_o", "call_p"]


def test_an_entry_with_arguments_is_kept() -> None:
    """An entry with an id and arguments but no name is kept."""
    body = sse(chunk({"index": 0, "id": "call_p", "function": {"arguments": '{"q":1}'}}), chunk(finish="tool_calls"))
    assert [call.id for call in inspected(body, EXCHANGE).record.calls] == ["call_p"]
    assert b"call_p" in repaired(body, EXCHANGE).out


def test_the_entry_of_a_truncated_stream_is_kept() -> None:
    """In a truncated stream, an entry with only an id is kept, as its name may be missing."""
    body = sse(chunk(CALL), chunk(ID_ONLY["empty fields"]))
    assert b"call_p" in repaired(body, EXCHANGE).out
