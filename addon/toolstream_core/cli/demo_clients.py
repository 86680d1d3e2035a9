"""The clients of `toolstream demo`, on the standard library: small, as those that people write."""

from __future__ import annotations

import json
import ssl
import urllib.request
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

_TIMEOUT: Final = 60


@dataclass(slots=True)
class Call:
    """A tool call, as far as its fragments were read."""

    id: str | None = None
    name: str = ""
    arguments: str = ""


class Client(NamedTuple):
    """How a client reads a stream, and what it sends next."""

    read: Callable[[Iterable[Any]], list[Call]]
    with_results: Callable[[dict[str, Any], Iterable[Call]], dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Proxy:
    """Where clients find the proxy, and the certificate authority that they trust."""

    url: str
    ca: Path

    def events(self, url: str, request: dict[str, Any]) -> Iterator[Any]:
        """Send a request through the proxy and give the events of its stream."""
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({"https": self.url}),
            urllib.request.HTTPSHandler(context=ssl.create_default_context(cafile=str(self.ca))),
        )
        headers = {"content-type": "application/json", "authorization": "Bearer offline"}
        asked = urllib.request.Request(url, json.dumps(request).encode(), headers)  # noqa: S310 - a saved https URL
        with opener.open(asked, timeout=_TIMEOUT) as response:
            for line in response:
                if line.startswith(b"data:") and (data := line.removeprefix(b"data:").strip()) != b"[DONE]":
                    yield json.loads(data)


def _chat(events: Iterable[Any]) -> list[Call]:
    """Chat Completions: entries of one index are one call."""
    calls: dict[int, Call] = {}
    for entry in _entries(events):
        call = calls.setdefault(entry["index"], Call())
        call.id = call.id or entry.get("id")
        _add(call, entry["function"])
    return list(calls.values())


def _chat_by_id(events: Iterable[Any]) -> list[Call]:
    """The same with a common bug: an id that is present starts a call, even an empty one."""
    calls = [Call()]
    for entry in _entries(events):
        if "id" in entry and entry["id"] != calls[-1].id:
            calls.append(Call(entry["id"]))
        _add(calls[-1], entry["function"])
    return [call for call in calls if call.name]


def _messages(events: Iterable[Any]) -> list[Call]:
    """Anthropic Messages: a content block is one call."""
    calls: dict[int, Call] = {}
    for event in events:
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            calls[event["index"]] = Call(event["content_block"]["id"], event["content_block"]["name"])
        elif event["type"] == "content_block_delta" and event["index"] in calls:
            calls[event["index"]].arguments += event["delta"]["partial_json"]
    return list(calls.values())


def _chat_results(request: dict[str, Any], calls: Iterable[Call]) -> dict[str, Any]:
    listed = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments or "{}"}}
        for call in calls
    ]
    results = [{"role": "tool", "tool_call_id": call["id"], "content": "done"} for call in listed]
    return {**request, "messages": [*request["messages"], {"role": "assistant", "tool_calls": listed}, *results]}


def _messages_results(request: dict[str, Any], calls: Iterable[Call]) -> dict[str, Any]:
    used = [
        {"type": "tool_use", "id": call.id, "name": call.name, "input": json.loads(call.arguments or "{}")}
        for call in calls
    ]
    results = [{"type": "tool_result", "tool_use_id": call["id"], "content": "done"} for call in used]
    turns = [{"role": "assistant", "content": used}, {"role": "user", "content": results}]
    return {**request, "messages": [*request["messages"], *turns]}


def _entries(events: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for event in events:
        for choice in event["choices"]:
            yield from choice["delta"].get("tool_calls") or ()


def _add(call: Call, function: dict[str, Any]) -> None:
    call.name += function.get("name") or ""
    call.arguments += function.get("arguments") or ""


CHAT: Final = Client(_chat, _chat_results)
BY_ID: Final = Client(_chat_by_id, _chat_results)
MESSAGES: Final = Client(_messages, _messages_results)
