"""What a client does with an answer: puts the calls together, runs the tools, asks again. Knows no connection."""

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
"""What a tool gives that was called with all it needs."""
_BLOCKS = re.compile(r"(?:\r\n){2,}|\n{2,}|\r{2,}")
_LINES = re.compile(r"\r\n|\n|\r")


class CrashError(Exception):
    """The client gives up; the message is what it says then."""


@dataclass(frozen=True, slots=True)
class Call:
    """A call as the client has put it together."""

    id: str | None
    name: str | None
    arguments: str


@dataclass(frozen=True, slots=True)
class Client:
    """One client in one state."""

    name: str
    assemble: Callable[[Sequence[str]], list[Call]]
    """The calls in the data of an answer's events. Raises `CrashError`."""
    run: Callable[[Call, Tools], str]
    """What a call's tool gives. Raises `CrashError`."""
    following: Callable[[Json, Sequence[Call], Sequence[str]], Json]
    """The request after these calls with these results."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """A question, its answer, and what the client made of that."""

    calls: tuple[Call, ...] = ()
    results: tuple[str, ...] = ()
    crash: str | None = None
    following: Json | None = None
    """The second request, where there was one."""
    text: str = ""
    """What the second answer says."""


def converse(client: Client, request: Json, post: Callable[[Json], bytes]) -> Conversation:
    """Ask, run what is called, and ask once more; a client without calls thinks that it is through."""
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
    for one in data:
        if one == "[DONE]":
            break
        found.append(json.loads(one))
    return found


def entries(chunk: Json) -> list[Json]:
    """Chat: what the first choice's delta says of tool calls."""
    choice = (chunk.get("choices") or [{}])[0]
    return choice.get("delta", {}).get("tool_calls") or []


def text(data: Iterable[str]) -> str:
    """What an answer says, in Chat Completions or in Responses."""
    said = ""
    for chunk in chunks(data):
        if chunk.get("type") == "response.output_text.delta":
            said += chunk["delta"]
        for choice in chunk.get("choices", ()):
            said += choice["delta"].get("content") or ""
    return said


def tools(request: Json) -> Tools:
    """What the request offers."""
    functions = [tool.get("function", tool) for tool in request["tools"]]
    return {function["name"]: function["parameters"].get("required", ()) for function in functions}


def missing(arguments: Json, required: Sequence[str]) -> list[str]:
    """The parameters that a call lacks."""
    return [name for name in required if name not in arguments]


def chat_following(request: Json, calls: Sequence[Call], results: Sequence[str]) -> Json:
    """Chat Completions: the calls as one message, each result as one more."""
    return in_chat(request, calls, results, [call.arguments for call in calls])


def in_chat(request: Json, calls: Sequence[Call], results: Sequence[str], arguments: Sequence[Any]) -> Json:
    """The same with arguments in the client's own form."""
    said = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": given}}
        for call, given in zip(calls, arguments, strict=True)
    ]
    gave = [
        {"role": "tool", "tool_call_id": call.id, "content": result}
        for call, result in zip(calls, results, strict=True)
    ]
    return {**request, "messages": [*request["messages"], {"role": "assistant", "tool_calls": said}, *gave]}
