"""The native syntaxes in which models write calls, each as an expression and how its match is read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.defects.leak import (
    LEAKED_DEEPSEEK,
    LEAKED_FUNCTION,
    LEAKED_GLM,
    LEAKED_HARMONY,
    LEAKED_HERMES,
    LEAKED_INVOKE,
    LEAKED_KIMI,
    LEAKED_MISTRAL,
)
from toolstream_core.wire import json_access, numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from toolstream_core.defects.defect import Defect
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


_NAME = r"[\w.:-]{1,128}"
_DSML = r"[|｜‖]{1,2}\s*DSML\s*[|｜‖]{1,2}"
_BAR = "｜"
_PARAMETER = re.compile(r'<parameter\s+name="([^"]+)"[^>]*>(.*?)</parameter>', re.DOTALL)
_DSML_PARAMETER = re.compile(
    rf'<{_DSML}\s*parameter\s+name="([^"]+)"(?:\s+string="(true|false)")?\s*>(.*?)</{_DSML}\s*parameter>', re.DOTALL
)
_FUNCTION_PARAMETER = re.compile(r"<parameter=([^>]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_ARGUMENT = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)


class Syntax(NamedTuple):
    """One way to write a call."""

    defect: Defect
    expression: re.Pattern[str]
    """Matches the complete, closed markup; its `name` and `body` groups are what is read."""
    read: Callable[[re.Match[str]], Iterator[Found]]


def _hermes(match: re.Match[str]) -> Iterator[Found]:
    found = named_object(json_object(match["body"]) or {})
    if found:
        yield found


def _with_json(match: re.Match[str]) -> Iterator[Found]:
    arguments = json_object(match["body"])
    if arguments is not None:
        yield match["name"], arguments


def _invoke(match: re.Match[str]) -> Iterator[Found]:
    yield match["name"], {key: value.strip("\n") for key, value in _PARAMETER.findall(match["body"])}


def _dsml(match: re.Match[str]) -> Iterator[Found]:
    arguments: dict[str, Json] = {}
    for key, is_text, value in _DSML_PARAMETER.findall(match["body"]):
        arguments[key] = value
        if is_text == "false":
            try:
                arguments[key] = numbers.loads(value)
            except ValueError:
                continue
    yield match["name"], arguments


def _function(match: re.Match[str]) -> Iterator[Found]:
    yield match["name"], dict(_FUNCTION_PARAMETER.findall(match["body"]))


def _glm(match: re.Match[str]) -> Iterator[Found]:
    yield match["name"], dict(_ARGUMENT.findall(match["body"]))


def _mistral(match: re.Match[str]) -> Iterator[Found]:
    try:
        value = numbers.loads(match["body"])
    except (ValueError, RecursionError):
        return
    if match["name"] and isinstance(value, dict):
        yield match["name"], value
        return
    for one in json_access.items(value):
        found = named_object(one)
        if found:
            yield found


CLOSED: Final = (
    Syntax(LEAKED_HERMES, re.compile(r"<tool_call>\s*(?P<body>\{.*?\})\s*</tool_call>", re.DOTALL), _hermes),
    Syntax(
        LEAKED_FUNCTION,
        re.compile(
            rf"(?:<tool_call>\s*)?<function=(?P<name>{_NAME})>(?P<body>.*?)</function>(?:\s*</tool_call>)?", re.DOTALL
        ),
        _function,
    ),
    Syntax(
        LEAKED_GLM,
        re.compile(
            rf"<tool_call>\s*(?P<name>{_NAME})\s*(?P<body>(?:<arg_key>.*?</arg_value>\s*)*)</tool_call>", re.DOTALL
        ),
        _glm,
    ),
    Syntax(
        LEAKED_DEEPSEEK,
        re.compile(
            rf'(?:<{_DSML}\s*\w+\s*>\s*)?<{_DSML}\s*invoke\s+name="(?P<name>{_NAME})"\s*>(?P<body>.*?)'
            rf"</{_DSML}\s*invoke>(?:\s*</{_DSML}\s*\w+\s*>)?",
            re.DOTALL,
        ),
        _dsml,
    ),
    Syntax(
        LEAKED_DEEPSEEK,
        re.compile(
            rf"(?:<{_BAR}tool▁calls▁begin{_BAR}>\s*)?<{_BAR}tool▁call▁begin{_BAR}>\s*(?:function<{_BAR}tool▁sep{_BAR}>)?"
            rf"(?P<name>{_NAME})\s*(?:<{_BAR}tool▁sep{_BAR}>)?\s*(?:```json\s*)?(?P<body>\{{.*?\}})\s*(?:```\s*)?"
            rf"<{_BAR}tool▁call▁end{_BAR}>(?:\s*<{_BAR}tool▁calls▁end{_BAR}>)?",
            re.DOTALL,
        ),
        _with_json,
    ),
    Syntax(
        LEAKED_INVOKE,
        re.compile(
            rf'(?:<(?:antml:)?function_calls>\s*|<minimax:tool_call>\s*)?<(?:antml:)?invoke name="(?P<name>{_NAME})">'
            r"(?P<body>.*?)</(?:antml:)?invoke>(?:\s*</(?:antml:)?function_calls>|\s*</minimax:tool_call>)?",
            re.DOTALL,
        ),
        _invoke,
    ),
    Syntax(
        LEAKED_KIMI,
        re.compile(
            rf"(?:<\|tool_calls?_section_begin\|>\s*)?<\|tool_call_begin\|>\s*(?:functions\.)?(?P<name>{_NAME}?)(?::\d+)?\s*"
            r"<\|tool_call_argument_begin\|>\s*(?P<body>\{.*?\})\s*<\|tool_call_end\|>"
            r"(?:\s*<\|tool_calls?_section_end\|>)?",
            re.DOTALL,
        ),
        _with_json,
    ),
    Syntax(
        LEAKED_HARMONY,
        re.compile(
            rf"(?:<\|channel\|>)?c?o?m?mentary to=(?:functions\.)?(?P<name>{_NAME})"
            r"\s*(?:<\|constrain\|>)?\s*(?:json)?\s*"
            r"(?:<\|message\|>)?\s*(?P<body>\{.*?\})\s*(?:<\|call\|>|\Z)",
            re.DOTALL,
        ),
        _with_json,
    ),
    Syntax(
        LEAKED_MISTRAL,
        re.compile(
            rf"\[TOOL_CALLS\]\s*(?P<name>(?:{_NAME})?)\s*(?P<body>\{{.*?\}}|\[.*?\])\s*(?=\Z|\[TOOL)", re.DOTALL
        ),
        _mistral,
    ),
)
"""Syntaxes with an end of their own, in the order in which they are tried."""
