"""Odd JSON: inserts values that no provider should send."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import random

KEYS: Final = frozenset(
    {
        "arguments", "id", "name", "index", "type", "finish_reason", "delta", "partial_json", "tool_calls", "function",
        "item", "output", "input", "call_id", "item_id", "output_index", "content", "stop_reason", "usage", "message",
        "sequence_number", "choices", "content_block", "response", "status", "parts", "functionCall", "args", "done",
        "finishReason", "candidates", "text", "role", "thinking", "object", "toolUse", "toolUseId", "contentBlockIndex",
        "start", "stopReason",
    }
)  # fmt: skip
"""Keys with meaning in a protocol: they are changed more often than others."""
DEEP: Final = "[" * 60 + "]" * 60
ODD: Final = (
    *("null", "null", '""', '""', '"null"', "true", "false", "0", "1", "2", "-1", "1.5", "1.0", "1e2", "NaN"),
    *("Infinity", "1e400", "-0.12345678901234567890", "123456789012345678901234567890", '"0"', '"x"', '" "', '"é😀"'),
    *('"\\n"', '"\\ud800"', '"\\ude00x"', '"a\x01b"', '"\\u0000"', "[]", "{}", "[null]", "[[]]", '[""]', '{"":null}'),
    *('"{}"', '"\\"{}\\""', '"{"', '"}"', '"\\""', '"{}{}"', '"{\\"a\\":1}"', '"\\"{\\\\\\"a\\\\\\":"', '"<|tool|>"'),
    *('{"a":1}', '"tool_calls"', '"stop"', '"length"', '"tool_use"', '"content_filter"', '{"type":"function"}'),
    *(DEEP, f'{{"a":{DEEP}}}'),
)
"""JSON texts, some of them not valid."""
_PLACE: Final = re.compile(r'"@odd(\d+)@"')


def with_odd_values(payload: Any, dice: random.Random) -> bytes:
    """Return the JSON of `payload` with one or two values changed, renamed, repeated or removed."""
    holder = [payload]
    for _ in range(dice.choice((1, 1, 1, 2))):
        places = list(_places(holder))
        preferred = [place for place in places if place[1] in KEYS]
        container, key = dice.choice(preferred if preferred and dice.random() < 0.7 else places)
        _change(container, key, dice)
    text = json.dumps(holder[0], ensure_ascii=dice.random() < 0.3)
    text = _PLACE.sub(lambda found: ODD[int(found[1])], text)
    return text.encode("utf-8", "surrogatepass") if dice.random() < 0.05 else text.encode("utf-8", "replace")


def _change(container: Any, key: Any, dice: random.Random) -> None:
    choice = dice.random()
    if choice < 0.25:
        del container[key]
    elif choice < 0.3 and isinstance(container[key], str):
        container[key] = [container[key]] if dice.random() < 0.5 else {"value": container[key]}
    elif choice < 0.36 and isinstance(container[key], dict):
        container[key] = json.dumps(container[key])
    elif choice < 0.42 and isinstance(container, list):
        container.insert(0, container[key])
    elif choice < 0.46 and isinstance(container, dict):
        container[str(dice.choice(sorted(KEYS)))] = container.pop(key)
    elif choice < 0.5 and isinstance(container[key], int):
        container[key] += dice.choice((-2, -1, 1, 2, 2**60))
    else:
        container[key] = f"@odd{dice.randrange(len(ODD))}@"
    if isinstance(container, list) and not container:
        container.append(None)


def _places(value: Any) -> Any:
    """Yield each container with each of its keys."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, held in list(inner):
        yield value, key
        yield from _places(held)


NAME: Final = re.compile(rb'"name"\s*:\s*"([^"\\]{1,40})"')


def odd_request(protocol: str, body: bytes, dice: random.Random) -> Any:
    """Return a request with the tools that `body` calls, with or without parameters, and sometimes with odd values."""
    names = sorted({found.decode("utf-8", "replace") for found in NAME.findall(body)})
    tools = [_tool(protocol, name, dice) for name in names]
    request: dict[str, Any] = {"model": "m", "stream": True, "tools": tools, "messages": []}
    if protocol == "bedrock":
        request = {"toolConfig": {"tools": tools}, "messages": []}
    if dice.random() < 0.3:
        try:
            return json.loads(with_odd_values(request, dice))
        except ValueError:
            return None
    return request


def _tool(protocol: str, name: str, dice: random.Random) -> dict[str, Any]:
    schema: dict[str, Any] = dice.choice(
        (
            {"type": "object", "properties": {}},
            {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"type": "object", "properties": {"a": {"type": "string"}}},
        )
    )
    if protocol == "anthropic":
        return {"name": name, "input_schema": schema}
    if protocol == "openai-responses":
        return {"type": "function", "name": name, "parameters": schema}
    if protocol == "bedrock":
        return {"toolSpec": {"name": name, "inputSchema": {"json": schema}}}
    if protocol == "gemini":
        return {"functionDeclarations": [{"name": name, "parameters": schema}]}
    return {"type": "function", "function": {"name": name, "parameters": schema}}
