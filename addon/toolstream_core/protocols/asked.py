"""What a request to an LLM asks for, in any protocol. Knows the shapes of requests, none of answers."""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from toolstream_core.model import ABSENT
from toolstream_core.protocols import DIALECTS
from toolstream_core.protocols.request import model, tools
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.model import Json


class Form(enum.StrEnum):
    """How an answer's body is cut."""

    WHOLE = "one JSON document"
    EVENTS = "server-sent events"
    LINES = "newline-delimited JSON"
    ARRAY = "a streamed JSON array"


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A request, by what decides which answer would fit it."""

    dialect: str
    model: str | None
    form: Form
    tools: frozenset[str]
    """The names of the tools on offer."""
    results: int
    """How many tool results the messages hold: the turn of a tool-calling conversation."""
    words: str
    """What the user said last."""


# Said in the path by Gemini and Vertex (`/models/NAME:…`), by Azure (`/deployments/NAME/…`).
_MODEL_IN_PATH = re.compile(r"/models/([^/:?]+):|/deployments/([^/?]+)/")
# Requests with the same bodies that want something else, and a protocol that is not read.
_OTHER = re.compile(r"token|embed|moderation|batch|rank|/v2/chat$", re.IGNORECASE)
_ANTHROPIC_ONLY = ("anthropic_version", "system", "stop_sequences")
_OLLAMA_ONLY = ("options", "keep_alive")
_RESPONSES_ONLY = ("stream", "tools", "instructions", "previous_response_id", "reasoning", "store")


def read(path: str, request: Json) -> Asked | None:
    """What a POST of `request` to `path` (with query) asks for; `None` where that is no completion."""
    dialect = _dialect(path.partition("?")[0], request)
    if dialect is None:
        return None
    return Asked(
        dialect=dialect,
        model=model_of(path, request),
        form=_form(dialect, path, request),
        tools=frozenset(tools(request)),
        results=turn(request),
        words=_words(request),
    )


def model_of(path: str, request: Json) -> str | None:
    """The model asked for: the one in the body, else the one in the path."""
    return model(request) or _model_in(path)


def turn(request: Json) -> int:
    """How many tool results the messages of a request hold."""
    return sum(1 for _ in _results(request))


def _dialect(path: str, request: Json) -> str | None:
    if not isinstance(request, dict):
        return None
    for dialect in DIALECTS:
        if dialect.claims(path):
            return dialect.name if _FITS[dialect.name](request) else None
    return None if _OTHER.search(path) else _by_shape(request)


def _by_shape(request: dict[str, Json]) -> str | None:
    if _has_contents(request):
        return "gemini"
    if "model" not in request and "anthropic_version" not in request:
        return None
    if _has_messages(request):
        if any(key in request for key in _OLLAMA_ONLY):
            return "ollama"
        schemas = any(
            json_access.get(tool, "input_schema") is not ABSENT for tool in json_access.items(request.get("tools"))
        )
        return "anthropic" if schemas or any(key in request for key in _ANTHROPIC_ONLY) else "openai-chat"
    # Embeddings and moderations have `model` and `input` too.
    return "openai-responses" if _has_input(request) and any(key in request for key in _RESPONSES_ONLY) else None


def _has_messages(request: dict[str, Json]) -> bool:
    return isinstance(request.get("messages"), list)


def _has_contents(request: dict[str, Json]) -> bool:
    return isinstance(request.get("contents"), list | dict)


def _has_input(request: dict[str, Json]) -> bool:
    return any(key in request for key in ("input", "prompt", "previous_response_id"))


_FITS: dict[str, Callable[[dict[str, Json]], bool]] = {
    "openai-chat": _has_messages,
    "openai-responses": _has_input,
    "anthropic": _has_messages,
    "gemini": _has_contents,
    "ollama": _has_messages,
}


def _model_in(path: str) -> str | None:
    found = _MODEL_IN_PATH.search(path)
    return found[1] or found[2] if found else None


def _form(dialect: str, path: str, request: Json) -> Form:
    if dialect == "gemini":
        if ":streamGenerateContent" not in path:
            return Form.WHOLE
        return Form.EVENTS if "sse" in parse_qs(path.partition("?")[2]).get("alt", ()) else Form.ARRAY
    asked = json_access.get(request, "stream")
    if dialect == "ollama":
        return Form.WHOLE if asked is False else Form.LINES
    return Form.EVENTS if asked is True or ":streamRawPredict" in path else Form.WHOLE


def _entries(request: Json) -> Iterator[Json]:
    for key in ("messages", "input", "contents"):
        yield from json_access.items(json_access.get(request, key))


def _results(request: Json) -> Iterator[Json]:
    """`tool` messages, `…_call_output` items, `tool_result` blocks, `functionResponse` parts."""
    for entry in _entries(request):
        kind = json_access.get(entry, "type")
        by_role = json_access.get(entry, "role") in ("tool", "function")
        if by_role or (isinstance(kind, str) and kind.endswith("_call_output")):
            yield entry
            continue
        for part in (
            *json_access.items(json_access.get(entry, "content")),
            *json_access.items(json_access.get(entry, "parts")),
        ):
            if json_access.get(part, "type") == "tool_result" or not _no_response(part):
                yield part


def _no_response(part: Json) -> bool:
    return all(not isinstance(json_access.get(part, key), dict) for key in ("functionResponse", "function_response"))


def _words(request: Json) -> str:
    prompt = json_access.get(request, "input")
    if isinstance(prompt, str):
        return prompt
    for entry in reversed(list(_entries(request))):
        if json_access.get(entry, "role") == "user" and (said := _said(entry)):
            return said
    return ""


def _said(entry: Json) -> str:
    content = json_access.get(entry, "content")
    if isinstance(content, str):
        return content
    parts = (*json_access.items(content), *json_access.items(json_access.get(entry, "parts")))
    return "".join(text for part in parts if isinstance(text := json_access.get(part, "text"), str))
