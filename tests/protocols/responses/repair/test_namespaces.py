"""Calls of tools in namespaces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tests.invariants.driven import inspected, payloads, repaired, sse
from tests.protocols.responses.events import CREATED, call, completed, item, numbered
from toolstream_core.model import StreamFacts


def request(*tools: tuple[str, str]) -> StreamFacts:
    """Return the facts of a request with tools, each with its namespace."""
    offered: list[dict[str, Any]] = []
    for name, namespace in tools:
        tool = {"type": "function", "name": name}
        offered.append({"type": "namespace", "name": namespace, "tools": [tool]} if namespace else tool)
    return StreamFacts(path="/v1/responses", content_type="text/event-stream", request={"tools": offered})


def response(name: str, **fields: Any) -> bytes:
    """Return a stream with a call of a tool."""
    events = [{**one, "item": {**one["item"], "name": name, **fields}} if "item" in one else one for one in call("{}")]
    return sse(*numbered(0, CREATED, *events, completed(item("{}", name=name, **fields))))


def items(body: bytes) -> list[tuple[str, str]]:
    """Return namespace and name of every item."""
    events = payloads(body)
    found = [one["item"] for one in events if "item" in one] + events[-1]["response"]["output"]
    return [(one.get("namespace", ""), one["name"]) for one in found]


@pytest.mark.parametrize(
    ("namespace", "sent"),
    [
        ("mcp__docs", "search"),
        ("mcp__docs", "mcp__docs.search"),
        ("mcp__docs", "mcp__docs__search"),
        ("mcp__docs__", "mcp__docs__search"),
        ("mcp__docs__", "mcp__docs__.search"),
        ("mcp__docs", "mcp__docs-search"),
    ],
)
def test_the_only_matching_tool_is_named(namespace: str, sent: str) -> None:
    """All items get the name and namespace of the only matching tool."""
    exchange = request(("search", namespace), ("fetch", namespace), ("ask", ""))
    assert inspected(response(sent), exchange).finding_names == ["missing-namespace"]
    out = repaired(response(sent), exchange).out
    assert items(out) == [(namespace, "search")] * 3
    assert inspected(out, exchange).finding_names == []


def test_an_added_item_names_its_tool() -> None:
    """An item whose `added` event is missing is added with name and namespace of its tool."""
    exchange = request(("search", "mcp__docs"))
    head, _, *rest = response("mcp__docs.search").split(b"\n\n")
    out = repaired(b"\n\n".join([head, *rest]), exchange).out
    assert items(out) == [("mcp__docs", "search")] * 3
    assert inspected(out, exchange).finding_names == []


@pytest.mark.parametrize("sent", ["search", "b__c.search"])
def test_a_call_with_several_matching_tools_is_unchanged(sent: str) -> None:
    """A call that matches several tools is reported and forwarded unchanged."""
    exchange = request(("search", "a"), ("search", "b__c"), ("c.search", "b"))
    assert inspected(response(sent), exchange).finding_names == ["missing-namespace"]
    assert repaired(response(sent), exchange).out == response(sent)


@pytest.mark.parametrize(
    ("name", "fields", "names"),
    [
        ("search", {"namespace": "mcp__docs"}, []),
        ("ask", {}, []),
        ("unknown", {}, ["unknown-tool"]),
        ("mcp__other.search", {}, ["unknown-tool"]),
    ],
)
def test_a_call_with_a_namespace_is_unchanged(name: str, fields: dict[str, str], names: list[str]) -> None:
    """A call with a namespace, of a tool without a namespace, or of an unknown tool is forwarded unchanged."""
    exchange = request(("search", "mcp__docs"), ("ask", "mcp__docs"), ("ask", ""))
    assert inspected(response(name, **fields), exchange).finding_names == names
    assert repaired(response(name, **fields), exchange).out == response(name, **fields)


def test_a_namespace_equal_to_the_tool_is_removed() -> None:
    """The tool's own name as namespace is removed (openai/codex#31665); a possibly valid namespace is kept."""
    exchange = request(("search", ""), ("fetch", "mcp__docs"))
    assert inspected(response("search", namespace="search"), exchange).finding_names == ["missing-namespace"]
    out = repaired(response("search", namespace="search"), exchange).out
    assert b"namespace" not in out
    assert items(out) == [("", "search")] * 3
    for name, namespace in (("search", "mcp__docs"), ("search", "mcp__web"), ("unknown", "unknown")):
        assert repaired(response(name, namespace=namespace), exchange).out == response(name, namespace=namespace)


@pytest.mark.parametrize("fields", [{"namespace": "search"}, {}])
def test_a_deferred_tool_may_be_its_own_namespace(fields: dict[str, str]) -> None:
    """OpenAI's calls of a tool that its tool search loaded (pydantic/pydantic-ai, test_tool_search cassettes)."""
    tools = [{"type": "tool_search"}, {"type": "function", "name": "search", "defer_loading": True}]
    exchange = replace(request(), request={"tools": tools})
    assert inspected(response("search", **fields), exchange).finding_names == []
    assert repaired(response("search", **fields), exchange).out == response("search", **fields)


def test_a_namespace_is_added_to_every_item() -> None:
    """A namespace that is only in the `added` event is added to the other items."""
    events = [dict(one) for one in call("{}")]
    events[0] = {**events[0], "item": {**events[0]["item"], "namespace": "mcp__docs"}}
    body = sse(*numbered(0, CREATED, *events, completed(item("{}"))))
    assert items(repaired(body, request(("f", "mcp__docs"))).out) == [("mcp__docs", "f")] * 3
