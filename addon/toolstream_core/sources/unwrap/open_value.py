"""A value that goes on over several lines: pretty-printed, or cut by the width of a terminal."""

from __future__ import annotations

import re
from typing import Final

_JSON_TOKENS: Final = re.compile(r'"(?:[^"\\]+|\\.)*+(?P<closed>")?|[\[\](){}]')
_TOKENS: Final = re.compile(r"""(?:"(?:[^"\\]+|\\.)*+(?P<closed>")?|'(?:[^'\\]+|\\.)*+(?P<closed1>')?)|[\[\](){}]""")
_REST: Final = {
    '"': re.compile(r'(?:[^"\\]+|\\.)*+(?P<closed>")?'),
    "'": re.compile(r"(?:[^'\\]+|\\.)*+(?P<closed>')?"),
}
_BEGIN: Final = re.compile(r"(?:data:\s*)?[{\[]\s*(.?)")
_MAX: Final = 16 * 1024 * 1024
_OPENING: Final = "[({"
_JSON_BEGINS: Final = frozenset('"[{}]')


class OpenValue:
    """Counts brackets as lines come, each character once."""

    def __init__(self, notation: str, text: str) -> None:
        """`text` is the value's part on its first line."""
        self.notation = notation
        self._parts: list[str] = []
        self._size = 0
        self._depth = 0
        self._quote = ""
        self._tokens: re.Pattern[str] | None = None
        """What to look for: only double quotes in JSON, single ones too elsewhere; unknown after a bare `{`."""
        begin = _BEGIN.match(text)
        if begin is None or begin[1]:
            self._choose(begin[1] if begin else "")
        self._count(text)

    @property
    def text(self) -> str:
        """All of it so far."""
        return "".join(self._parts)

    @property
    def open(self) -> bool:
        """Whether more has to come."""
        return self._depth > 0

    def add(self, line: str) -> str | None:
        """All lines so far, once the value is complete or cannot become so."""
        if self._tokens is None and line.strip():
            self._choose(line.lstrip()[0])
        self._count(line)
        return None if self.open and self._size < _MAX else self.text

    def _choose(self, first: str) -> None:
        self._tokens = _JSON_TOKENS if first in _JSON_BEGINS else _TOKENS

    def _count(self, line: str) -> None:
        self._parts.append(line)
        self._size += len(line)
        at = 0
        if self._quote and (rest := _REST[self._quote].match(line)):
            if rest["closed"] is None:
                return
            at, self._quote = rest.end(), ""
        for token in (self._tokens or _JSON_TOKENS).finditer(line, at):
            first = token[0][0]
            if first in _REST:
                self._quote = "" if token.lastgroup else first
            else:
                self._depth += 1 if first in _OPENING else -1
                if self._depth <= 0:
                    return
