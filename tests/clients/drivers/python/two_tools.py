"""The two tools of every driver, its prompt, and its maximum of turns."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any, Final

TURNS: Final = 8
MODEL: Final = os.environ.get("DRIVER_MODEL", "gpt-4.1-mini")
PROMPT: Final = sys.argv[1] if len(sys.argv) > 1 else "What is the weather in Oslo, in celsius? Then read notes.txt."
SCHEMAS: Final[dict[str, dict[str, Any]]] = {
    "get_weather": {
        "type": "object",
        "properties": {"city": {"type": "string"}, "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]}},
        "required": ["city", "unit"],
        "additionalProperties": False,
    },
    "read_file": {
        "type": "object",
        "properties": {"path": {"type": "string"}},
        "required": ["path"],
        "additionalProperties": False,
    },
}
DESCRIPTIONS: Final = {"get_weather": "Get the weather of a city.", "read_file": "Read a text file."}
RAN: Final = os.environ.get("DRIVER_RAN")
"""The file that gets a JSON array for each run of a tool: its name and its arguments."""


def record_run(name: str, given: Any) -> None:
    """Append a run of a tool to the file, if there is one."""
    if RAN:
        with Path(RAN).open("a", encoding="utf-8") as file:
            file.write(json.dumps([name, given]) + "\n")


def get_weather(city: str, unit: str) -> str:
    """Get the weather of a city.

    Args:
        city: The city's name.
        unit: celsius or fahrenheit.
    """
    record_run("get_weather", {"city": city, "unit": unit})
    return f"Mild in {city}, 15 degrees {unit}."


def read_file(path: str) -> str:
    """Read a text file.

    Args:
        path: The file's path.
    """
    record_run("read_file", {"path": path})
    return f"{path} has one line."


def run_tool(name: str, arguments: str | dict[str, Any] | None) -> str:
    """The result of a call. Raises `ValueError` if its arguments are text, and not JSON."""
    given = json.loads(arguments) if isinstance(arguments, str) else arguments or {}
    tools = {"get_weather": get_weather, "read_file": read_file}
    if name not in tools:
        record_run(name, given)
        return f"There is no tool {name!r}."
    try:
        return tools[name](**given)
    except TypeError as error:
        record_run(name, given)
        return f"Wrong arguments: {error}"


def chat_tools(*, strict: bool = False) -> list[dict[str, Any]]:
    """The tools in the form of Chat Completions."""
    more = {"strict": True} if strict else {}
    return [
        {
            "type": "function",
            "function": {"name": name, "description": DESCRIPTIONS[name], "parameters": schema, **more},
        }
        for name, schema in SCHEMAS.items()
    ]
