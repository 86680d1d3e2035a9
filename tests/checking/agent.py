"""A client of Chat Completions with two tools, on the standard library: `agent.py WAY`, where WAY is how it reads.

`right` keys by index, and retries if a response is incomplete. `by-id` starts a new call for every id. `crash` exits if
an id is empty. `complete` exits if an entry has no name. `incomplete` also runs incomplete calls. `twice` runs each
call two times. `endless` retries each response. `non-streaming` sends requests without `stream`. `from-id` opens calls
only at ids. `closing` closes a call when the next one opens. `text` reads no calls of an event with content.
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


class IncompleteResponseError(Exception):
    """No call of the response may run."""


def send(messages: list[dict[str, Any]], *, stream: bool = True) -> tuple[bytes, dict[str, Any], str]:
    """The bytes of the response until its end or a disconnect, the request, and the error of a disconnect."""
    url = urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(url.netloc, timeout=20)
    request = {"model": "m", "messages": messages, "tools": TOOLS, "stream": stream}
    headers = {"content-type": "application/json"}
    connection.request("POST", f"{url.path}/chat/completions", json.dumps(request), headers)
    response = connection.getresponse()
    if response.status >= 400:
        raise IncompleteResponseError(response.status)
    data, error_text = b"", ""
    with contextlib.closing(connection):
        try:
            while chunk := response.read1(65536):
                data += chunk
        except (http.client.HTTPException, OSError) as error:
            error_text = str(error) or "broken"
    return data, request, error_text


def read_right(data: bytes, request: dict[str, Any], error_text: str) -> list[dict[str, Any]]:
    """The calls of a complete response."""
    calls = read_any(data, request, error_text)
    if error_text or b'"finish_reason":"' not in data or not all(is_complete(call) for call in calls):
        raise IncompleteResponseError(error_text)
    return calls


def is_complete(call: dict[str, Any]) -> bool:
    """Whether the arguments are a JSON object."""
    try:
        return isinstance(json.loads(call["function"]["arguments"] or "{}"), dict)
    except ValueError:
        return False


def entries(data: bytes) -> list[dict[str, Any]]:
    """The entries of all events that can be read."""
    return [entry for delta in deltas(data) for entry in delta.get("tool_calls") or []]


def deltas(data: bytes) -> list[dict[str, Any]]:
    """The deltas of all events that can be read."""
    found: list[dict[str, Any]] = []
    for line in data.decode(errors="replace").splitlines():
        with contextlib.suppress(ValueError, AttributeError, LookupError, TypeError):
            found.append(dict(json.loads(line.removeprefix("data:"))["choices"][0]["delta"]))
    return found


def read_any(data: bytes, request: dict[str, Any], error_text: str) -> list[dict[str, Any]]:
    """The calls by index, also of an incomplete response."""
    del request, error_text
    calls: dict[Any, dict[str, Any]] = {}
    for one in entries(data):
        call = calls.setdefault(one.get("index"), entry("", "", ""))
        function = one.get("function") or {}
        call["id"] = one.get("id") or call["id"]
        call["function"]["name"] = function.get("name") or call["function"]["name"]
        call["function"]["arguments"] += function.get("arguments") or ""
    return list(calls.values())


def read_by_id(data: bytes, request: dict[str, Any], error_text: str) -> list[dict[str, Any]]:
    """The calls, with a new one for every id."""
    del request, error_text
    calls: list[dict[str, Any]] = []
    for one in entries(data):
        function = one.get("function") or {}
        if "id" in one or not calls:
            calls.append(entry(one.get("id"), function.get("name") or "", ""))
        calls[-1]["function"]["arguments"] += function.get("arguments") or ""
    return calls


def read_from_id(data: bytes, request: dict[str, Any], error_text: str) -> list[dict[str, Any]]:
    """The calls by id, without the entries before the first id."""
    del request, error_text
    calls: list[dict[str, Any]] = []
    for one in entries(data):
        function = one.get("function") or {}
        if one.get("id"):
            calls.append(entry(one["id"], function.get("name") or "", ""))
        if calls:
            calls[-1]["function"]["arguments"] += function.get("arguments") or ""
    return calls


def read_closing(data: bytes, request: dict[str, Any], error_text: str) -> list[dict[str, Any]]:
    """The calls by index, where each call that opens closes the ones before."""
    del request, error_text
    calls: dict[Any, dict[str, Any]] = {}
    for one in entries(data):
        function, index = one.get("function") or {}, one.get("index")
        call = calls.setdefault(index, entry(one.get("id"), function.get("name") or "", ""))
        if call is list(calls.values())[-1]:
            call["function"]["arguments"] += function.get("arguments") or ""
    return list(calls.values())


def read_text(data: bytes, request: dict[str, Any], error_text: str) -> list[dict[str, Any]]:
    """The calls of the events without content."""
    events = [{"choices": [{"delta": delta}]} for delta in deltas(data) if delta.get("content") is None]
    return read_any("\n".join(map(json.dumps, events)).encode(), request, error_text)


def read_or_crash(data: bytes, request: dict[str, Any], error_text: str) -> list[dict[str, Any]]:
    """Exits if an id is empty."""
    if any(one.get("id") == "" for one in entries(data)):
        sys.exit(3)
    return read_any(data, request, error_text)


def read_complete(data: bytes, request: dict[str, Any], error_text: str) -> list[dict[str, Any]]:
    """The calls, with one for each entry. Raises an error if an entry has no name."""
    del request, error_text
    return [entry(one["id"], one["function"]["name"], one["function"]["arguments"]) for one in entries(data)]


def entry(identity: Any, name: str, arguments: str) -> dict[str, Any]:
    """A call as in a request."""
    return {"id": identity, "type": "function", "function": {"name": name, "arguments": arguments}}


def next_calls(way: str, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls of the next response."""
    if way == "non-streaming":
        data, _, _ = send(messages, stream=False)
        return json.loads(data)["choices"][0]["message"].get("tool_calls") or []
    readers = {
        "right": read_right,
        "by-id": read_by_id,
        "crash": read_or_crash,
        "complete": read_complete,
        "from-id": read_from_id,
        "closing": read_closing,
        "text": read_text,
    }
    read = readers.get(way, read_any)
    for last in [False] * (TRIES - 1) + [True]:
        try:
            return read(*send(messages))
        except IncompleteResponseError:
            if last:
                raise
    return []


def main(way: str) -> None:
    """Send requests until a response has no call."""
    messages = list(MESSAGES)
    if runs := os.environ.get("RUNS"):
        with Path(runs).open("a") as file:
            file.write("x")
    for _ in range(ENDLESS if way == "endless" else 0):
        send(messages)
    while calls := next_calls(way, messages):
        made = [*calls, *(calls if way == "twice" else ())]
        results = [
            {"role": "tool", "tool_call_id": call["id"], "content": os.environ.get("RESULT", "mild")} for call in made
        ]
        messages += [{"role": "assistant", "content": None, "tool_calls": made}, *results]
        sys.stdout.write(f"ran {', '.join(call['function']['name'] for call in made)}\n")


if __name__ == "__main__":
    main(sys.argv[1])
