"""Spring AI's `OpenAiChatModel`: https://github.com/spring-projects/spring-ai/issues/6374.

In 2.0.0-RC1 any id that is present starts a call, also an empty one, and an event may have one entry only. 2.0.1 uses
the index, which must be present.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from tests.e2e.clients.conversation import (
    DONE,
    Call,
    Client,
    CrashError,
    Json,
    Tools,
    chat_following,
    chunks,
    entries,
    missing,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

_DECODER = json.JSONDecoder()


def by_id(data: Sequence[str]) -> list[Call]:
    """The calls as 2.0.0-RC1 assembles them."""
    calls: list[Call] = []
    for chunk in chunks(data):
        of_chunk = entries(chunk)
        if calls and len(of_chunk) > 1:
            raise CrashError("no more than one tool call per message currently supported")
        for entry in of_chunk:
            if entry.get("id") is not None or not calls:
                calls.append(_call(entry))
            else:
                calls[-1] = replace(calls[-1], arguments=calls[-1].arguments + _call(entry).arguments)
    return _built(calls)


def by_index(data: Sequence[str]) -> list[Call]:
    """The calls as 2.0.1 assembles them."""
    calls: dict[int, Call] = {}
    for chunk in chunks(data):
        for entry in entries(chunk):
            if entry.get("index") is None:
                raise CrashError("`index` is not set")
            known, more = calls.get(entry["index"]), _call(entry)
            calls[entry["index"]] = _joined(known, more) if known else more
    return _built(list(calls.values()))


def _call(entry: Json) -> Call:
    function = entry.get("function", {})
    return Call(entry.get("id"), function.get("name"), function.get("arguments") or "")


def _joined(known: Call, more: Call) -> Call:
    return Call(known.id or more.id, known.name or more.name, known.arguments + more.arguments)


def _built(calls: list[Call]) -> list[Call]:
    if any(call.id is None or call.name is None for call in calls):
        raise CrashError("No value present")
    return calls


def run(call: Call, tools: Tools) -> str:
    """Run a tool, which is a Java method: missing arguments are null, and text after the first object is ignored."""
    if not call.name:
        raise CrashError("toolName cannot be null or empty")
    if call.name not in tools:
        raise CrashError(f"No ToolCallback found for tool name: {call.name}")
    try:
        values, _ = _DECODER.raw_decode(call.arguments or "{}")
    except ValueError as error:
        raise CrashError(f"Conversion from JSON failed: {call.arguments}") from error
    lacking = missing(values, tools[call.name])
    return f"run with {', '.join(f'{name}=null' for name in lacking)}" if lacking else DONE


RC1 = Client("Spring AI 2.0.0-RC1", by_id, run, chat_following)
FIXED = Client("Spring AI 2.0.1", by_index, run, chat_following)
