"""Whether a complete text is JSON. Knows JSON only."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_equality import meaning
from toolstream_core.calls.scanner import INSIDE, SPACE, WHITE, JsonScanner
from toolstream_core.wire.json_value import scan_of

if TYPE_CHECKING:
    from toolstream_core.model import Seen


def _refused(name: str) -> None:
    """`NaN` and `Infinity` are not JSON."""
    raise ValueError(name)


_AT_ONCE: Final = scan_of(json.JSONDecoder(parse_constant=_refused, parse_int=str, parse_float=str))
"""Takes what the scanner takes, numbers of any length too, and is faster."""


def end_at_once(text: str) -> int:
    """Where the object ends that `text` begins with, if another one, or the same, ends `text`; else 0."""
    if text[:1] != "{" or text[-1:] != "}":
        return 0
    try:
        return _AT_ONCE(text, 0)[1]
    except (StopIteration, ValueError, RecursionError):
        return 0


def _value_end(text: str, at: int) -> int:
    """Where the JSON value ends that begins at `at`, 0 where none does."""
    try:
        return _AT_ONCE(text, at)[1]
    except (StopIteration, ValueError, RecursionError):
        return 0


def is_json(text: str) -> bool:
    """Whether `text` is one JSON value."""
    if end_at_once(text) == len(text) > 0:
        return True
    scanner = JsonScanner()
    return not text[scanner.feed(text) :].strip(WHITE) and scanner.is_complete


def closes_object(text: str) -> bool:
    """Whether `text` is one JSON value that ends with a brace: an object."""
    return text.rstrip(WHITE).endswith("}") and is_json(text)


def paired(text: str) -> str:
    """The text with surrogate pairs joined that arrived in two fragments."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def without(value: str, again: str) -> str:
    """The text after arguments, without repetitions of them, also as a JSON string."""
    at, means = 0, ""
    while at < len(again):
        if again.startswith(value, at):
            end = at + len(value)
        else:
            end = _value_end(again, at)
            means = means or meaning(unwrapped(value))
            if not end or meaning(unwrapped(again[at:end])) != means:
                break
        at = SPACE.match(again, end).end()  # type: ignore[union-attr]  # matches nothing too
    return again[at:]


def is_object(text: str) -> bool:
    """Whether the text is a JSON object."""
    return text.lstrip(WHITE).startswith("{") and is_json(text)


def unwrapped(text: str) -> str:
    """The inner text if a JSON string holds an object: the intended arguments if they were encoded twice."""
    if not text.lstrip(WHITE).startswith('"'):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str) and is_object(value) else text


_BEGUN_STRING: Final = re.compile(rf'("{INSIDE})(?:\\(?:u[0-9a-fA-F]{{0,3}})?)?')


def begun_inside(text: str) -> str:
    """The text so far within a JSON string that is open; the text itself if it is no JSON string."""
    found = _BEGUN_STRING.fullmatch(text)
    return json.loads(f'{found[1]}"') if found else text


def has_nothing(arguments: Seen[str]) -> bool:
    """Whether a call has no arguments: absent, or a placeholder for none."""
    return not isinstance(arguments, str) or arguments.strip(WHITE) in {"", "{}", "null"}
