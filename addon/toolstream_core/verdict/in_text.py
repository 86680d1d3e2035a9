"""Calls that clients wrote into the text of messages: as JSON in JSON, XML, Python."""

from __future__ import annotations

import html
import json
import re
from typing import TYPE_CHECKING, Final

from toolstream_core.verdict.compare import INVALID, leaves, value_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from toolstream_core.verdict.outcome import Meant

_ESCAPES: Final = re.compile(r"\\+")


def stands_in(call: Meant, text: str) -> bool:
    """Whether a text names the tool and holds each value of its arguments."""
    if not call.name or call.name not in text:
        return False
    value = value_of(call.arguments)
    flat = _flat(text)
    return all(_is_written(leaf, flat) for leaf in leaves({} if value is INVALID else value))


def half_stands_in(call: Meant, text: str) -> bool:
    """Whether a text names the tool and holds the arguments, as far as they came, of a call that never came whole."""
    if call.complete or not call.arguments or call.name not in text:
        return False
    return _is_written(call.arguments, _flat(text))


def _is_written(value: str, flat: str) -> bool:
    return any(_flat(way) in flat for way in _ways(value))


def _ways(value: str) -> Iterator[str]:
    """How a value may be written."""
    yield value.removesuffix(".0")
    yield json.dumps(value)[1:-1]
    yield json.dumps(value, ensure_ascii=False)[1:-1]
    yield html.escape(value)
    yield html.escape(value, quote=False)
    yield repr(value)[1:-1]


def _flat(text: str) -> str:
    """The text without what escapes in escapes add."""
    return _ESCAPES.sub(r"\\", text)
