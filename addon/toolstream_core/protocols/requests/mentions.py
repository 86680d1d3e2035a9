"""Finds the call ids in a request of any protocol. Knows the forms of requests, not of responses."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.model import Json


class Mention(NamedTuple):
    """One place of a request in which the id of a call belongs."""

    id: str
    call: bool
    """Whether it is the call itself; its result otherwise."""
    name: str
    """The tool's name, of a call."""


def mentions(request: Json) -> Iterator[Mention]:
    """Every call and every result of a conversation, or in a client's message of Realtime, that has an id, in order."""
    for key in ("messages", "input", "contents"):
        for entry in json_access.items(json_access.get(request, key)):
            yield from _of_message(entry)
    yield from _of_message(json_access.get(request, "item"))


def refers_to_kept_calls(request: Json) -> bool:
    """Whether a Responses request may bring results of calls that the server has kept; each item of Realtime may.

    https://platform.openai.com/docs/guides/conversation-state
    """
    if json_access.get(request, "type") == "conversation.item.create":
        return True
    if any(json_access.get(request, key) for key in ("previous_response_id", "conversation")):
        return True
    return any(
        json_access.get(item, "type") == "item_reference"
        for item in json_access.items(json_access.get(request, "input"))
    )


def _of_message(entry: Json) -> Iterator[Mention]:
    """A message, or an input item of Responses."""
    for call in json_access.items(json_access.get(entry, "tool_calls")):
        yield from _call(json_access.get(call, "id"), json_access.get(call, "function", "name"))
    yield from _result(json_access.get(entry, "tool_call_id"))
    yield from _item(entry)
    for key in ("content", "parts"):
        for part in json_access.items(json_access.get(entry, key)):
            yield from _part(part)


def _item(item: Json) -> Iterator[Mention]:
    kind = json_access.get(item, "type")
    if isinstance(kind, str) and kind.endswith("_output"):
        yield from _result(json_access.get(item, "call_id"))
    else:
        yield from _call(json_access.get(item, "call_id"), json_access.get(item, "name"))


def _part(part: Json) -> Iterator[Mention]:
    """A content block of Anthropic, or a part of Gemini."""
    if json_access.get(part, "type") == "tool_use":
        yield from _call(json_access.get(part, "id"), json_access.get(part, "name"))
    yield from _result(json_access.get(part, "tool_use_id"))
    for key in ("functionCall", "function_call"):
        yield from _call(json_access.get(part, key, "id"), json_access.get(part, key, "name"))
    for key in ("functionResponse", "function_response"):
        yield from _result(json_access.get(part, key, "id"))


def _call(identity: Json, name: Json) -> Iterator[Mention]:
    if isinstance(identity, str):
        yield Mention(identity, call=True, name=name if isinstance(name, str) else "")


def _result(identity: Json) -> Iterator[Mention]:
    if isinstance(identity, str):
        yield Mention(identity, call=False, name="")
