"""Entries that have an id, and never a name or arguments: no call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import inspected, repaired, sse
from tests.protocols.chat.test_split_names import exchange

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.invariants.driven import Payload

CALL = {"index": 0, "id": "call_o", "type": "function", "function": {"name": "search", "arguments": '{"q":1}'}}
ALONE: dict[str, Payload] = {
    "an id": {"index": 1, "id": "call_p"},
    "a type too": {"index": 1, "id": "call_p", "type": "function"},
    "an empty function": {"index": 1, "id": "call_p", "type": "function", "function": {}},
    "empty fields": {"index": 1, "id": "call_p", "type": "function", "function": {"name": "", "arguments": ""}},
    "null fields": {"index": 1, "id": "call_p", "type": "function", "function": {"name": None, "arguments": None}},
}
ASKED = exchange("search", "other")


def chunk(*entries: Payload, finish: str | None = None, **delta: Any) -> Payload:
    """A chunk."""
    said = {**delta, **({"tool_calls": list(entries)} if entries else {})}
    choice = {"index": 0, "delta": said, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}


STREAMS: dict[str, Callable[[Payload], tuple[Payload, ...]]] = {
    "with the finish": lambda alone: (chunk(CALL), chunk(alone, finish="tool_calls")),
    "before the finish": lambda alone: (chunk(CALL), chunk(alone), chunk(finish="tool_calls")),
    "before the call": lambda alone: (chunk({**alone, "index": 1}), chunk(CALL), chunk(finish="tool_calls")),
    "in one event": lambda alone: (chunk(CALL, alone), chunk(finish="tool_calls")),
}


@pytest.mark.parametrize("alone", ALONE.values(), ids=ALONE)
@pytest.mark.parametrize("place", STREAMS)
def test_the_entry_is_removed(place: str, alone: Payload) -> None:
    """One call is read, before the repair and after it; what else the event says is kept."""
    body = sse(*STREAMS[place](alone), "[DONE]")
    assert inspected(body, ASKED).calls == [("search", {"q": 1})]
    went = repaired(body, ASKED)
    assert b"call_p" not in went.out
    assert b'"finish_reason":"tool_calls"' in went.out
    assert inspected(went.out, ASKED).calls == [("search", {"q": 1})]


def test_a_name_that_comes_later_makes_a_call() -> None:
    """The entry waits for it."""
    named = {"index": 1, "function": {"name": "other", "arguments": "{}"}}
    body = sse(chunk(CALL), chunk(ALONE["an id"]), chunk(named), chunk(finish="tool_calls"), "[DONE]")
    went = repaired(body, ASKED)
    assert inspected(body, ASKED).calls == inspected(went.out, ASKED).calls == [("search", {"q": 1}), ("other", {})]
    assert [call.id for call in inspected(went.out, ASKED).record.calls] == ["call_o", "call_p"]


def test_arguments_without_a_name_stay() -> None:
    """Somebody may know whose they are."""
    body = sse(chunk({"index": 0, "id": "call_p", "function": {"arguments": '{"q":1}'}}), chunk(finish="tool_calls"))
    assert [call.id for call in inspected(body, ASKED).record.calls] == ["call_p"]
    assert b"call_p" in repaired(body, ASKED).out


def test_an_entry_whose_stream_is_cut_off_is_kept() -> None:
    """Its name may have been still to come: the client has to see an incomplete call."""
    body = sse(chunk(CALL), chunk(ALONE["empty fields"]))
    assert b"call_p" in repaired(body, ASKED).out
