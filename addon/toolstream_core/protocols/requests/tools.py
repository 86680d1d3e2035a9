"""The tools and the model of a request, in any protocol."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from toolstream_core.calls import Parameters
from toolstream_core.model import ABSENT, Json
from toolstream_core.wire import json_access

_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")
_RUN_BY_CLIENT: Final = (ABSENT, None, "function", "custom")
"""Types of the tools that the client defines; all others are the provider's own."""
_BRINGS_TOOLS: Final = ("additional_tools", "tool_search_output")
"""Types of the items of a Responses request that contain tools."""

_FURTHER: Final = (
    *("previous_response_id", "previous_interaction_id", "conversation", "prompt"),
    *("cachedContent", "cached_content", "mcp_servers"),
)
"""Keys of a request that refer to stored content, perhaps to further tools."""


class OfferedTool(NamedTuple):
    """A tool that the client runs."""

    name: str
    schema: Json
    """The schema of its parameters; `None` if there is none."""
    custom: bool = False
    """Whether it takes text of any form."""
    namespace: str = ""
    """The namespace in which it is offered (Responses), which its calls name; `""` without one."""
    description: str = ""


class ToolChoice(NamedTuple):
    """The calls that a request allows."""

    names: frozenset[str] | None = None
    """The tools that may be called; `None`: all offered ones."""
    single: bool = False
    """Whether the response may make one call at most."""


def unwrapped(request: Json) -> Json:
    """The request of the Gemini API: Code Assist, which gemini-cli uses, puts it into `request`, beside the model."""
    inner = json_access.get(request, "request")
    return inner if json_access.get(inner, "contents") is not ABSENT else request


def offered(request: Json) -> list[OfferedTool]:
    """The tools that the client runs and that are loaded, in their order."""
    found: list[OfferedTool] = []
    for tool, namespace in _defined(request):
        kind = json_access.get(tool, "type")
        if kind in _RUN_BY_CLIENT and json_access.get(tool, "defer_loading") is not True:
            custom = kind == "custom" and not any(key in tool for key in _SCHEMAS)
            found += [OfferedTool(one.name, one.schema, custom, namespace, one.description) for one in _tool(tool)]
    return found


def tool_choice(request: Json) -> ToolChoice:
    """The calls that `tool_choice` and `parallel_tool_calls` allow."""
    choice = json_access.get(request, "tool_choice")
    one_by_one = json_access.get(request, "parallel_tool_calls") is False
    return ToolChoice(_chosen(choice), one_by_one or json_access.get(choice, "disable_parallel_tool_use") is True)


def forced_tool(request: Json) -> str:
    """The name of the tool that `tool_choice` forces the model to call; `""` for none."""
    choice = json_access.get(request, "tool_choice")
    return _name_in(choice) if isinstance(choice, dict) and choice.get("type") != "allowed_tools" else ""


def _chosen(choice: Json) -> frozenset[str] | None:
    kind = choice if isinstance(choice, str) else json_access.get(choice, "type")
    if isinstance(kind, str) and kind.lower() == "none":
        return frozenset()
    allowed = choice if kind != "allowed_tools" else json_access.get(choice, "allowed_tools") or choice
    entries = json_access.items(json_access.get(allowed, "tools")) if kind == "allowed_tools" else [choice]
    return frozenset(filter(None, map(_name_in, entries))) or None


def _name_in(entry: Json) -> str:
    paths = (("function", "name"), ("custom", "name"), ("name",))
    names = (json_access.get(entry, *path) for path in paths)
    return next((name for name in names if name and isinstance(name, str)), "")


def schemas(request: Json) -> dict[str, Json]:
    """The JSON schema of the parameters of each tool, by the tool's name."""
    return {tool.name: tool.schema for tool in _declared(request)}


def parameters(schemas: Mapping[str, Json]) -> dict[str, Parameters]:
    """The parameters of each tool of `schemas`, by the tool's name."""
    return {name: Parameters.of(schema, name) for name, schema in schemas.items()}


def lists_all(request: Json) -> bool:
    """Whether a call can name no other tool than those of the request: the provider's own tools have other names."""
    own = unwrapped(request)
    further = any(json_access.get(own, key) not in (ABSENT, None) for key in _FURTHER)
    return not further and all(json_access.get(tool, "type") in _RUN_BY_CLIENT for tool, _ in _defined(request))


def model_in_body(request: Json) -> str | None:
    """The model that a request's body names, or `None` (Gemini names it in the path)."""
    model = json_access.get(request, "model")
    return model if model and isinstance(model, str) else None


def custom_tools(request: Json) -> frozenset[str]:
    """The names of the tools that take text of any form (Responses `custom`), and are no functions too."""
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for tool, _ in _defined(request):
        name = json_access.get(tool, "name")
        if name and isinstance(name, str):
            found[json_access.get(tool, "type") == "custom"].add(name)
    return frozenset(found[True] - found[False])


def namespaces(request: Json) -> dict[str, frozenset[str]]:
    """The namespaces in which the tools of each name are offered; `""` outside of any.

    OpenAI's calls of a deferred tool outside of a namespace have the tool's name as namespace.
    """
    found: dict[str, set[str]] = {}
    for tool, namespace in _defined(request):
        deferred = json_access.get(tool, "defer_loading") is True
        for one in _tool(tool):
            found.setdefault(one.name, set()).update((namespace, one.name) if deferred else (namespace,))
    return {name: frozenset(those) for name, those in found.items()}


def in_namespaces(offered: Mapping[str, Collection[str]], name: str, own: str = "") -> list[tuple[str, str]]:
    """The tools that a call may mean, each with its namespace, unless it names an offered tool exactly.

    `offered`: as `namespaces`; `own`: the namespace that the call names. If it is not offered, an earlier request may
    have offered it, unless it is the name of the tool (openai/codex#31665).
    """
    spaces = offered.get(name, ())
    tools = [(tool, namespace) for tool, those in offered.items() for namespace in those if namespace]
    if own in spaces or any(own == namespace for _, namespace in tools):
        return []
    if own:
        return [(name, namespace) for namespace in spaces] if own == name else []
    return [one for one in tools if name == one[0] or _is_joined(name, *one)]


def _is_joined(name: str, tool: str, namespace: str) -> bool:
    """Whether a name is a namespace and a tool, as Ollama (openai/codex#23186) and gateways send them."""
    between = name.removeprefix(namespace).removesuffix(tool)
    return name == f"{namespace}{between}{tool}" and not any(map(str.isalnum, between))


def _declared(request: Json) -> Iterator[OfferedTool]:
    for tool, _ in _defined(request):
        yield from _tool(tool)
    for tool in json_access.items(json_access.get(request, "functions")):
        yield from _tool(tool)


def _defined(request: Json) -> Iterator[tuple[Json, str]]:
    """Each entry of `tools` and of tools in Responses input, with its namespace.

    `additional_tools` is how Codex offers its tools: https://github.com/openai/codex. A namespace holds functions and
    custom tools: https://developers.openai.com/api/docs/guides/tools-tool-search.
    """
    yield from _flat(json_access.get(unwrapped(request), "tools"), "")
    yield from _flat(json_access.get(request, "toolConfig", "tools"), "")
    for item in json_access.items(json_access.get(request, "input")):
        if json_access.get(item, "type") in _BRINGS_TOOLS:
            yield from _flat(json_access.get(item, "tools"), "")


def _flat(entries: Json, namespace: str) -> Iterator[tuple[Json, str]]:
    for entry in json_access.items(entries):
        if json_access.get(entry, "type") != "namespace":
            yield entry, namespace
        elif not namespace:
            name = json_access.get(entry, "name")
            yield from _flat(json_access.get(entry, "tools"), name if isinstance(name, str) else "")


def _tool(tool: Json) -> Iterator[OfferedTool]:
    if not isinstance(tool, dict):
        return
    for key in ("functionDeclarations", "function_declarations"):
        for declared in json_access.items(tool.get(key)):
            yield from _tool(declared)
    inner = next((tool[key] for key in ("function", "custom", "toolSpec") if isinstance(tool.get(key), dict)), tool)
    name = inner.get("name")
    if isinstance(name, str) and name:
        spec = json_access.get(inner, "inputSchema", "json")
        schema = next((inner[key] for key in _SCHEMAS if key in inner), spec if isinstance(spec, dict) else None)
        description = inner.get("description")
        yield OfferedTool(name, schema, description=description if isinstance(description, str) else "")
