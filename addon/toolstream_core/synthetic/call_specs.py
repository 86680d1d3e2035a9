"""The calls to make, as options write them: `TOOL {JSON}; TOOL {JSON}`."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.errors import ToolstreamError
from toolstream_core.model import ABSENT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.model import Json

PREFIX: Final = "calls:"
"""How a value of `toolstream_provider` begins that is no path."""
_NAME: Final = re.compile(r"[^\s;{\[\"]+")
_EXAMPLE: Final = """get_weather {"city":"Oslo"}"""


class CallSpec(NamedTuple):
    """A call to make."""

    tool: str
    arguments: Json = ABSENT
    """An object, or the text for a tool that takes text; `ABSENT` where they are made from the tool's schema."""


def parse_calls(texts: Iterable[str]) -> tuple[CallSpec, ...]:
    """The calls that the texts say, with or without `calls:` before them; none is a harmless tool on offer.

    Raises `ToolstreamError`.
    """
    return tuple(spec for text in texts for spec in _calls(text.removeprefix(PREFIX)))


def spec_text(spec: CallSpec) -> str:
    """The call as `parse_calls` reads it."""
    if spec.arguments is ABSENT:
        return spec.tool
    return f"{spec.tool} {json.dumps(spec.arguments, ensure_ascii=False)}"


def _calls(text: str) -> Iterator[CallSpec]:
    rest = text.strip().strip(";").strip()
    while rest:
        name = _NAME.match(rest)
        if name is None:
            raise ToolstreamError(f"{rest!r} does not begin with a tool name. Expected {_EXAMPLE}")
        arguments, rest = _arguments(name[0], rest[name.end() :].lstrip())
        yield CallSpec(name[0], arguments)


def _arguments(tool: str, rest: str) -> tuple[Json, str]:
    """What the call's arguments are, and what stands behind them."""
    if not rest or rest.startswith(";"):
        return ABSENT, rest.lstrip("; \t\n")
    try:
        value, end = json.JSONDecoder().raw_decode(rest)
    except ValueError as error:
        message = f"the arguments of {tool} are not valid JSON ({error}). Expected {_EXAMPLE}"
        raise ToolstreamError(message) from error
    behind = rest[end:].lstrip()
    if behind and not behind.startswith(";"):
        raise ToolstreamError(f"unexpected {behind!r} after the arguments of {tool}; separate calls with a semicolon")
    if not isinstance(value, dict | str):
        raise ToolstreamError(f"the arguments of {tool} are {rest[:end]}. Expected an object, as in {_EXAMPLE}")
    return value, behind.lstrip("; \t\n")
