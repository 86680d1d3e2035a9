"""Names in parts, where arguments come with the first of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import inspected, repaired, sse
from toolstream_core.model import StreamFacts

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

NAME = "structured_output"


def exchange(*tools: str) -> StreamFacts:
    """A request that offers these tools."""
    offered = [{"type": "function", "function": {"name": one, "parameters": {"type": "object"}}} for one in tools]
    request = {"stream": True, "tools": offered}
    return StreamFacts(path="/v1/chat/completions", content_type="text/event-stream", request=request)


def chunk(finish: str | None = None, **entry: Any) -> Payload:
    """A chunk with one entry."""
    delta = {"tool_calls": [{"index": 0, **entry}]} if entry else {}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def stream(parts: list[tuple[str | None, str]]) -> bytes:
    """A call with its names and arguments, part by part."""
    (name, arguments), *rest = parts
    entries = [chunk(id="a", type="function", function={"name": name, "arguments": arguments})]
    for name, arguments in rest:
        entries.append(chunk(function={"arguments": arguments, **({} if name is None else {"name": name})}))
    return sse(*entries, chunk(finish="tool_calls"), "[DONE]")


@pytest.mark.parametrize("at", [1, 2, 10, 16])
@pytest.mark.parametrize("first", ["{", '{"a":', '{"a":1}'])
def test_the_parts_make_an_offered_name(at: int, first: str) -> None:
    """The client gets the call with its name in the first event."""
    body = stream([(NAME[:at], first), (NAME[at:], '{"a":1}'[len(first) :])])
    asked = exchange(NAME, "other")
    assert inspected(body, asked).calls == [(NAME, {"a": 1})]
    went = repaired(body, asked)
    assert "split-name" in went.finding_names
    assert inspected(went.out, asked).finding_names == []
    assert inspected(went.out, asked).calls == [(NAME, {"a": 1})]


def test_three_parts() -> None:
    """The name is complete with the last one."""
    body = stream([("struct", "{"), ("ured_", '"a"'), ("output", ":1}")])
    asked = exchange(NAME)
    assert inspected(body, asked).calls == [(NAME, {"a": 1})]
    assert inspected(repaired(body, asked).out, asked).calls == [(NAME, {"a": 1})]


@pytest.mark.parametrize(
    ("tools", "parts", "name"),
    [
        ((NAME,), [(NAME, "{"), (NAME, '"a":1}')], NAME),
        (("read", "read_file"), [("read", "{"), ("_file", '"a":1}')], "read"),
        ((), [("st", "{"), ("ructured_output", '"a":1}')], "st"),
    ],
    ids=["the name again", "the first part is a tool", "nothing is known of the tools"],
)
def test_other_names_are_not_joined(tools: tuple[str, ...], parts: list[tuple[str, str]], name: str) -> None:
    """Only what the request offers tells a part from a name."""
    body = stream(list(parts))
    assert inspected(body, exchange(*tools)).calls == [(name, {"a": 1})]


def test_a_part_of_a_name_waits_for_no_more_than_the_next_event() -> None:
    """A name that stays a part is forwarded with the event that follows."""
    body = stream([("struct", '{"a"'), (None, ":1"), (None, "}")])
    assert repaired(body, exchange(NAME)).out == body
