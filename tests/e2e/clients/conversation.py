"""The loop of a client: assembles the calls of a response, runs the tools, sends the next request. No network."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

type Json = dict[str, Any]
type Tools = Mapping[str | None, Sequence[str]]
"""The required parameters of each tool that the request offers."""

DONE = "done"
"""The result of a tool that got all required arguments."""
_BLOCKS = re.compile(r"(?:\r\n){2,}|\n{2,}|\r{2,}")
_LINES = re.compile(r"\r\n|\n|\r")


class CrashError(Exception):
    """The client crashes with this message."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the client assembled it."""

    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Client:
    """A client in one version."""

    name: str
    assemble: Callable[[Sequence[str]], list[Call]]
    """Returns the calls of a response, from the data of its events. Raises `CrashError`."""
    run: Callable[[Call, Tools], str]
    """Runs the tool of a call and returns its result. Raises `CrashError`."""
    following: Callable[[Json, Sequence[Call], Sequence[str]], Json]
    """Returns the next request, after these calls with these results."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """How the client interpreted the first response, and the rest of the conversation."""

    calls: tuple[Call, ...] = ()
    results: tuple[str, ...] = ()
    crash: str | None = None
    following: Json | None = None
    """The second request, if the client sent one."""
    text: str = ""
    """The text of the second response."""


def converse(client: Client, request: Json, post: Callable[[Json], bytes]) -> Conversation:
    """Send a request, run the called tools, and send the next request. A client without calls stops."""
    offered = tools(request)
    try:
        calls = client.assemble(events(post(request)))
        results = [client.run(call, offered) for call in calls]
    except CrashError as error:
        return Conversation(crash=str(error))
    if not calls:
        return Conversation()
    following = client.following(request, calls, results)
    return Conversation(tuple(calls), tuple(results), None, following, text(events(post(following))))


def events(body: bytes) -> list[str]:
    """The data of each event."""
    found = []
    for block in _BLOCKS.split(body.decode()):
        lines = [line[5:].removeprefix(" ") for line in _LINES.split(block) if line.startswith("data:")]
        if lines:
            found.append("\n".join(lines))
    return found


def chunks(data: Iterable[str]) -> list[Json]:
    """The JSON of each event, up to `[DONE]`."""
    found: list[Json] = []
    for payload in data:
        if payload == "[DONE]":
            break
        found.append(json.loads(payload))
    return found


def entries(chunk: Json) -> list[Json]:
    """Chat: the tool call entries in the delta of the first choice."""
    choice = (chunk.get("choices") or [{}])[0]
    return choice.get("delta", {}).get("tool_calls") or []


def text(data: Iterable[str]) -> str:
    """The text of a response of Chat Completions or Responses."""
    found = ""
    for chunk in chunks(data):
        if chunk.get("type") == "response.output_text.delta":
            found += chunk["delta"]
        for choice in chunk.get("choices", ()):
            found += choice["delta"].get("content") or ""
    return found


def tools(request: Json) -> Tools:
    """The tools that the request offers."""
    functions = [tool.get("function", tool) for tool in request["tools"]]
    return {function["name"]: function["parameters"].get("required", ()) for function in functions}


def missing(arguments: Json, required: Sequence[str]) -> list[str]:
    """The required parameters that the arguments lack."""
    return [name for name in required if name not in arguments]


def chat_following(request: Json, calls: Sequence[Call], results: Sequence[str]) -> Json:
    """Chat Completions: the next request, with one message for the calls and one for each result."""
    return in_chat(request, calls, results, [call.arguments for call in calls])


def in_chat(request: Json, calls: Sequence[Call], results: Sequence[str], arguments: Sequence[Any]) -> Json:
    """The next request of Chat Completions, with these `arguments` in the messages."""
    tool_calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": given}}
        for call, given in zip(calls, arguments, strict=True)
    ]
    tool_results = [
        {"role": "tool", "tool_call_id": call.id, "content": result}
        for call, result in zip(calls, results, strict=True)
    ]
    return {
        **request,
        "messages": [*request["messages"], {"role": "assistant", "tool_calls": tool_calls}, *tool_results],
    }
