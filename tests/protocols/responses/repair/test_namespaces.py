"""Calls of tools that a request offers in a namespace."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.invariants.driven import inspected, repaired, sse
from tests.protocols.responses.events import CREATED, call, completed, item, numbered
from toolstream_core.model import StreamFacts


def request(*tools: tuple[str, str]) -> StreamFacts:
    """A request that offers tools, each with its namespace."""
    offered: list[dict[str, Any]] = []
    for name, namespace in tools:
        tool = {"type": "function", "name": name}
        offered.append({"type": "namespace", "name": namespace, "tools": [tool]} if namespace else tool)
    return StreamFacts(path="/v1/responses", content_type="text/event-stream", request={"tools": offered})


def response(name: str, **fields: Any) -> bytes:
    """A call of a tool."""
    events = [{**one, "item": {**one["item"], "name": name, **fields}} if "item" in one else one for one in call("{}")]
    return sse(*numbered(0, CREATED, *events, completed(item("{}", name=name, **fields))))


def items(body: bytes) -> list[tuple[str, str]]:
    """Namespace and name in every item."""
    events = [json.loads(line[6:]) for line in body.splitlines() if line.startswith(b"data:")]
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
def test_the_only_tool_that_fits_is_named(namespace: str, sent: str) -> None:
    """In all items, with its namespace."""
    exchange = request(("search", namespace), ("fetch", namespace), ("ask", ""))
    assert inspected(response(sent), exchange).finding_names == ["missing-namespace"]
    went = repaired(response(sent), exchange).out
    assert items(went) == [(namespace, "search")] * 3
    assert inspected(went, exchange).finding_names == []


def test_an_item_that_is_added_late_names_its_tool() -> None:
    """Also if the name has the namespace."""
    exchange = request(("search", "mcp__docs"))
    head, _, *rest = response("mcp__docs.search").split(b"\n\n")
    went = repaired(b"\n\n".join([head, *rest]), exchange).out
    assert items(went) == [("mcp__docs", "search")] * 3
    assert inspected(went, exchange).finding_names == []


@pytest.mark.parametrize("sent", ["search", "b__c.search"])
def test_a_call_that_fits_several_tools_is_forwarded(sent: str) -> None:
    """Nothing tells which one the model meant."""
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
def test_a_call_that_names_its_tool_is_forwarded(name: str, fields: dict[str, str], names: list[str]) -> None:
    """So is one of a tool outside of any namespace, and one of a tool that nobody offers."""
    exchange = request(("search", "mcp__docs"), ("ask", "mcp__docs"), ("ask", ""))
    assert inspected(response(name, **fields), exchange).finding_names == names
    assert repaired(response(name, **fields), exchange).out == response(name, **fields)


def test_a_tool_is_no_namespace_of_its_own() -> None:
    """It is offered outside of any (openai/codex#31665). What may have been offered before is left."""
    exchange = request(("search", ""), ("fetch", "mcp__docs"))
    assert inspected(response("search", namespace="search"), exchange).finding_names == ["missing-namespace"]
    went = repaired(response("search", namespace="search"), exchange).out
    assert b"namespace" not in went
    assert items(went) == [("", "search")] * 3
    for name, namespace in (("search", "mcp__docs"), ("search", "mcp__web"), ("unknown", "unknown")):
        assert repaired(response(name, namespace=namespace), exchange).out == response(name, namespace=namespace)


def test_a_namespace_that_comes_once_is_in_every_item() -> None:
    """A client that reads the item when it is complete lacks the namespace of the event that adds it."""
    events = [dict(one) for one in call("{}")]
    events[0] = {**events[0], "item": {**events[0]["item"], "namespace": "mcp__docs"}}
    body = sse(*numbered(0, CREATED, *events, completed(item("{}"))))
    assert items(repaired(body, request(("f", "mcp__docs"))).out) == [("mcp__docs", "f")] * 3
