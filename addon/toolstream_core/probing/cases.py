"""What a provider is asked for: prompts that leave it no choice, and the tools they need."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from toolstream_core.protocols.api import Tool

if TYPE_CHECKING:
    from toolstream_core.model import Json


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
_EXACTLY: Final = "Do nothing else, and respond with tool calls only."

CASES: Final = (
    Case("single call", f"Call get_weather with the city Oslo. {_EXACTLY}", (_WEATHER,)),
    Case(
        "parallel calls",
        "Call get_weather twice in the same response, side by side: first with the city Oslo, then with the city Lima. "
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
