"""Calls as models write them where nobody parses them: each native syntax that leaks, by its row's name."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from toolstream_core.model import Json


def _hermes(name: str, arguments: Mapping[str, Json]) -> str:
    return f"<tool_call>\n{_json({'name': name, 'arguments': arguments})}\n</tool_call>"


def _deepseek(name: str, arguments: Mapping[str, Json]) -> str:
    parameters = "".join(
        f'<｜DSML｜parameter name="{key}" string="{"true" if isinstance(value, str) else "false"}">'
        f"{_text(value)}</｜DSML｜parameter>\n"
        for key, value in arguments.items()
    )
    invoke = f'<｜DSML｜invoke name="{name}">\n{parameters}</｜DSML｜invoke>'
    return f"<｜DSML｜tool_calls>\n{invoke}\n</｜DSML｜tool_calls>"


def _invoke(name: str, arguments: Mapping[str, Json]) -> str:
    parameters = "".join(f'<parameter name="{key}">{_text(value)}</parameter>\n' for key, value in arguments.items())
    return f'<function_calls>\n<invoke name="{name}">\n{parameters}</invoke>\n</function_calls>'


def _kimi(name: str, arguments: Mapping[str, Json]) -> str:
    call = f"functions.{name}:0<|tool_call_argument_begin|>{_json(arguments)}"
    return f"<|tool_calls_section_begin|><|tool_call_begin|>{call}<|tool_call_end|><|tool_calls_section_end|>"


def _function(name: str, arguments: Mapping[str, Json]) -> str:
    parameters = "".join(f"<parameter={key}>\n{_text(value)}\n</parameter>\n" for key, value in arguments.items())
    return f"<tool_call>\n<function={name}>\n{parameters}</function>\n</tool_call>"


def _harmony(name: str, arguments: Mapping[str, Json]) -> str:
    return f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{_json(arguments)}<|call|>"


def _bare(name: str, arguments: Mapping[str, Json]) -> str:
    return _json({"name": name, "parameters": arguments})


def _code(name: str, arguments: Mapping[str, Json]) -> str:
    return f"print(default_api.{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())}))\n"


def _glm(name: str, arguments: Mapping[str, Json]) -> str:
    pairs = "".join(
        f"<arg_key>{key}</arg_key>\n<arg_value>{_text(value)}</arg_value>\n" for key, value in arguments.items()
    )
    return f"<tool_call>{name}\n{pairs}</tool_call>"


def _xml(name: str, arguments: Mapping[str, Json]) -> str:
    return f"<{name}>{_json(arguments)}</{name}>"


def _mistral(name: str, arguments: Mapping[str, Json]) -> str:
    return f"[TOOL_CALLS]{name}{_json(arguments)}"


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else _json(value)


MARKUP: Final[dict[str, Callable[[str, Mapping[str, Json]], str]]] = {
    "leaked-hermes": _hermes,
    "leaked-deepseek": _deepseek,
    "leaked-invoke": _invoke,
    "leaked-kimi": _kimi,
    "leaked-function": _function,
    "leaked-harmony": _harmony,
    "leaked-json": _bare,
    "leaked-code": _code,
    "leaked-glm": _glm,
    "leaked-xml": _xml,
    "leaked-mistral": _mistral,
}
