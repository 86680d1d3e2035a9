"""A call that was found in text, and the JSON of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.wire import json_access, numbers

if TYPE_CHECKING:
    from toolstream_core.model import Json

type Found = tuple[str, dict[str, Json]]
"""A tool's name and its arguments; values of syntaxes that have only text are text."""


def json_object(text: str) -> dict[str, Json] | None:
    """A text as a JSON object; `None` if it is anything else."""
    try:
        value = numbers.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def named_object(value: Json) -> Found | None:
    """`{"name": …, "arguments" | "parameters": {…}}`; arguments may be JSON text."""
    name = json_access.get(value, "name")
    given = next((value[key] for key in ("arguments", "parameters") if key in value), None) if name else None
    arguments = json_object(given) if isinstance(given, str) else given
    return (name, arguments) if isinstance(name, str) and isinstance(arguments, dict) else None
