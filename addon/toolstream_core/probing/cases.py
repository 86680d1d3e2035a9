"""What a provider is asked for: prompts that leave it no choice, and the tools they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.model import Json


class Tool(NamedTuple):
    """A tool on offer, in no protocol's words."""

    name: str
    description: str
    parameters: dict[str, Any]
    """A JSON Schema."""


class Case(NamedTuple):
    """A prompt and the tools on offer."""

    name: str
    prompt: str
    tools: tuple[Tool, ...]


def _object(**properties: Json) -> dict[str, Any]:
    required = list(properties)
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


_TEXT: Final = {"type": "string"}
_WEATHER: Final = Tool("get_weather", "The weather in a city.", _object(city=_TEXT))
_PING: Final = Tool("ping", "Checks that the system is alive. Takes no arguments.", _object())
_NOTE: Final = Tool(
    "save_note",
    "Saves a note.",
    _object(
        title=_TEXT,
        tags={"type": "array", "items": _TEXT},
        place=_object(name=_TEXT, at=_object(lat={"type": "number"}, lon={"type": "number"})),
    ),
)
_EXACTLY: Final = "Do nothing else, and answer with tool calls only."

CASES: Final = (
    Case("single call", f"Call get_weather with the city Oslo. {_EXACTLY}", (_WEATHER,)),
    Case(
        "parallel calls",
        "Call get_weather twice in the same answer, side by side: first with the city Oslo, then with the city Lima. "
        + _EXACTLY,
        (_WEATHER,),
    ),
    Case("no-argument tool", f"Call ping. {_EXACTLY}", (_PING,)),
    Case(
        "text, then call",
        "First write the sentence “Let me look.”, then call get_weather with the city Oslo.",
        (_WEATHER,),
    ),
    Case(
        "nested and Unicode arguments",
        'Call save_note with exactly these arguments: {"title":"Tromsø 🌊 \\"quoted\\"\\nsecond line","tags":["a/b",'
        f'"c\\\\d"],"place":{{"name":"日本","at":{{"lat":69.65,"lon":18.96}}}}}}. {_EXACTLY}',
        (_NOTE,),
    ),
)


def body(protocol: str, model: str, case: Case, *, streamed: bool) -> dict[str, Any]:
    """The request."""
    return _BODIES[protocol](model, case, streamed)


def _functions(tools: Sequence[Tool]) -> list[dict[str, Any]]:
    return [{"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in tools]


def _chat(model: str, case: Case, streamed: bool) -> dict[str, Any]:  # noqa: FBT001 - a table of such
    return {
        "model": model,
        "messages": [{"role": "user", "content": case.prompt}],
        "tools": [{"type": "function", "function": function} for function in _functions(case.tools)],
        "stream": streamed,
    }


def _responses(model: str, case: Case, streamed: bool) -> dict[str, Any]:  # noqa: FBT001
    return {
        "model": model,
        "input": [{"role": "user", "content": case.prompt}],
        "tools": [{"type": "function", "strict": False, **function} for function in _functions(case.tools)],
        "stream": streamed,
        "store": False,
    }


def _anthropic(model: str, case: Case, streamed: bool) -> dict[str, Any]:  # noqa: FBT001
    return {
        "model": model,
        "max_tokens": 2048,
        "messages": [{"role": "user", "content": case.prompt}],
        "tools": [
            {"name": tool.name, "description": tool.description, "input_schema": tool.parameters} for tool in case.tools
        ],
        "stream": streamed,
    }


def _gemini(model: str, case: Case, streamed: bool) -> dict[str, Any]:  # noqa: FBT001
    del model, streamed  # both are said in the path
    declared = [
        {"name": tool.name, "description": tool.description, "parametersJsonSchema": tool.parameters}
        for tool in case.tools
    ]
    return {
        "contents": [{"role": "user", "parts": [{"text": case.prompt}]}],
        "tools": [{"functionDeclarations": declared}],
    }


def _ollama(model: str, case: Case, streamed: bool) -> dict[str, Any]:  # noqa: FBT001
    return _chat(model, case, streamed)


_BODIES: Final = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "ollama": _ollama,
}
