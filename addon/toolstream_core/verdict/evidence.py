"""Evidence about a tool's result: whether the tool accepted the call or rejected it, in any protocol."""

from __future__ import annotations

import enum
import json
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.verdict.compare import INVALID, leaves, value_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from toolstream_core.model import Json
    from toolstream_core.protocols.requests.conversation import ToolResult


class Sign(enum.Enum):
    """What a result shows."""

    ACCEPTED = enum.auto()
    """The tool ran."""
    REJECTED = enum.auto()
    """The call was refused, or failed."""
    UNKNOWN = enum.auto()


class Evidence(NamedTuple):
    """What a result shows, and why."""

    sign: Sign
    why: str


class KnownResult(NamedTuple):
    """A result that a tool is known to give when it runs."""

    name: str
    """Of the tool."""
    arguments: str
    text: str


_EXIT: Final = re.compile(
    r"(?:exit[ _]?code|(?:process|command) (?:exited|failed) with (?:exit )?code)[: ]*(-?\d+)\.?", re.IGNORECASE
)
_FIELD: Final = re.compile(r"[A-Z][\w ]{0,30}: ?.{0,200}")
_ERROR_TAG: Final = re.compile(r"\s*<(tool_use_error|tool_error)>")
_CODES: Final = ("exit_code", "exitCode", "exitcode", "returncode", "return_code")
_TEXT_TYPES: Final = ("text", "input_text", "output_text", "document")
_ERROR_TYPES: Final = frozenset({"error", "error-text", "error-json", "tool_error", "execution-denied"})
_INNER: Final = ("output", "result", "content", "value", "text", "document", "data")
"""Keys under which a result may be wrapped."""
_WRAPPERS: Final = {*_INNER, "type", "metadata", "structuredContent", "isError", "is_error", "success"}
_DEPTH: Final = 6
"""Wrappers that are opened: JSON in strings, lists of contents."""
_WORD: Final = re.compile(r"[\w.+~\\/-]+(?::\d[\w.+-]*)*")
_VOLATILE: Final = re.compile(r"[\d\\/]")
"""What makes a word a number, a time, an id or a path."""
_ARGUMENT: Final = "\0"
"""Stands for the value of an argument in a known result."""
_VALUES: Final = re.compile("[#\0]*\0[#\0]*")
"""Such a value with the rest of the path or id that it is part of."""
_LETTERS: Final = 4
"""Letters beside the values of arguments that a known result needs to be recognised."""


def evidence(result: ToolResult, known: Iterable[KnownResult] = ()) -> Evidence:
    """What a result shows of its call.

    `known` are results that the same tool gives when it runs: with them, a result of another kind is a rejection.
    Without them, a text that only reports an error shows nothing.
    """
    if result.error:
        return Evidence(Sign.REJECTED, f"marked as an error ({result.error})")
    found = next(_signs(result.text), None)
    if found is not None and found.sign is Sign.REJECTED:
        return found
    judged = [sign for one in known if (sign := _compared(result.text, one)) is not None]
    if True in judged:
        return Evidence(Sign.ACCEPTED, "matches the result of the healthy run")
    if found is not None:
        return found
    if judged:
        return Evidence(Sign.REJECTED, "differs from the result of the healthy run")
    return Evidence(Sign.UNKNOWN, "no result of a healthy run to compare with")


def _error_mark(fields: Json) -> str:
    """The field by which an object marks itself as an error; `""` if there is none."""
    if not isinstance(fields, dict):
        return ""
    return next((key for key, marks in _MARKS.items() if key in fields and marks(fields[key])), "")


def _is_code(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value != 0


_MARKS: Final = {
    "is_error": lambda value: value is True,
    "isError": lambda value: value is True,
    "success": lambda value: value is False,
    "ok": lambda value: value is False,
    "status": lambda value: value == "error",
    "type": lambda value: isinstance(value, str) and value in _ERROR_TYPES,
    "error": lambda value: value is True or (isinstance(value, str | dict) and bool(value)),
    **dict.fromkeys(_CODES, _is_code),
}
"""Fields that mark an error, with the test of their value."""
_PASSED: Final = {"success": True, "ok": True, **dict.fromkeys(_CODES, 0)}
"""Fields that contradict a field `error`, which then only warns."""


def _signs(value: Json, depth: int = _DEPTH) -> Iterator[Evidence]:
    """The signs in a result and in what it wraps, the outermost first."""
    if depth == 0:
        return
    if isinstance(value, str):
        inner = value_of(value) if value.lstrip()[:1] in ("{", "[", '"') else INVALID
        yield from _text_signs(value) if inner is INVALID else _signs(inner, depth - 1)
    elif isinstance(value, list):
        for part in value:
            if isinstance(part, dict) and part.get("type") in _TEXT_TYPES:
                yield from _signs(part, depth - 1)
    elif isinstance(value, dict):
        yield from _object_signs(value, depth)


def _object_signs(value: dict[str, Json], depth: int) -> Iterator[Evidence]:
    for owner in (value, value.get("metadata")):
        mark = _error_mark(owner)
        contradicted = mark == "error" and any(key in value and value[key] == good for key, good in _PASSED.items())
        if mark and not contradicted:
            yield Evidence(Sign.REJECTED, f"the result is an error ({mark})")
        elif isinstance(owner, dict) and any(owner.get(key) == 0 and key in owner for key in _CODES):
            yield Evidence(Sign.ACCEPTED, "the command ended with exit code 0")
    if value.keys() <= _WRAPPERS:
        for key in _INNER:
            yield from _signs(value.get(key), depth - 1)


def _text_signs(text: str) -> Iterator[Evidence]:
    if tag := _ERROR_TAG.match(text):
        yield Evidence(Sign.REJECTED, f"the result is an error (<{tag[1]}>)")
    lines = [line.strip() for line in text.strip().splitlines()]
    for line in [*_header(lines), *lines[-1:], *_footer(lines)]:
        if code := _EXIT.fullmatch(line):
            rejected = int(code[1]) != 0
            sign = Sign.REJECTED if rejected else Sign.ACCEPTED
            yield Evidence(sign, f"the command ended with exit code {code[1]}")


def _header(lines: list[str]) -> Iterator[str]:
    """The fields before a command's output."""
    for line in lines:
        if line.lower() in {"output:", "output"} or not (_FIELD.fullmatch(line) or _EXIT.fullmatch(line)):
            return
        yield line


def _footer(lines: list[str]) -> Iterator[str]:
    """The fields after a command's output."""
    for line in reversed(lines):
        if not _FIELD.fullmatch(line):
            return
        yield line


def _compared(text: str, known: KnownResult) -> bool | None:
    """Whether a result equals a known one in kind; `None` where the known one has too little to be recognised by."""
    shown = _canonical(known.text)
    if _normal(shown) == _normal(_canonical(text)):
        return True
    values = {leaf.replace('"', "") for leaf in leaves(_argument_values(known.arguments))}
    for value in sorted(filter(None, values), key=len, reverse=True):
        shown = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", _ARGUMENT, shown)
    fixed = [part.strip() for part in _VALUES.sub(_ARGUMENT, _normal(shown)).split(_ARGUMENT)]
    if len(fixed) > 1 and sum(map(str.isalpha, "".join(fixed))) < _LETTERS:
        return None
    return _fits(fixed, _normal(_canonical(text)))


def _argument_values(arguments: str) -> Json:
    value = value_of(arguments)
    return arguments if value is INVALID else value


def _fits(fixed: list[str], text: str) -> bool:
    """Whether a text has these parts in this order, from its beginning to its end."""
    first, *others = fixed
    if not others:
        return first == text
    if not text.startswith(first):
        return False
    at = len(first)
    for part in others[:-1]:
        found = text.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return text.endswith(others[-1]) and len(text) - len(others[-1]) >= at


def _canonical(text: str) -> str:
    """JSON with sorted keys and without quotes; any other text as it is."""
    value = value_of(text) if text.lstrip()[:1] in ("{", "[") else INVALID
    if value is INVALID:
        return text.replace('"', "")
    return json.dumps(value, sort_keys=True, ensure_ascii=False).replace('"', "")


def _normal(text: str) -> str:
    """The text with one sign in the place of each number, time, id and path, and without superfluous spaces."""
    return " ".join(_WORD.sub(lambda word: "#" if _VOLATILE.search(word[0]) else word[0], text).split())
