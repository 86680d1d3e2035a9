"""Harmless tools: names from the tool lists of agents and MCP servers, each with its class."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest

from toolstream_core.protocols.api import Question, Tool
from toolstream_core.protocols.registry import PROTOCOLS
from toolstream_core.protocols.requests.tools import OfferedTool, ToolChoice, offered
from toolstream_core.synthetic.harmless import is_harmless, may_be_called, words_of

NAMES = [
    tuple(line.split()) for line in Path(__file__).with_name("tool_names.txt").read_text(encoding="utf-8").splitlines()
]


def test_the_class_of_a_name() -> None:
    """Tools with effects and unknown tools are not harmless."""
    assert [name for kind, name in NAMES if is_harmless(OfferedTool(name, {})) is not (kind == "harmless")] == []


def test_the_table_is_large() -> None:
    """No name is in both classes."""
    assert len({name for _, name in NAMES}) == len(NAMES) > 400


@pytest.mark.parametrize("form", ["{0}_and_{1}", "{0}_{1}", "{1}_{0}", "{0}-{1}", "mcp__a__{0}_{1}", "a.{0}_{1}"])
def test_a_word_for_an_effect_decides(form: str) -> None:
    """In any order, with any separator, also in camel case and in capitals."""
    effects = ("delete", "write", "send", "run", "exec", "update", "create", "pay", "kill", "drop")
    names = [form.format(*words) for words in product(("read", "list", "get", "search", "find"), effects)]
    camel = ["".join(word.title() for word in words_of(name)) for name in names]
    forms = (*names, *camel, *map(str.upper, names))
    assert [one for one in forms if is_harmless(OfferedTool(one, {}))] == []


@pytest.mark.parametrize(
    ("name", "harmless"),
    [
        ("Tools-get_weather", True),
        ("Weather_get_weather", True),
        ("Tools_getWeather", True),
        ("list-my_items", True),
        ("List_my_items", True),
        ("Frobnicate_and_get_item", False),
        ("frobnicate-then_get_item", False),
        ("frobnicate_get_item", False),
        ("frobnicate-get-item", False),
        ("Mailer_send_message", False),
        ("Delete-get_item", False),
        ("Files-frobnicate_file", False),
    ],
)
def test_a_plugin_or_class_before_a_name(name: str, harmless: bool) -> None:
    """Semantic Kernel and Griptape write a plugin or class before the name, in another notation."""
    assert is_harmless(OfferedTool(name, {})) is harmless


def test_words_of_a_name() -> None:
    """Names are split in every common notation."""
    for name in (
        "read_my_file",
        "readMyFile",
        "ReadMyFile",
        "read-my-file",
        "READ_MY_FILE",
        "read.my.file",
        "read my file2",
    ):
        assert words_of(name) == ["read", "my", "file"], name
    assert words_of("HTTPGetURL") == ["http", "get", "url"]


@pytest.mark.parametrize(
    ("description", "harmless"),
    [
        ("Reads a file. Never use it to delete or write one.", True),
        ("- Fast content search tool that works with any codebase size\n- Deletes nothing", True),
        ("Get the current weather in a city", True),
        ("Removes and returns the first item of a queue", False),
        ("Get a message and mark it as read", False),
        ("Reads the item, then deletes it.", False),
        ("Search the web for a text", False),
        ("\n\n  Executes a query", False),
    ],
)
def test_a_description_only_excludes(description: str, harmless: bool) -> None:
    """Its first sentence may exclude a tool, and never makes one harmless."""
    assert is_harmless(OfferedTool("get_item", {}, description=description)) is harmless
    assert not is_harmless(OfferedTool("frobnicate", {}, description=description))


@pytest.mark.parametrize(
    ("name", "schema", "harmless"),
    [
        ("city", {"type": "string"}, True),
        ("query", {"type": "string"}, True),
        ("query", {"type": "string", "description": "The SQL query"}, False),
        ("command", {"type": "string"}, False),
        ("url", {"type": "string"}, False),
        ("page", {"type": "string", "format": "uri"}, False),
        ("sqlStatement", {"type": "string"}, False),
    ],
)
def test_required_parameters_only_exclude(name: str, schema: Any, harmless: bool) -> None:
    """A required parameter with code or an address excludes a tool. An optional one is never sent."""
    found = {"type": "object", "properties": {name: schema}}
    assert is_harmless(OfferedTool("get_item", {**found, "required": [name]})) is harmless
    assert is_harmless(OfferedTool("get_item", found))
    assert not is_harmless(OfferedTool("get_item", {}, custom=True))


def test_the_order_of_tools_to_call() -> None:
    """Free arguments first, then none, a path, an id. Names given by the user replace this order."""

    def tool(name: str, *required: str) -> OfferedTool:
        return OfferedTool(name, {"properties": {key: {"type": "string"} for key in required}, "required": [*required]})

    tools = [
        tool("rm", "path"),
        tool("get_issue", "id"),
        tool("read", "path"),
        tool("list_tags"),
        tool("grep", "pattern"),
    ]
    names = [one.name for one in may_be_called(tools, ToolChoice())]
    assert names == ["grep", "list_tags", "read", "get_issue"]
    assert [one.name for one in may_be_called(tools, ToolChoice(), ["rm", "x", "read"])] == ["rm", "read"]
    assert [one.name for one in may_be_called(tools, ToolChoice(frozenset(["rm", "read"])))] == ["read"]


@pytest.mark.parametrize("protocol", PROTOCOLS, ids=[one.name for one in PROTOCOLS])
def test_descriptions_are_read_in_every_protocol(protocol: Any) -> None:
    """Each API has its own form of tools."""
    body = protocol.api.request(
        Question("m", "Hello?", (Tool("get_item", "Deletes it.", {"type": "object"}),), streamed=True)
    )
    assert [one.description for one in offered(body)] == ["Deletes it."]
