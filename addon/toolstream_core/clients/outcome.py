"""What becomes of a call's arguments once the client has them: kept, emptied, completed, wrapped."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from toolstream_core.calls.json_text import is_json, is_object
from toolstream_core.clients import partial_json
from toolstream_core.clients.model import Invalid, NoObject
from toolstream_core.verdict.compare import INVALID, same, value_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

WRAPPED: Final = "INVALID_JSON"
"""The name that Pydantic AI gives arguments that are not JSON; each client has its own."""


def _empty(text: str) -> str:
    del text
    return "{}"


def _or_empty(made: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: made(text) or "{}"


def _wrapped(text: str) -> str:
    return json.dumps({WRAPPED: text}, ensure_ascii=False)


def _raw(text: str) -> str:
    return text


_RULES: Final[Mapping[Invalid, Callable[[str], str]]] = {
    Invalid.RAW: _raw,
    Invalid.EMPTY: _empty,
    Invalid.HEAD: _or_empty(partial_json.head),
    Invalid.COMPLETED: _or_empty(partial_json.completed),
    Invalid.SHORTENED: _or_empty(partial_json.shortened),
    Invalid.WRAPPED: _wrapped,
}


def kept_arguments(text: str, invalid: Invalid, no_object: NoObject) -> str:
    """What the client makes of `text`, its arguments as it put them together."""
    if not text.strip() or is_object(text):
        return text
    if not is_json(text):
        return _RULES[invalid](text)
    return _RULES[invalid](text) if no_object is NoObject.INVALID else text


def fits(text: str, invalid: Invalid, no_object: NoObject, echoed: str) -> bool:
    """Whether a client with these rules, whose arguments are `text`, says `echoed` in its next request."""
    made = kept_arguments(text, invalid, no_object)
    if same(made, echoed) or made.strip() == echoed.strip():
        return True
    if made == text or is_object(text):
        return False
    if invalid is Invalid.WRAPPED:
        value = value_of(echoed)
        return isinstance(value, dict) and len(value) == 1 and text in value.values()
    # Some parsers take the space off first, so that a string which was cut off behind one ends without it.
    return invalid is Invalid.COMPLETED and same(kept_arguments(text.rstrip(), invalid, no_object), echoed)


def is_valid(text: str) -> bool:
    """Whether arguments are JSON; none at all are."""
    return not text.strip() or value_of(text) is not INVALID
