"""A client of Chat Completions with one tool, on the standard library: `agent.py WAY`, where WAY is how it reads.

`right` joins the fragments of an index and asks again when an answer is not whole; `by-id` takes every id that is there
for a new call; `crash` exits if an id is empty; `complete` exits if an entry has no name; `half` runs whatever came as
arguments; `twice` runs each call two times; `endless` never believes an answer; `whole` asks without a stream.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

TRIES = 3
ENDLESS = 8
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city", "days"],
}
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": SCHEMA}},
    {"type": "function", "function": {"name": "now", "parameters": {"type": "object", "properties": {}}}},
]
MESSAGES: list[dict[str, Any]] = [{"role": "user", "content": "weather?"}]


class BrokenAnswerError(Exception):
    """Nothing of the answer is to be run."""


def ask(messages: list[dict[str, Any]], *, stream: bool = True) -> tuple[bytes, dict[str, Any], str]:
    """The bytes of the answer as far as they came, the request, and how the connection broke."""
    url = urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(url.netloc, timeout=20)
    request = {"model": "m", "messages": messages, "tools": TOOLS, "stream": stream}
    headers = {"content-type": "application/json"}
    connection.request("POST", f"{url.path}/chat/completions", json.dumps(request), headers)
    response = connection.getresponse()
    if response.status >= 400:
        raise BrokenAnswerError(response.status)
    data, broken = b"", ""
    with contextlib.closing(connection):
        try:
            while piece := response.read1(65536):
                data += piece
        except (http.client.HTTPException, OSError) as error:
            broken = str(error) or "broken"
    return data, request, broken


def read_right(data: bytes, request: dict[str, Any], broken: str) -> list[dict[str, Any]]:
    """The calls of an answer that is whole."""
    calls = read_simply(data, request, broken)
    if broken or b'"finish_reason":"' not in data or not all(is_complete(call) for call in calls):
        raise BrokenAnswerError(broken)
    return calls


def is_complete(call: dict[str, Any]) -> bool:
    """Whether the arguments are an object."""
    try:
        return isinstance(json.loads(call["function"]["arguments"] or "{}"), dict)
    except ValueError:
        return False


def entries(data: bytes) -> list[dict[str, Any]]:
    """The entries of all events that can be read."""
    found: list[dict[str, Any]] = []
    for line in data.decode(errors="replace").splitlines():
        with contextlib.suppress(ValueError, AttributeError, LookupError, TypeError):
            found += json.loads(line.removeprefix("data:"))["choices"][0]["delta"].get("tool_calls") or []
    return found


def read_simply(data: bytes, request: dict[str, Any], broken: str) -> list[dict[str, Any]]:
    """The fragments of each index, whatever became of the answer."""
    del request, broken
    calls: dict[Any, dict[str, Any]] = {}
    for one in entries(data):
        call = calls.setdefault(one.get("index"), entry("", "", ""))
        function = one.get("function") or {}
        call["id"] = one.get("id") or call["id"]
        call["function"]["name"] = function.get("name") or call["function"]["name"]
        call["function"]["arguments"] += function.get("arguments") or ""
    return list(calls.values())


def read_by_id(data: bytes, request: dict[str, Any], broken: str) -> list[dict[str, Any]]:
    """Every id that is there begins a call."""
    del request, broken
    calls: list[dict[str, Any]] = []
    for one in entries(data):
        function = one.get("function") or {}
        if "id" in one or not calls:
            calls.append(entry(one.get("id"), function.get("name") or "", ""))
        calls[-1]["function"]["arguments"] += function.get("arguments") or ""
    return calls


def read_or_crash(data: bytes, request: dict[str, Any], broken: str) -> list[dict[str, Any]]:
    """Nothing, if an id is empty."""
    if any(one.get("id") == "" for one in entries(data)):
        sys.exit(3)
    return read_simply(data, request, broken)


def read_complete(data: bytes, request: dict[str, Any], broken: str) -> list[dict[str, Any]]:
    """Each entry is a complete call; none that has no name."""
    del request, broken
    return [entry(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in entries(data)]


def entry(identity: Any, name: str, arguments: str) -> dict[str, Any]:
    """A call as requests say it again."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def once(way: str, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of the next answer."""
    if way == "whole":
        data, _, _ = ask(messages, stream=False)
        return json.loads(data)["choices"][0]["message"].get("tool_calls") or []
    readers = {"right": read_right, "by-id": read_by_id, "crash": read_or_crash, "complete": read_complete}
    read = readers.get(way, read_simply)
    for last in [False] * (TRIES - 1) + [True]:
        try:
            return read(*ask(messages))
        except BrokenAnswerError:
            if last:
                raise
    return []


def main(way: str) -> None:
    """Ask until an answer makes no call."""
    messages = list(MESSAGES)
    if runs := os.environ.get("RUNS"):
        with Path(runs).open("a") as file:
            file.write("x")
    for _ in range(ENDLESS if way == "endless" else 0):
        ask(messages)
    while calls := once(way, messages):
        said = [*calls, *(calls if way == "twice" else ())]
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": os.environ.get("RESULT", "mild")} for call in said
        ]
        messages += [{"role": "assistant", "content": None, "tool_calls": said}, *results]
        sys.stdout.write(f"ran {', '.join(call['function']['name'] for call in said)}\n")


if __name__ == "__main__":
    main(sys.argv[1])
