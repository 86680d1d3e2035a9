"""Arguments of calls, whose values become filler while they stay the JSON that they were."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from toolstream_core.redaction.filler import Chain

if TYPE_CHECKING:
    from toolstream_core.redaction.settings import TextMode

_OUTSIDE: Final = re.compile(rb'["{}\[\],:]|[^"{}\[\],:]+')
_INSIDE: Final = re.compile(rb'"|\\u[0-9a-fA-F]{4}|\\.?|[^"\\]+', re.DOTALL)
# What JSON, or JSON in a string, needs to stay what it is.
_LITERALS: Final = re.compile(
    rb"""(?<![^\s{\[,:(=])(?:true|false|null|None|True|False|NaN|-?Infinity|undefined)(?![^\s}\],)"'\\])"""
    rb"|(?<=[0-9])[eE](?=[+-]?[0-9])"
)
# A string that holds all of the arguments: they are JSON a second time.
_IN_STRING: Final = re.compile(
    rb'\\"[^"\\]*\\"(?=\s*:)|\\\\(?:u[0-9a-fA-F]{4}|.)|\\u[0-9a-fA-F]{4}|\\.|' + _LITERALS.pattern, re.DOTALL
)
_REMEMBERED: Final = 4096
_RESTART: Final = 2


def _filled_between(text: bytes, kept: re.Pattern[bytes], chain: Chain) -> bytes:
    parts, at = [], 0
    for found in kept.finditer(text):
        parts += [chain.fill(text[at : found.start()]), found[0]]
        at = found.end()
    return b"".join([*parts, chain.fill(text[at:])])


def fill_value(text: bytes, mode: TextMode) -> bytes:
    """Filler for one value of arguments."""
    return _filled_between(text, _LITERALS, Chain(mode))


class ArgumentsFiller:
    """One call's arguments, as they come. Keys, punctuation, literals and escapes stay."""

    def __init__(self, mode: TextMode) -> None:
        """Nothing has come."""
        self._chain = Chain(mode)
        self._begin, self._said = b"", 0
        self.restart()

    def restart(self) -> None:
        """What comes next is read from the beginning."""
        self._open = bytearray()
        self._key_next = False
        self._in: bytes | None = None
        self._all_in_string: bool | None = None
        self._chain.restart()

    def restarts(self, piece: bytes) -> bool:
        """Whether a fragment says again what was said, and more: then it is read from the beginning."""
        again = len(piece) >= self._said >= _RESTART and piece.startswith(self._begin) and piece[:1] in b"{["
        if again:
            self._begin, self._said = b"", 0
        self._said += len(piece)
        if len(self._begin) < _REMEMBERED:
            self._begin += piece[: _REMEMBERED - len(self._begin)]
        return again

    def fill(self, text: bytes) -> bytes:
        """The text that follows, filled."""
        if self._all_in_string is None and text:
            self._all_in_string = text.startswith(b'"')
        if self._all_in_string:
            return _filled_between(text, _IN_STRING, self._chain)
        parts: list[bytes] = []
        at = 0
        while at < len(text):
            found = (_OUTSIDE if self._in is None else _INSIDE).match(text, at)
            assert found is not None
            parts.append(self._outside(found[0]) if self._in is None else self._inside(found[0]))
            at = found.end()
        return b"".join(parts)

    def _outside(self, token: bytes) -> bytes:
        if token not in _PUNCTUATION:
            return _filled_between(token, _LITERALS, self._chain)
        self._chain.restart()
        if token == b'"':
            self._in = b"key" if self._key_next else b"value"
        elif token in b"{[":
            self._open += token
            self._key_next = token == b"{"
        elif token in b"}]":
            del self._open[-1:]
            self._key_next = False
        else:
            self._key_next = token == b"," and self._open[-1:] == b"{"
        return token

    def _inside(self, token: bytes) -> bytes:
        if token == b'"':
            self._in = None
        elif self._in == b"value":
            if token.startswith(b"\\u"):
                return self._chain.fill_escape(token)
            if not token.startswith(b"\\"):
                return _filled_between(token, _LITERALS, self._chain)
        return token


_PUNCTUATION: Final = frozenset({b'"', b"{", b"}", b"[", b"]", b",", b":"})
