"""Messages that are only calls: bare JSON, or code that calls tools."""

from __future__ import annotations

import ast
import math
import warnings
from typing import TYPE_CHECKING, Final

from toolstream_core.defects.leak import LEAKED_CODE, LEAKED_JSON
from toolstream_core.stages.leaks.syntax import named_object
from toolstream_core.wire import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from toolstream_core.defects.defect import Defect
    from toolstream_core.model import Json
    from toolstream_core.stages.leaks.syntax import Found

MAX_CODE: Final = 16 * 1024
"""Characters of a message above which it is not read as code."""


def bare_calls(text: str, offered: Mapping[str, Json]) -> Iterator[tuple[Defect, Found]]:
    """The calls of a message that is only calls: bare JSON, or code; only of offered tools."""
    bare = text.strip().removeprefix("<|python_tag|>").strip()
    if bare[:1] in {"{", "["}:
        values = _values(bare)
        for one in (inner for value in values for inner in (value if isinstance(value, list) else [value])):
            found = named_object(one) if isinstance(one, dict) else None
            if found and found[0] in offered:
                yield LEAKED_JSON, found
        if values:
            return
    for line in [bare] if bare.startswith("[") else bare.splitlines():
        for found in _code(line.strip()):
            if found[0] in offered:
                yield LEAKED_CODE, found


def _values(text: str) -> list[Json]:
    """The JSON values of a text that has nothing else; none if it has."""
    values: list[Json] = []
    at = 0
    try:
        while at < len(text):
            value, at = numbers.first(text, at)
            values.append(value)
            at += len(text[at:]) - len(text[at:].lstrip(" \r\n\t;"))
    except (ValueError, RecursionError):
        return []
    return values


def _code(text: str) -> Iterator[Found]:
    """`print(default_api.f(a=1))`, `f(a=1)`, `[f(a=1), g()]`: calls with literal arguments, and nothing else."""
    if not text.endswith((")", "]")) or len(text) > MAX_CODE:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes that Python does not know: the text is no code of ours
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
