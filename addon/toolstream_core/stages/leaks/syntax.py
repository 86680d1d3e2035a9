"""The syntaxes in which models write calls as text: native ones, bare JSON, and code."""

from __future__ import annotations

import ast
import json
import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Final, NamedTuple

from toolstream_core.defects.defect import Defect
from toolstream_core.defects.leak import (
    LEAKED_CODE,
    LEAKED_DEEPSEEK,
    LEAKED_FUNCTION,
    LEAKED_GEMMA,
    LEAKED_GLM,
    LEAKED_HARMONY,
    LEAKED_HERMES,
    LEAKED_INVOKE,
    LEAKED_JSON,
    LEAKED_KIMI,
    LEAKED_MISTRAL,
)
from toolstream_core.model import Json
from toolstream_core.wire import json_access, numbers

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
    """`{"name": …, "arguments" | "parameters": {…}}`, or with other keys; arguments may be JSON text."""
    if not isinstance(value, dict):
        return None
    name = next((value[key] for key in ("name", "tool", "tool_name") if key in value), None)
    given = next((value[key] for key in ("arguments", "parameters", "args") if key in value), None)
    arguments = json_object(given) if isinstance(given, str) else given
    return (name, arguments) if isinstance(name, str) and isinstance(arguments, dict) else None


_NAME = r"[\w.:-]{1,128}"
_DSML = r"[|｜‖]{1,2}\s*DSML\s*[|｜‖]{1,2}"
_BAR = "｜"
_PREFIX = r"(?:[\w-]{1,16}:)?"
"""The namespace of a tag: `antml:`, `atem:` (Muse), `minimax:`, `seed:`, `steptml:`, `xai:`."""
_LABEL = r"(?::\w+)?"
"""The label of Hy3's tags: `<tool_call:opensource>`."""
_PARAMETER = re.compile(
    rf'<{_PREFIX}param(?:eter)?\s+name="([^"]+)"[^>]*>(?:<!\[CDATA\[(.*?)\]\]>|(.*?))</{_PREFIX}param(?:eter)?>',
    re.DOTALL,
)
_ELEMENT = re.compile(r"\s*<([\w.-]+)>(.*?)</\1>\s*", re.DOTALL)
_MINIMAX = "]<]minimax[>["
"""The token before each tag of MiniMax-M3."""
_DSML_PARAMETER = re.compile(
    rf'<{_DSML}\s*{_PREFIX}parameter\s+name="([^"]+)"(?:\s+string="(true|false)")?\s*>(.*?)</{_DSML}\s*{_PREFIX}parameter>',
    re.DOTALL,
)
_XTML_ARGUMENT = re.compile(
    r'<\|open\|>argument key="([^"]+)"(?: type="(\w+)")?[^<]*<\|sep\|>(.*?)<\|close\|>argument<\|sep\|>', re.DOTALL
)
_FUNCTION_PARAMETER = re.compile(r"<parameter=([^>]+)>\n?(.*?)\n?</parameter>", re.DOTALL)
_OPEN_PARAMETER = re.compile(r"<parameter=([^>]+)>\n?(.*?)\s*(?=<parameter=|\Z)", re.DOTALL)
_GEMMA = re.compile(rf"call:(?P<name>{_NAME})\s*(?P<body>\{{.*\}})", re.DOTALL)
_GEMMA_TOKEN = re.compile(
    r'(?P<mark><\|"\|>|<escape>)(?P<text>.*?)(?P=mark)|"(?:[^"\\]|\\.)*"|(?P<word>[^\s{}\[\],:"<][^{}\[\],:"<]*)(?P<colon>:?)',
    re.DOTALL,
)
"""A string of Gemma's, a string of JSON, or a word: a key before a colon, or a value."""
_ARGUMENT = re.compile(
    rf"<arg_key{_LABEL}>(.*?)</arg_key{_LABEL}>\s*<arg_value{_LABEL}>(.*?)</arg_value{_LABEL}>", re.DOTALL
)


class Syntax(NamedTuple):
    """One way to write a call."""

    defect: Defect
    expression: re.Pattern[str]
    """Matches the complete, closed markup; its `name` and `body` groups are what is read, or what follows it."""
    read: Callable[[re.Match[str]], Iterator[Found]]


def _tagged(match: re.Match[str]) -> Iterator[Found]:
    yield from filter(None, map(named_object, _objects(_values(match["body"]))))


def _after(match: re.Match[str]) -> Iterator[Found]:
    """The object or list after a tag that nothing closes."""
    try:
        calls = numbers.first(match.string, match.end())[0]
    except (ValueError, RecursionError):
        calls = _literal(match.string[match.end() :].strip())
    yield from filter(None, map(named_object, _objects([calls])))


def _with_json(match: re.Match[str]) -> Iterator[Found]:
    arguments = json_object(match["body"])
    if arguments is not None:
        yield match["name"], arguments


def elements(text: str) -> dict[str, str]:
    """The texts of elements by their names; empty if there is anything else."""
    return {} if _ELEMENT.sub("", text) else dict(_ELEMENT.findall(text))


def _invoke(match: re.Match[str]) -> Iterator[Found]:
    body = match["body"].replace(_MINIMAX, "")
    found = {key: quoted or text for key, quoted, text in _PARAMETER.findall(body)} or elements(body)
    yield _with_parameters(match, {key: value.strip("\n") for key, value in found.items()})


def _dsml(match: re.Match[str]) -> Iterator[Found]:
    found = _DSML_PARAMETER.findall(match["body"])
    yield _with_parameters(match, {key: _typed(value, is_text or "true") for key, is_text, value in found})


def _xtml(match: re.Match[str]) -> Iterator[Found]:
    found = _XTML_ARGUMENT.findall(match["body"])
    yield match["name"], {key: _typed(value, kind or "string") for key, kind, value in found}


def _function(match: re.Match[str]) -> Iterator[Found]:
    parameter = _FUNCTION_PARAMETER if "</parameter>" in match["body"] else _OPEN_PARAMETER
    yield _with_parameters(match, dict(parameter.findall(match["body"])))


def _with_parameters(match: re.Match[str], found: dict[str, Json]) -> Found:
    """The parameters in the body of a call; models also write one JSON object there."""
    return match["name"], found or json_object(match["body"]) or {}


def _typed(value: str, kind: str) -> Json:
    """A value of a call: text if it is marked as that, or is no JSON."""
    if kind in {"string", "true"}:
        return value
    try:
        return numbers.loads(value)
    except ValueError:
        return value


def _glm(match: re.Match[str]) -> Iterator[Found]:
    yield _with_parameters(match, dict(_ARGUMENT.findall(match["body"])))


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


def _gemma(match: re.Match[str]) -> Iterator[Found]:
    arguments = json_object(_GEMMA_TOKEN.sub(_gemma_token, match["body"]))
    if arguments is not None:
        yield match["name"], arguments


def _gemma_token(match: re.Match[str]) -> str:
    """A token as JSON; a word that is no value of JSON is a string without its marks."""
    word = (match["word"] or "").strip()
    if match["text"] is None and (not word or (not match["colon"] and _is_value(word))):
        return match[0]
    return json.dumps(word if match["text"] is None else match["text"]) + (match["colon"] or "")


def _is_value(text: str) -> bool:
    try:
        numbers.loads(text)
    except ValueError:
        return False
    return True


def _python(match: re.Match[str]) -> Iterator[Found]:
    text = match["body"].strip()
    for line in [text] if text.startswith("[") else text.splitlines():
        yield from _code(line.strip())


def _by_name(match: re.Match[str]) -> Iterator[Found]:
    """`[{"NAME": {…}}]`."""
    for one in _objects(_values(match["body"])):
        for name, arguments in one.items() if isinstance(one, dict) and len(one) == 1 else ():
            if isinstance(arguments, dict):
                yield name, arguments


_TAGS: Final = {
    r"<tool_call>": r"</tool_call>",  # Hermes, Qwen
    r"<tool_calls>": r"</tool_calls>",  # Hunyuan, MiniMax-M1
    r"<longcat_tool_call>": r"</longcat_tool_call>",
    r"<TOOLCALL>": r"</TOOLCALL>",  # Nemotron
    r"\[TOOL_CALL\]": r"\[/TOOL_CALL\]",  # MiniMax-M2 in LM Studio
    r"<\|START_ACTION\|>": r"<\|END_ACTION\|>",  # Command A, Command R
    r"<\|action_start\|>\s*<\|plugin\|>": r"<\|action_end\|>",  # InternLM
    r"<\|content_invoke_tool_json\|>": r"<\|end_message\|>",  # Inkling
}
"""The tags around the JSON of calls, by model."""

CLOSED: Final = (
    *(
        Syntax(LEAKED_HERMES, re.compile(rf"{begin}\s*(?P<body>[\[{{].*?[\]}}])\s*{end}", re.DOTALL), _tagged)
        for begin, end in _TAGS.items()
    ),
    Syntax(LEAKED_HERMES, re.compile(r"<(\|?)tool_calls?\1>\s*(?=\[)"), _after),  # Granite, Phi-4-mini, Sarashina
    Syntax(LEAKED_HERMES, re.compile(r"<(?:\|?function_call\|?|\|role_sep\|)>\s*(?=[\[{])"), _after),  # GigaChat
    Syntax(
        LEAKED_HERMES,
        re.compile(
            rf"<\|tool_call:begin\|>\w*<\|tool_call:name\|>(?P<name>{_NAME})<\|tool_call:args\|>\s*(?P<body>\{{.*?\}})\s*"
            r"<\|tool_call:end\|>",
            re.DOTALL,
        ),
        _with_json,
    ),  # Solar
    Syntax(
        LEAKED_HERMES,
        re.compile(r"<\|tools_prefix\|>\s*(?P<body>\[.*?\])\s*<\|tools_suffix\|>", re.DOTALL),
        _by_name,
    ),  # Apertus
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
            rf"<\|?tool_call{_LABEL}\|?>\s*(?P<name>{_NAME})\s*(?:<tool_sep{_LABEL}>\s*)?"
            rf"(?P<body>(?:<arg_key{_LABEL}>.*?</arg_value{_LABEL}>\s*)*|\{{.*?\}}\s*)"
            rf"<(?:\|?/|end_of_)tool_call{_LABEL}\|?>",
            re.DOTALL,
        ),
        _glm,
    ),
    Syntax(
        LEAKED_DEEPSEEK,
        re.compile(
            rf'(?:<{_DSML}\s*{_PREFIX}\w+\s*>\s*)?<{_DSML}\s*{_PREFIX}invoke\s+name="(?P<name>{_NAME})"\s*>(?P<body>.*?)'
            rf"</{_DSML}\s*{_PREFIX}invoke>(?:\s*</{_DSML}\s*{_PREFIX}\w+\s*>)?",
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
            rf"(?:<{_PREFIX}(?:function_calls|tool_call)>\s*)?"
            rf'<{_PREFIX}(?P<tag>invoke|function_call) name="(?P<name>{_NAME})">(?P<body>.*?)</{_PREFIX}(?P=tag)>'
            rf"(?:\s*</{_PREFIX}(?:function_calls|tool_call)>)?",
            re.DOTALL,
        ),
        _invoke,
    ),
    Syntax(
        LEAKED_INVOKE,
        re.compile(
            rf'<function name="(?P<name>{_NAME})">(?P<body>(?:\s*{_PARAMETER.pattern})*)\s*</function>', re.DOTALL
        ),
        _invoke,
    ),  # MiniCPM
    Syntax(
        LEAKED_KIMI,
        re.compile(
            rf"(?:<\|tool_calls?_section_begin\|>\s*)?<\|tool_call_begin\|>\s*(?:functions\.)?(?P<name>{_NAME}?)(?::\d+)?\s*"
            r"(?:<\|tool_call_argument_begin\|>)?\s*(?P<body>\{.*?\})\s*<\|tool_call_end\|>"
            r"(?:\s*<\|tool_calls?_section_end\|>)?",
            re.DOTALL,
        ),
        _with_json,
    ),
    Syntax(
        LEAKED_KIMI,
        re.compile(
            rf'<\|open\|>(?:tools(?:<\|sep\|>)?(?:<\|open\|>)?)?call tool="(?P<name>{_NAME})"[^<]*<\|sep\|>'
            r"(?P<body>.*?)<\|close\|>call<\|sep\|>",
            re.DOTALL,
        ),
        _xtml,
    ),
    Syntax(
        LEAKED_HARMONY,
        re.compile(
            rf"(?:(?:<\|channel\|>)?c?o?m?mentary|<\|channel\|>analysis) to=(?:functions\.)?(?P<name>{_NAME})"
            r"\s*(?:<\|constrain\|>)?\s*(?:json|code)?\s*"
            r"(?:<\|message\|>)?\s*(?P<body>\{.*?\})\s*(?:<\|call\|>|\Z)",
            re.DOTALL,
        ),
        _with_json,
    ),
    Syntax(
        LEAKED_MISTRAL,
        re.compile(
            rf"\[TOOL_CALLS\]\s*(?P<name>(?:{_NAME})?)\s*(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*"
            r"(?P<body>\{.*?\}|\[.*?\])\s*(?=\Z|\[/?TOOL)",
            re.DOTALL,
        ),
        _mistral,
    ),
    Syntax(
        LEAKED_GEMMA,
        re.compile(
            rf"(?:<\|tool_call>|<start_function_call>)\s*{_GEMMA.pattern.replace('.*', '.*?')}\s*"
            r"(?:<tool_call\|>|<end_function_call>)",
            re.DOTALL,
        ),
        _gemma,
    ),
    Syntax(
        LEAKED_CODE,
        re.compile(r"<\|tool_call_start\|>\s*(?P<body>\[.*?\])\s*<\|tool_call_end\|>", re.DOTALL),
        _python,
    ),  # LFM2
    Syntax(
        LEAKED_CODE,
        re.compile(r"<function_calls>\s*(?P<body>[^<\s].*?\))\s*</function_calls>", re.DOTALL),
        _python,
    ),  # Olmo 3
)
"""Syntaxes with an end of their own, in the order in which they are tried."""


MAX_CODE: Final = 16 * 1024
"""Maximum characters of a message that is read as code."""
_FRAME: Final = re.compile(
    r"\A\s*(?:<\|python_(?:tag|start)\|>|functools(?=\s*\[)|```tool_code\n)?\s*"
    r"|\s*(?:<\|(?:python_end|eom_id|eot_id)\|>|(?<=[)\]])\s*```)?\s*\Z"
)
"""The text around a message of only calls: Llama, Phi-4-mini, Gemma 3."""


def bare_calls(text: str, offered: Mapping[str, Json]) -> Iterator[tuple[Defect, Found]]:
    """The calls of a message that is only calls: bare JSON, Gemma's syntax, or code; only of offered tools."""
    bare = _FRAME.sub("", text)
    if bare[:1] in {"{", "["}:
        values = _values(bare)
        for one in _objects(values):
            found = named_object(one)
            if found and found[0] in offered:
                yield LEAKED_JSON, found
        if values:
            return
    gemma = _GEMMA.fullmatch(bare)
    for found in _gemma(gemma) if gemma else ():
        if found[0] in offered:
            yield LEAKED_GEMMA, found
    for line in [bare] if bare.startswith("[") else bare.splitlines():
        for found in _code(line.strip()):
            if found[0] in offered:
                yield LEAKED_CODE, found


def _values(text: str) -> list[Json]:
    """The JSON values of a text that has nothing else, or a literal of Python; none if it has."""
    values: list[Json] = []
    at = 0
    try:
        while at < len(text):
            value, at = numbers.first(text, at)
            values.append(value)
            at += len(text[at:]) - len(text[at:].lstrip(" \r\n\t;"))
    except (ValueError, RecursionError):
        return [] if (value := _literal(text.strip())) is None else [value]
    return values


def _literal(text: str) -> Json:
    """An object or a list in Python's notation, as some models write calls (Sarashina); `None` if it is neither."""
    if text[:1] not in {"{", "["} or "'" not in text or len(text) > MAX_CODE:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value: Json = ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if _is_json(value) else None


def _objects(values: list[Json]) -> Iterator[Json]:
    """Each value, and those in lists."""
    for value in values:
        yield from value if isinstance(value, list) else [value]


def _code(text: str) -> Iterator[Found]:
    """`print(default_api.f(a=1))`, `f(a=1)`, `[f(a=1), g()]`: calls with literal arguments, and nothing else."""
    if not text.endswith((")", "]")) or len(text) > MAX_CODE:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know: the text is foreign code
            tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for one in tree.elts if isinstance(tree, ast.List) else [tree]:
        inner = one
        if (
            isinstance(one, ast.Call)
            and isinstance(one.func, ast.Name)
            and one.func.id == "print"
            and len(one.args) == 1
        ):
            inner = one.args[0]
        found = _literal_call(inner)
        if found:
            yield found


def _literal_call(node: ast.expr) -> Found | None:
    if not isinstance(node, ast.Call) or node.args:
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    try:
        arguments = {word.arg or "": ast.literal_eval(word.value) for word in node.keywords}
        return (name, arguments) if _is_json(arguments) else None
    except (ValueError, TypeError, RecursionError, MemoryError):
        return None


def _is_json(value: object) -> bool:
    """Whether a literal of code is a value of JSON: no set, no bytes, no infinity."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and _is_json(one) for key, one in value.items())
    if isinstance(value, list | tuple):
        return all(map(_is_json, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)
