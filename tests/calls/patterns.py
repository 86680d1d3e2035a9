"""The known patterns as short wire samples, each with the calls that were meant. Knows the framings."""

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


class Meant(NamedTuple):
    """A call that a pattern means; arguments that are not whole are text."""

    id: str
    name: str
    arguments: object
    state: str = ""
    """`cut`, `guessed`, `server`, or nothing of these."""


@dataclass
class Pattern:
    """One sample. Its slug names the pattern; what follows a colon tells samples of one pattern apart."""

    name: str
    protocol: str
    body: bytes = b""
    content_type: str = "text/event-stream"
    source: str = ""
    """The report that shows it."""
    tools: dict[str, bool | str | None] = field(default_factory=dict)
    calls: list[Meant] = field(default_factory=list)
    findings: list[tuple[str, str, int]] = field(default_factory=list)
    """What is told of it: name, severity and event number; nothing where it is valid."""

    def __str__(self) -> str:
        """As a test's id."""
        return self.name

    @property
    def exchange(self) -> StreamFacts:
        """What is known beside the body."""
        path = PATHS.get(self.protocol, "/v1/chat/completions")
        request: dict[str, object] = {"tools": [*map(_tool, self.tools.items())]}
        if self.protocol == "bedrock":
            request = {"toolConfig": {"tools": [*map(_tool_spec, self.tools.items())]}}
        return StreamFacts(path=path, content_type=self.content_type, request=request)

    def take(self, word: str, rest: str) -> None:
        """A line of the sample: the words are those of `streams/*.txt`."""
        match word:
            case "=":
                self.calls.append(Meant(*json.loads(rest)))
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
                self.body += _block(word, rest).encode()


def _block(word: str, rest: str) -> str:
    """T: an entry of tool_calls; D: a delta; F: a finish; E: an event; the others are framing."""
    match word:
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
    raise ValueError(f"no such word: {word}")


def _data(payload: str) -> str:
    return f"data: {payload}\n\n"


def _tool(declared: tuple[str, bool | str | None]) -> dict[str, object]:
    """A tool, and whether it has required parameters; its namespace; or `null` where it takes text of any form."""
    name, needs = declared
    if isinstance(needs, str):
        return {"type": "namespace", "name": needs, "tools": [{"type": "function", "name": name}]}
    if needs is None:
        return {"type": "custom", "name": name}
    return {"function": {"name": name, "parameters": _schema(needs=needs)}}


def _tool_spec(declared: tuple[str, bool | str | None]) -> dict[str, object]:
    """A tool as Bedrock is offered it, and whether it has required parameters."""
    name, needs = declared
    return {"toolSpec": {"name": name, "inputSchema": {"json": _schema(needs=needs)}}}


def patterns() -> list[Pattern]:
    """All of them."""
    found: list[Pattern] = []
    for path in sorted(FOLDER.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines()[1:]:
            word, _, rest = line.partition(" ")
            if word == "##":
                found.append(Pattern(rest, path.stem))
            elif word:
                found[-1].take(word, rest)
    return found


def _schema(*, needs: object) -> dict[str, object]:
    return {"properties": {"x": {}}, "required": ["x"]} if needs else {"required": []}
