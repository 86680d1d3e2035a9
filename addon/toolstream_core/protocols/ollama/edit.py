"""Ollama lines taken apart and put together: the calls of their message."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Fragment, Json

type Payload = dict[str, Any]

_OF_EACH: Final = ("model", "created_at")
"""What every line says."""
_SPOKEN: Final = ("content", "thinking")
"""What a message says before its calls."""


class Entry(NamedTuple):
    """One call of a line: Ollama says each whole."""

    entry: Payload
    call: OpenCall
    fragment: Fragment

    @property
    def name(self) -> str:
        """The name; `""` where the entry has none."""
        name = self.entry["function"].get("name")
        return name if isinstance(name, str) else ""

    @property
    def arguments(self) -> Payload | None:
        """The arguments, where they are an object."""
        arguments = self.entry["function"].get("arguments")
        return arguments if isinstance(arguments, dict) else None

    def with_function(self, **fields: Json) -> Payload:
        """The entry with other fields in its function."""
        return {**self.entry, "function": {**self.entry["function"], **fields}}

    def with_name(self, name: str) -> Payload:
        """The entry with another name."""
        return self.with_function(name=name)

    def with_id(self, identity: str) -> Payload:
        """The entry with another id."""
        return {**self.entry, "id": identity}

    def with_arguments(self, arguments: Json) -> Payload:
        """The entry with other arguments."""
        return self.with_function(arguments=arguments)


def entries(payload: Json, resolved: Sequence[ResolvedFragment]) -> list[Entry]:
    """The calls of a line; none where they are not those that were resolved, or one of them is not an object."""
    found = json_access.items_at(payload, "message", "tool_calls")
    entries = [one for one in found if isinstance(one, dict) and isinstance(one.get("function"), dict)]
    if not len(entries) == len(found) == len(resolved):
        return []
    return [Entry(entry, one.call, one.fragment) for entry, one in zip(entries, resolved, strict=True)]


def with_calls(payload: Json, calls: Sequence[Payload]) -> Payload:
    """The line with other calls; with none it has no such key."""
    message = {key: value for key, value in payload["message"].items() if key != "tool_calls" or calls}
    if calls:
        message["tool_calls"] = list(calls)
    return {**payload, "message": message}


def calls_line(payload: Json, calls: Sequence[Payload]) -> Payload:
    """A line of the same answer that says these calls, and nothing else."""
    role = json_access.get(payload, "message", "role")
    message = {"role": role if isinstance(role, str) else "assistant", "content": "", "tool_calls": list(calls)}
    return {**{key: payload[key] for key in _OF_EACH if key in payload}, "message": message, "done": False}


def done_apart(payload: Payload) -> tuple[Payload, Payload] | None:
    """The line that says done as two: its message, and the rest; `None` where its message says nothing."""
    message = payload.get("message")
    calls = json_access.items_at(payload, "message", "tool_calls")
    if not isinstance(message, dict) or not (calls or any(message.get(key) for key in _SPOKEN)):
        return None
    ahead, rest = out_of_done(payload, calls)
    return with_calls(ahead, calls), rest


def out_of_done(payload: Json, calls: Sequence[Payload]) -> tuple[Payload, Payload]:
    """The line that says done as two: these calls with what stands before them, and the rest."""
    ahead, rest = calls_line(payload, calls), with_calls(payload, [])
    spoken = {key: value for key, value in rest["message"].items() if key in _SPOKEN}
    ahead["message"] = {"role": ahead["message"]["role"], "content": "", **spoken, "tool_calls": list(calls)}
    return ahead, {**rest, "message": {**rest["message"], **dict.fromkeys(spoken, "")}}
