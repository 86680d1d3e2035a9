"""The provider's own function calls, in requests whose client has them as calls of custom tools."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from toolstream_core.stages.converted_items import Custom
from toolstream_core.wire import json_access, long_json, numbers
from toolstream_core.wire.write import encoded

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json
    from toolstream_core.stages.converted_items import Functions

# Each item that changes is cut out of the request's bytes and written anew; everything around it stays as it is.

type Item = tuple[int, int, dict[str, Json]]
"""Where an item begins and ends, and what it is."""

_WHITE_SPACE = re.compile(r"[ \t\n\r]*")
_CALL, _OUTPUT = "custom_tool_call", "custom_tool_call_output"


def with_functions(body: bytes, told: Functions, upstream: str) -> bytes:
    """A request's JSON in which these calls and their results are a function's; else byte for byte as it was."""
    if not len(told) or _CALL.encode() not in body:
        return body
    try:
        text = body.decode()
        request = long_json.of_any_length(text)
        items = list(_items(text))
    except (ValueError, RecursionError):
        return body
    previous = _text(json_access.get(request, "previous_response_id"))
    out: list[str] = []
    at = 0
    for begin, end, item in _changed(items, told, upstream, previous):
        out += (text[at:begin], encoded(item).decode())
        at = end
    return "".join((*out, text[at:])).encode() if out else body


def _changed(items: list[Item], told: Functions, upstream: str, previous: str) -> Iterator[Item]:
    """The items that are others for the provider. A result goes the way of its call."""
    functions: set[str] = set()
    others: set[str] = set()
    for begin, end, item in items:
        call_id, kind = _text(item.get("call_id")), item.get("type")
        if kind == _CALL:
            name, text = _text(item.get("name")), _text(item.get("input"))
            arguments = told.arguments(Custom(call_id, name, text), upstream)
            (others if arguments is None else functions).add(call_id)
            if arguments is not None:
                yield begin, end, _function(item, arguments)
        elif kind != _OUTPUT or call_id in others:
            continue
        elif call_id in functions or told.kept(previous, call_id, upstream):
            yield begin, end, {**item, "type": "function_call_output"}


def _function(item: dict[str, Json], arguments: str) -> dict[str, Json]:
    """A custom tool's item as a function call."""
    said = {("arguments" if key == "input" else key): value for key, value in item.items()}
    return {**said, "type": "function_call", "arguments": arguments}


def _items(text: str) -> Iterator[Item]:
    """The objects of the request's `input`, a list. Raises `ValueError` where the text is no JSON object."""
    at = _behind(text, 0, "{")
    while text[at] == '"':
        key, at = numbers.first(text, at)
        at = _behind(text, at, ":")
        if key == "input" and text[at] == "[":
            yield from _elements(text, at)
        at = _next(text, numbers.first(text, at)[1])


def _elements(text: str, at: int) -> Iterator[Item]:
    at = _behind(text, at, "[")
    while text[at] != "]":
        item, end = numbers.first(text, at)
        if isinstance(item, dict):
            yield at, end, item
        at = _next(text, end)


def _behind(text: str, at: int, mark: str) -> int:
    """The place behind a mark that has to come, and behind white space."""
    at = _solid(text, at)
    if text[at : at + 1] != mark:
        raise ValueError(mark)
    return _solid(text, at + 1)


def _next(text: str, at: int) -> int:
    """The place of what comes behind a value: another one, or the end of what holds them."""
    at = _solid(text, at)
    return _solid(text, at + 1) if text[at] == "," else at


def _solid(text: str, at: int) -> int:
    found = _WHITE_SPACE.match(text, at)
    return found.end() if found else at


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""
