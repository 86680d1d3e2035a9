"""The known patterns as short sample streams, each with its intended calls and findings."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from toolstream_core.model import StreamFacts
from toolstream_core.wire.aws_event_stream import CHUNK, MESSAGES, chunk, fresh

FOLDER = Path(__file__).parents[1] / "streams"
PATHS = {
    "realtime": "/v1/realtime",
    "responses": "/v1/responses",
    "anthropic": "/v1/messages",
    "gemini-interactions": "/v1beta/interactions",
    "gemini-live": "/ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent",
    "gemini": "/v1beta/models/m:streamGenerateContent",
    "ollama": "/api/chat",
    "cohere": "/v2/chat",
    "bedrock": "/model/m/converse-stream",
}


class ExpectedCall(NamedTuple):
    """An expected call; incomplete arguments are text."""

    id: str
    name: str
    arguments: object
    state: str = ""
    """`cut`, `guessed`, `server`, or empty."""


@dataclass
class Pattern:
    """A sample stream. Its name is the pattern's slug, with a suffix after a colon for several samples of a pattern."""

    name: str
    protocol: str
    body: bytes = b""
    content_type: str = "text/event-stream"
    source: str = ""
    """The URL of a report."""
    tools: dict[str, bool | str | None] = field(default_factory=dict)
    calls: list[ExpectedCall] = field(default_factory=list)
    findings: list[tuple[str, str, int]] = field(default_factory=list)
    """Name, severity and event number of each expected finding; empty for a valid stream."""

    def __str__(self) -> str:
        """Return a test id."""
        return self.name

    @property
    def exchange(self) -> StreamFacts:
        """Path, content type and request."""
        path = PATHS.get(self.protocol, "/v1/chat/completions")
        request: dict[str, object] = {"tools": [*map(_tool, self.tools.items())]}
        if self.protocol == "bedrock":
            request = {"toolConfig": {"tools": [*map(_tool_spec, self.tools.items())]}}
        return StreamFacts(path=path, content_type=self.content_type, request=request)

    def add_line(self, keyword: str, rest: str) -> None:
        """Add a line of `streams/*.txt` to the sample."""
        match keyword:
            case "=":
                self.calls.append(ExpectedCall(*json.loads(rest)))
            case "!":
                name, severity, event = rest.split()
                self.findings.append((name, severity, int(event)))
            case "FROM":
                self.source = rest
            case "RAW":
                self.body += json.loads(f'"{rest}"').encode()
            case "TOOLS":
                self.tools = json.loads(rest)
            case "BODY" | "ARRAY":
                self.body, self.content_type = rest.replace("\\r\\n", "\r\n").encode(), "application/json"
            case _ if self.protocol in {"gemini-live", "ollama", "realtime"}:
                self.body, self.content_type = self.body + f"{rest}\n".encode(), "application/x-ndjson"
            case _ if self.protocol == "bedrock":
                name, _, payload = rest.partition(" ")
                message = chunk(payload.encode()) if name == CHUNK else fresh(payload.encode(), name)
                self.body, self.content_type = self.body + message.encode(), MESSAGES
            case _:
                self.body += _block(keyword, rest).encode()


def _block(keyword: str, rest: str) -> str:
    """Return the event of a line: T entry of tool_calls, D delta, F finish reason, E event; others are framing."""
    match keyword:
        case "T":
            return _block("D", f'{{"tool_calls":[{rest}]}}')
        case "D":
            return _data(
                f'{{"object":"chat.completion.chunk","choices":[{{"index":0,"delta":{rest},"finish_reason":null}}]}}'
            )
        case "F":
            return _data(
                f'{{"object":"chat.completion.chunk","choices":[{{"index":0,"delta":{{}},"finish_reason":"{rest}"}}]}}'
            )
        case "E":
            payload = json.loads(rest)
            name = payload.get("event_type", payload.get("type"))
            return (f"event: {name}\n" if name else "") + _data(rest)
        case "NAMED":
            name, _, payload = rest.partition(" ")
            return f"event: {name}\n" + _data(payload)
        case "NAMELESS":
            return _data(rest)
        case "COMMENT":
            return f": {rest}\n\n"
        case "DONE":
            return _data("[DONE]")
    raise ValueError(f"unknown keyword: {keyword}")


def _data(payload: str) -> str:
    return f"data: {payload}\n\n"


def _tool(declared: tuple[str, bool | str | None]) -> dict[str, object]:
    """Return a tool: `kind` is whether it has required parameters, its namespace, or `None` for a custom tool."""
    name, kind = declared
    if isinstance(kind, str):
        return {"type": "namespace", "name": kind, "tools": [{"type": "function", "name": name}]}
    if kind is None:
        return {"type": "custom", "name": name}
    return {"function": {"name": name, "parameters": _schema(required=bool(kind))}}


def _tool_spec(declared: tuple[str, bool | str | None]) -> dict[str, object]:
    """Return a tool of a Bedrock request."""
    name, kind = declared
    return {"toolSpec": {"name": name, "inputSchema": {"json": _schema(required=bool(kind))}}}


def patterns() -> list[Pattern]:
    """Return all sample streams."""
    found: list[Pattern] = []
    for path in sorted(FOLDER.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            keyword, _, rest = line.partition(" ")
            if keyword == "##":
                found.append(Pattern(rest, path.stem))
            elif keyword:
                found[-1].add_line(keyword, rest)
    return found


def _schema(*, required: bool) -> dict[str, object]:
    return {"properties": {"x": {}}, "required": ["x"]} if required else {"required": []}
