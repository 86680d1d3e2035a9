"""Names in parts, with arguments in the first part's event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.invariants.driven import inspected, repaired, sse
from toolstream_core.model import StreamFacts

if TYPE_CHECKING:
    from tests.invariants.driven import Payload

NAME = "structured_output"


def exchange(*tools: str) -> StreamFacts:
    """Return the facts of a request with these tools."""
    offered = [{"type": "function", "function": {"name": one, "parameters": {"type": "object"}}} for one in tools]
    request = {"stream": True, "tools": offered}
    return StreamFacts(path="/v1/chat/completions", content_type="text/event-stream", request=request)


def chunk(finish: str | None = None, **entry: Any) -> Payload:
    """Return a chunk with one entry."""
    delta = {"tool_calls": [{"index": 0, **entry}]} if entry else {}
    return {
        "id": "c",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
    }


def stream(parts: list[tuple[str | None, str]]) -> bytes:
    """Return a call with its names and arguments in parts."""
    (name, arguments), *rest = parts
    entries = [chunk(id="a", type="function", function={"name": name, "arguments": arguments})]
    for name, arguments in rest:
        entries.append(chunk(function={"arguments": arguments, **({} if name is None else {"name": name})}))
    return sse(*entries, chunk(finish="tool_calls"), "[DONE]")


@pytest.mark.parametrize("at", [1, 2, 10, 16])
@pytest.mark.parametrize("first", ["{", '{"a":', '{"a":1}'])
def test_parts_of_an_offered_name_are_joined(at: int, first: str) -> None:
    """Two parts of an offered tool's name are joined, and sent with the first event."""
    body = stream([(NAME[:at], first), (NAME[at:], '{"a":1}'[len(first) :])])
    facts = exchange(NAME, "other")
    assert inspected(body, facts).calls == [(NAME, {"a": 1})]
    outcome = repaired(body, facts)
    assert "split-name" in outcome.finding_names
    assert inspected(outcome.out, facts).finding_names == []
    assert inspected(outcome.out, facts).calls == [(NAME, {"a": 1})]


def test_three_parts_are_joined() -> None:
    """Three parts of an offered tool's name are joined."""
    body = stream([("struct", "{"), ("ured_", '"a"'), ("output", ":1}")])
    facts = exchange(NAME)
    assert inspected(body, facts).calls == [(NAME, {"a": 1})]
    assert inspected(repaired(body, facts).out, facts).calls == [(NAME, {"a": 1})]


@pytest.mark.parametrize(
    ("tools", "parts", "name"),
    [
        ((NAME,), [(NAME, "{"), (NAME, '"a":1}')], NAME),
        (("read", "read_file"), [("read", "{"), ("_file", '"a":1}')], "read"),
        ((), [("st", "{"), ("ructured_output", '"a":1}')], "st"),
    ],
    ids=["the name again", "the first part is a tool", "unknown tools"],
)
def test_other_names_are_not_joined(tools: tuple[str, ...], parts: list[tuple[str, str]], name: str) -> None:
    """Names are not joined if the first is a tool, or if the tools are unknown."""
    body = stream(list(parts))
    assert inspected(body, exchange(*tools)).calls == [(name, {"a": 1})]


def test_a_part_of_a_name_is_held_until_the_next_event() -> None:
    """A part of a name without a second part is forwarded with the next event."""
    body = stream([("struct", '{"a"'), (None, ":1"), (None, "}")])
    assert repaired(body, exchange(NAME)).out == body
