"""Checks and compares complete JSON texts."""

from __future__ import annotations

import json
import re
from typing import Final

from toolstream_core.calls.scanner import INSIDE, SPACE, WHITE, JsonScanner
from toolstream_core.model import Json, Seen
from toolstream_core.wire.json_value import scan_of


def _refused(name: str) -> None:
    """`NaN` and `Infinity` are not JSON."""
    raise ValueError(name)


_AT_ONCE: Final = scan_of(json.JSONDecoder(parse_constant=_refused, parse_int=str, parse_float=str))
"""Accepts the same text as `JsonScanner`, numbers of any length included, and is faster."""


def end_at_once(text: str) -> int:
    """The end of the object that begins `text`, if `text` also ends with an object; else 0."""
    if text[:1] != "{" or text[-1:] != "}":
        return 0
    try:
        return _AT_ONCE(text, 0)[1]
    except (StopIteration, ValueError, RecursionError):
        return 0


def value_end(text: str, at: int) -> int:
    """The end of the JSON value that begins at `at`; 0 if there is none."""
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
    """The text with split surrogate pairs joined."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return text


def without(value: str, again: str) -> str:
    """The text `again` without repetitions of `value` at its beginning, also as JSON strings."""
    at, same = 0, ""
    while at < len(again):
        if again.startswith(value, at):
            end = at + len(value)
        else:
            end = value_end(again, at)
            same = same or canonical(unwrapped(value))
            if not end or canonical(unwrapped(again[at:end])) != same:
                break
        at = SPACE.match(again, end).end()  # type: ignore[union-attr]  # matches nothing too
    return again[at:]


def is_object(text: str) -> bool:
    """Whether the text is a JSON object."""
    return text.lstrip(WHITE).startswith("{") and is_json(text)


def lost_beginning(text: str) -> str:
    """The text that a complete text lacks at its beginning to be a JSON object: `{`, `{"`, or `""`."""
    if not text.rstrip(WHITE).endswith("}") or text.lstrip(WHITE).startswith(("{", "[")):
        return ""
    return next((begin for begin in ("{", '{"') if is_object(begin + text)), "")


def unwrapped(text: str) -> str:
    """The object inside a JSON string (double encoding); else the text itself."""
    if not text.lstrip(WHITE).startswith('"'):
        return text
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, str) and is_object(value) else text


_BEGUN_STRING: Final = re.compile(rf'("{INSIDE})(?:\\(?:u[0-9a-fA-F]{{0,3}})?)?')


def begun_inside(text: str) -> str:
    """The decoded text of an open JSON string; the text itself if it is not a JSON string."""
    found = _BEGUN_STRING.fullmatch(text)
    return json.loads(f'{found[1]}"') if found else text


def has_nothing(arguments: Seen[str]) -> bool:
    """Whether a call has no arguments: absent, or a placeholder for none."""
    return not isinstance(arguments, str) or arguments.strip(WHITE) in {"", "{}", "null"}


def canonical(text: str) -> str:
    """A text that is equal for equal JSON; `text` if it is not JSON. Python values would equate `true` and `1`."""
    try:
        return json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return text


def same_arguments(one: str, other: str) -> bool:
    """Whether two argument texts are equal, or equal as JSON."""
    return one == other or canonical(one) == canonical(other)


INVALID: Final = object()


def value_of(arguments: str) -> Json:
    """The value of argument text: nothing and `null` are `{}`; `INVALID` if the text is not JSON."""
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return INVALID
    return {} if value is None else value


def same(arguments: str, again: str) -> bool:
    """Whether two texts of arguments mean the same: `10` is `10.0`, the order of keys and spaces do not count."""
    if arguments == again:
        return True
    one, other = value_of(arguments), value_of(again)
    return one is not INVALID and other is not INVALID and equal(one, other)


def equal(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal; `true` is not `1`."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(equal(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(equal, one, other))
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    return bool(one == other)


def with_members(before: str, more: str) -> str:
    """Two objects without common keys as one; `""` if the texts are not two such objects."""
    try:
        one, other = json.loads(before), json.loads(more)
    except (ValueError, RecursionError):
        return ""
    if not (isinstance(one, dict) and isinstance(other, dict) and one and other) or one.keys() & other.keys():
        return ""
    return f"{before.rstrip(WHITE)[:-1]},{more.lstrip(WHITE)[1:]}"


def grows_into(before: str, after: str) -> bool:
    """Whether an object is a later state of another one: the same keys or more, and texts that only got longer."""
    try:
        one, other = json.loads(before), json.loads(after)
        return not equal(one, other) and _grows(one, other)
    except (ValueError, RecursionError):
        return False


def _grows(before: object, after: object) -> bool:
    if isinstance(before, dict) and isinstance(after, dict):
        return all(key in after and _grows(value, after[key]) for key, value in before.items())
    if isinstance(before, list) and isinstance(after, list):
        return len(before) <= len(after) and all(map(_grows, before, after))
    if isinstance(before, str) and isinstance(after, str):
        return after.startswith(before)
    return type(before) is type(after) and before == after
