"""What a request offers, in any protocol: the tools by name and the model. Evidence for reading its answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json

_SCHEMAS = ("parameters", "input_schema", "parametersJsonSchema", "parameters_json_schema")


def schemas(request: Json) -> dict[str, Json]:
    """The JSON schema of the parameters of each tool, by the tool's name."""
    return dict(_declared(request))


def model_in_body(request: Json) -> str | None:
    """The model that a request's body names, or `None` (Gemini names it in the path)."""
    asked = json_access.get(request, "model")
    return asked if asked and isinstance(asked, str) else None


def custom_tools(request: Json) -> frozenset[str]:
    """The names of the tools that take text of any form (Responses `custom`), and are no functions too."""
    found: dict[bool, set[str]] = {True: set(), False: set()}
    for tool in json_access.items(json_access.get(request, "tools")):
        name = json_access.get(tool, "name")
        if name and isinstance(name, str):
            found[json_access.get(tool, "type") == "custom"].add(name)
    return frozenset(found[True] - found[False])


def earlier_ids(request: Json) -> frozenset[str]:
    """The ids of the calls in the conversation so far."""
    found: set[str] = set()
    for key in ("messages", "input", "contents"):
        for message in json_access.items(json_access.get(request, key)):
            entries = [message]
            for inner in ("tool_calls", "content", "parts"):
                entries.extend(json_access.items(json_access.get(message, inner)))
            for entry in entries:
                ids = (
                    json_access.get(entry, "id"),
                    json_access.get(entry, "call_id"),
                    json_access.get(entry, "functionCall", "id"),
                )
                found.update(one for one in ids if one and isinstance(one, str))
    return frozenset(found)


def _declared(request: Json) -> Iterator[tuple[str, Json]]:
    for key in ("tools", "functions"):
        for tool in json_access.items(json_access.get(request, key)):
            yield from _tool(tool)


def _tool(tool: Json) -> Iterator[tuple[str, Json]]:
    if not isinstance(tool, dict):
        return
    for key in ("functionDeclarations", "function_declarations"):
        for declared in json_access.items(tool.get(key)):
            yield from _tool(declared)
    inner = tool["function"] if isinstance(tool.get("function"), dict) else tool
    name = inner.get("name")
    if isinstance(name, str) and name:
        yield name, next((inner[key] for key in _SCHEMAS if key in inner), None)
