"""Which field each string of a JSON text is the value of, and inside what; reads broken JSON too, as it comes."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Context(enum.Enum):
    """What the fields of an object are."""

    PROTOCOL = enum.auto()
    """Of the protocol: their names say what they are."""
    KEPT = enum.auto()
    """Of a schema, or counts: nobody's text."""
    TEXT = enum.auto()
    """Arguments, results: text whatever their names."""


class Value(NamedTuple):
    """A string's inside, or a number in `Context.TEXT`."""

    key: bytes
    """Of the field; in an array the array's."""
    context: Context
    start: int
    end: int
    is_string: bool


_INSIDE: Final = rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+'
_TOKEN: Final = re.compile(
    rb'"(' + _INSIDE + rb')("?)|([{\[])|([}\]])|(,)|(-?[0-9][0-9.eE+-]*)|\n(?:(?=data:|event:|\{")|(?=\r?\n))'
)
_REST: Final = re.compile(rb"(" + _INSIDE + rb')("?)')
_KEPT_TREES: Final = frozenset(
    b"tools functions tool_choice parameters input_schema response_format json_schema schema responseSchema format"
    b" usage usageMetadata usage_metadata safetyRatings safety_ratings promptFeedback toolConfig tool_config"
    b" safetySettings generationConfig options x_usage context_management stream_options toolSpec".split()
)
_TEXT_TREES: Final = frozenset(
    b"args arguments functionResponse function_response bytes output_parsed parsed tool_input".split()
)
_DEEPEST: Final = 1000


class Walker:
    """Reads one body. `copy` to look ahead."""

    def __init__(self) -> None:
        """At the beginning."""
        self._stack: list[tuple[bytes, Context, bytes]] = []
        self._key = b""
        self._key_next = False
        self._inside: bool | None = None

    def copy(self) -> Walker:
        """Another one that goes on from here."""
        other = Walker()
        other._stack = self._stack.copy()
        other._key, other._key_next, other._inside = self._key, self._key_next, self._inside
        return other

    @property
    def _context(self) -> Context:
        return self._stack[-1][1] if self._stack else Context.PROTOCOL

    def walk(self, text: bytes) -> Iterator[Value]:
        """The values of what comes next."""
        at = 0
        if self._inside is not None:
            rest = _REST.match(text)
            assert rest is not None
            yield from self._string(rest, is_key=self._inside, last=rest.end() == len(text))
            at = rest.end()
        for found in _TOKEN.finditer(text, at):
            if found[1] is not None:
                yield from self._string(found, is_key=self._key_next, last=found.end() == len(text))
            elif found[3]:
                self._enter(found[3])
            elif found[4]:
                self._leave()
            elif found[5]:
                self._key_next = bool(self._stack) and self._stack[-1][0] == b"{"
            elif found[6]:
                if self._context is Context.TEXT:
                    yield Value(self._key, Context.TEXT, *found.span(6), is_string=False)
            else:
                self._stack.clear()
                self._key_next = False

    def _string(self, found: re.Match[bytes], *, is_key: bool, last: bool) -> Iterator[Value]:
        if is_key:
            self._key = (self._key if self._inside else b"") + found[1]
        else:
            yield Value(self._key, self._context, *found.span(1), is_string=True)
        self._inside = is_key if last and not found[2] else None
        if self._inside is None:
            self._key_next = False

    def _enter(self, bracket: bytes) -> None:
        if len(self._stack) < _DEEPEST:
            self._stack.append((bracket, self._inner(bracket), self._key))
        self._key_next = bracket == b"{"

    def _inner(self, bracket: bytes) -> Context:
        if self._context is not Context.PROTOCOL:
            return self._context
        if self._key in _KEPT_TREES:
            return Context.KEPT
        if self._key in _TEXT_TREES or (self._key == b"input" and bracket == b"{"):
            return Context.TEXT
        return Context.PROTOCOL

    def _leave(self) -> None:
        if self._stack:
            self._key = self._stack.pop()[2]
        self._key_next = False
