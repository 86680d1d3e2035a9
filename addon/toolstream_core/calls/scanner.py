"""JSON text that comes in pieces: whether it is whole, and whether it still can be. Knows JSON only."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

_WS: Final = r"[ \t\n\r]*+"
_INSIDE: Final = r'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
_NUMBER: Final = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+"
_SCALAR: Final = rf'(?:"{_INSIDE}"|{_NUMBER}|true|false|null)'
_SPACE: Final = re.compile(_WS)
_STRING: Final = re.compile(_INSIDE)
_MEMBERS: Final = re.compile(rf'(?:{_WS}"{_INSIDE}"{_WS}:{_WS}{_SCALAR}{_WS},)*+')
"""Members of an object that are whole and followed by others."""
_ITEMS: Final = re.compile(rf"(?:{_WS}{_SCALAR}{_WS},)*+")
"""Entries of an array that are whole and followed by others."""
_OUTSIDE: Final = re.compile(r'[^"{}\[\]]*+')
_STRINGS: Final = re.compile(r'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
"""Strings that are whole, and what stands around them."""
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_ESCAPED: Final = frozenset('"\\/bfnrt')
_HEX_DIGITS: Final = 4
_LITERALS: Final = {"t": "true", "f": "false", "n": "null"}
_DIGITS: Final = dict.fromkeys("0123456789", "int")
_FRACTION: Final = {".": "point", "e": "e", "E": "e"}
_NEXT: Final[dict[str, dict[str, str]]] = {
    "-": {**_DIGITS, "0": "zero"},
    "zero": _FRACTION,
    "int": {**_DIGITS, **_FRACTION},
    "point": dict.fromkeys("0123456789", "fraction"),
    "fraction": {**dict.fromkeys("0123456789", "fraction"), "e": "e", "E": "e"},
    "e": {**dict.fromkeys("0123456789", "exponent"), "+": "sign", "-": "sign"},
    "sign": dict.fromkeys("0123456789", "exponent"),
    "exponent": dict.fromkeys("0123456789", "exponent"),
}
"""What leads where in a number (RFC 8259, section 6)."""
_FULL: Final = frozenset({"zero", "int", "fraction", "exponent"})


class _At(Enum):
    """What the next character belongs to."""

    VALUE = auto()
    FIRST_ITEM = auto()
    FIRST_KEY = auto()
    KEY = auto()
    COLON = auto()
    BEHIND = auto()
    """A comma or a closing bracket."""
    STRING = auto()
    NUMBER = auto()
    LITERAL = auto()
    OVER = auto()
    BROKEN = auto()
    """No JSON any more: only quotes and brackets are counted."""


class JsonScanner:
    """Takes one JSON value in pieces cut anywhere; each character is looked at once.

    What it takes for JSON is RFC 8259: what `json.loads` takes, without `NaN` and `Infinity`. Text that is no JSON
    is followed by its quotes and brackets from there on, so that its end is still found.
    """

    __slots__ = ("_at", "_escape", "_key", "_literal", "_number", "_open", "depth", "ended", "in_string", "text_value")

    def __init__(self) -> None:
        """Nothing has come."""
        self._at = _At.VALUE
        self._open: list[str] = []
        self._key = False
        """Whether the open string is a key."""
        self._escape = ""
        """An escape as far as it has come."""
        self._literal = ""
        """What of a literal is still to come."""
        self._number = ""
        self.depth = 0
        """Objects and arrays that are open."""
        self.in_string = False
        self.ended = False
        """Whether an object, array or string was opened and closed again."""
        self.text_value = False
        """Whether the value is a string."""

    @property
    def viable(self) -> bool:
        """Whether what came is JSON, or can be the beginning of it."""
        return self._at is not _At.BROKEN

    @property
    def whole(self) -> bool:
        """Whether what came is one JSON value. A number may still go on."""
        if self._at is _At.NUMBER:
            return not self._open and self._number in _FULL
        return self._at is _At.OVER

    @property
    def in_escape(self) -> bool:
        """Whether what came stops within an escape of a string."""
        return bool(self._escape)

    def feed(self, text: str) -> int:
        """Take the next piece; how much of it belongs to the value: less than all where something follows it."""
        at, size = 0, 0 if self.ended else len(text)
        while at < size:
            match self._at:
                case _At.STRING:
                    at = self._string(text, at)
                case _At.BROKEN:
                    at = self._broken(text, at)
                case _At.OVER:
                    break
                case _At.NUMBER:
                    at = self._digit(text, at)
                case _At.LITERAL:
                    at = self._letter(text, at)
                case _:
                    at = self._token(text, at)
            if self.ended:
                break
        return at

    def _token(self, text: str, at: int) -> int:
        """Between values: white space, brackets, commas, colons, and what begins a value."""
        state = self._at
        if state is _At.KEY or state is _At.FIRST_KEY:
            at = self._run(_MEMBERS, text, at, _At.KEY)
        elif state is _At.FIRST_ITEM or (state is _At.VALUE and self._open and self._open[-1] == "["):
            at = self._run(_ITEMS, text, at, _At.VALUE)
        at = _SPACE.match(text, at).end()  # type: ignore[union-attr]  # matches nothing too
        if at == len(text):
            return at
        character = text[at]
        match self._at:
            case _At.COLON:
                following = _At.VALUE if character == ":" else None
            case _At.BEHIND:
                following = self._behind(character)
            case _At.KEY | _At.FIRST_KEY:
                following = self._key_begins(character)
            case _:
                following = self._value_begins(character)
        if following is None:
            self._at = _At.BROKEN
            return at
        self._at = following
        return at + 1

    def _run(self, pattern: re.Pattern[str], text: str, at: int, behind: _At) -> int:
        """Let what is plain go by in one step."""
        end = pattern.match(text, at).end()  # type: ignore[union-attr]  # matches nothing too
        if end > at:
            self._at = behind
        return end

    def _behind(self, character: str) -> _At | None:
        if character == ",":
            return _At.KEY if self._open[-1] == "{" else _At.VALUE
        return self._closed(character)

    def _closed(self, character: str) -> _At | None:
        if character != ("}" if self._open[-1] == "{" else "]"):
            return None
        self._open.pop()
        self.depth -= 1
        return self._done()

    def _done(self) -> _At:
        """A value is over."""
        if self._open:
            return _At.BEHIND
        self.ended = True
        return _At.OVER

    def _key_begins(self, character: str) -> _At | None:
        if character == '"':
            self._key = self.in_string = True
            return _At.STRING
        return self._closed(character) if self._at is _At.FIRST_KEY and character == "}" else None

    def _value_begins(self, character: str) -> _At | None:
        match character:
            case '"':
                self._key, self.in_string = False, True
                self.text_value = not self._open
                return _At.STRING
            case "{" | "[":
                self._open.append(character)
                self.depth += 1
                return _At.FIRST_KEY if character == "{" else _At.FIRST_ITEM
            case "t" | "f" | "n":
                self._literal = _LITERALS[character][1:]
                return _At.LITERAL
            case "]" if self._at is _At.FIRST_ITEM:
                return self._closed(character)
        self._number = "-" if character == "-" else _NEXT["-"].get(character, "")
        return _At.NUMBER if self._number else None

    def _string(self, text: str, at: int) -> int:
        if self._escape:
            return self._escaped(text, at)
        at = _STRING.match(text, at).end()  # type: ignore[union-attr]  # matches nothing too
        if at == len(text):
            return at
        if text[at] == '"':
            self.in_string = False
            self._at = _At.COLON if self._key else self._done()
        elif text[at] == "\\":
            self._escape = "\\"
        else:
            self._at = _At.BROKEN
            return at
        return at + 1

    def _escaped(self, text: str, at: int) -> int:
        """An escape that is cut in two, or is none."""
        character, escape = text[at], self._escape
        if escape == "\\":
            self._escape = "\\u" if character == "u" else ""
            if character not in _ESCAPED and character != "u":
                self._at = _At.BROKEN
            return at + 1
        if character not in _HEX:
            self._at, self._escape = _At.BROKEN, ""
            return at
        self._escape = escape + character if len(escape) <= _HEX_DIGITS else ""
        return at + 1

    def _digit(self, text: str, at: int) -> int:
        following = _NEXT[self._number].get(text[at])
        if following is not None:
            self._number = following
            return at + 1
        if self._number not in _FULL:
            self._at = _At.BROKEN
        elif self._open:
            self._at = _At.BEHIND
        elif text[at] in " \t\n\r":
            self._at = _At.OVER
        else:
            self._at = _At.BROKEN
        return at

    def _letter(self, text: str, at: int) -> int:
        if text[at] != self._literal[0]:
            self._at = _At.BROKEN
            return at
        self._literal = self._literal[1:]
        if not self._literal:
            self._at = _At.BEHIND if self._open else _At.OVER
        return at + 1

    def _broken(self, text: str, at: int) -> int:
        if self._escape:
            self._escape = ""
            return at + 1
        if self.in_string:
            return self._broken_string(text, at)
        delivering = _STRINGS if self.depth > 0 else _OUTSIDE
        at = delivering.match(text, at).end()  # type: ignore[union-attr]  # matches nothing too
        if at == len(text):
            return at
        match text[at]:
            case '"':
                self.in_string = True
            case "{" | "[":
                self.depth += 1
            case _:
                self.depth -= 1
                self.ended = self.depth <= 0
        return at + 1

    def _broken_string(self, text: str, at: int) -> int:
        end = text.find('"', at)
        escape = text.find("\\", at, len(text) if end < 0 else end)
        if escape >= 0:
            self._escape = "\\"
            return escape + 1
        if end < 0:
            return len(text)
        self.in_string, self.ended = False, self.depth == 0
        return end + 1


AN_OBJECT: Final = JsonScanner()
"""What an object leaves behind that came at once: nothing changes a scanner any more whose value has ended."""
AN_OBJECT.feed("{}")
NOTHING: Final = JsonScanner()
"""Of which nothing has come; never to be fed."""
