"""A scanner for a JSON value that arrives in fragments."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

WHITE: Final = " \t\n\r"
"""White space of JSON."""
WS: Final = rf"[{WHITE}]*+"
INSIDE: Final = r'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
_NUMERAL: Final = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+"
_SCALAR: Final = rf'(?:"{INSIDE}"|{_NUMERAL}|true|false|null)'
SPACE: Final = re.compile(WS)
STRING: Final = re.compile(INSIDE)
TO_STRING: Final = re.compile(rf'"{WS}:{WS}"')
"""From the end of a key to the beginning of its value, if that is a string."""
FIRST_KEY: Final = re.compile(rf'{WS}\{{{WS}"')
"""From the beginning of an object to that of its first key."""
MEMBERS: Final = re.compile(rf'(?:{WS}"{INSIDE}"{WS}:{WS}{_SCALAR}{WS},)*+')
"""Complete members of an object that others follow."""
ITEMS: Final = re.compile(rf"(?:{WS}{_SCALAR}{WS},)*+")
"""Complete entries of an array that others follow."""
OUTSIDE: Final = re.compile(r'[^"{}\[\]]*+')
STRINGS: Final = re.compile(r'(?:[^"{}\[\]]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)
"""Complete strings, and the characters around them."""
_HEX: Final = frozenset("0123456789abcdefABCDEF")
_ESCAPED: Final = frozenset('"\\/bfnrt')
_HEX_DIGITS: Final = 4
LITERALS: Final = {"t": "true", "f": "false", "n": "null"}
_DIGITS: Final = dict.fromkeys("0123456789", "int")
_FRACTION: Final = {".": "point", "e": "e", "E": "e"}
NUMBER: Final[dict[str, dict[str, str]]] = {
    "-": {**_DIGITS, "0": "zero"},
    "zero": _FRACTION,
    "int": {**_DIGITS, **_FRACTION},
    "point": dict.fromkeys("0123456789", "fraction"),
    "fraction": {**dict.fromkeys("0123456789", "fraction"), "e": "e", "E": "e"},
    "e": {**dict.fromkeys("0123456789", "exponent"), "+": "sign", "-": "sign"},
    "sign": dict.fromkeys("0123456789", "exponent"),
    "exponent": dict.fromkeys("0123456789", "exponent"),
}
"""The transitions inside a number (RFC 8259, section 6)."""
WHOLE_NUMBER: Final = frozenset({"zero", "int", "fraction", "exponent"})


class State(Enum):
    """The expected part of the grammar."""

    VALUE = auto()
    FIRST_ITEM = auto()
    FIRST_KEY = auto()
    KEY = auto()
    COLON = auto()
    AFTER_VALUE = auto()
    """A comma or a closing bracket."""
    STRING = auto()
    NUMBER = auto()
    LITERAL = auto()
    END = auto()
    INVALID = auto()
    """The text is not JSON: only quotes and brackets are counted."""


def escape_with(escape: str, character: str) -> str | None:
    """An escape after its next character: `""` if it is complete, `None` if it is invalid."""
    if escape == "\\":
        return "\\u" if character == "u" else "" if character in _ESCAPED else None
    if character not in _HEX:
        return None
    return escape + character if len(escape) <= _HEX_DIGITS else ""


class JsonScanner:
    """Reads one JSON value from fragments with any boundaries; each character is read once.

    JSON is RFC 8259: what `json.loads` accepts, without `NaN` and `Infinity`. In text that is not JSON, quotes and
    brackets are counted: the end of the value is still found. `[ARGS]` before an object is not a list.
    """

    def __init__(self) -> None:
        self._state = State.VALUE
        self._open: list[str] = []
        self._key = False
        """Whether the open string is a key."""
        self.escape = ""
        """The part of an escape that arrived."""
        self._literal = ""
        """The missing part of a literal."""
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
        """Whether the text is JSON, or a possible beginning of it."""
        return self._state is not State.INVALID

    @property
    def is_complete(self) -> bool:
        """Whether the text is one JSON value. A number may continue."""
        if self._state is State.NUMBER:
            return not self._open and self._number in WHOLE_NUMBER
        return self._state is State.END

    def feed(self, text: str) -> int:
        """Read the next fragment; returns how many of its characters belong to the value."""
        at, size = 0, 0 if self.ended else len(text)
        if self._state is State.VALUE and not self._open and (begin := FIRST_KEY.match(text)) is not None:
            at = begin.end()
            self._open, self.depth, self._state = ["{"], 1, State.STRING
            self._key = self.in_string = True
        while at < size:
            match self._state:
                case State.STRING:
                    at = self._string(text, at)
                case State.INVALID:
                    at = self._invalid(text, at)
                case State.END:
                    break
                case State.NUMBER:
                    at = self._digit(text, at)
                case State.LITERAL:
                    at = self._letter(text, at)
                case _:
                    at = self._token(text, at)
            if self.ended:
                break
        return at

    def _token(self, text: str, at: int) -> int:
        """Read white space, and then a bracket, comma, colon, or the first character of a value."""
        state = self._state
        if state is State.KEY or state is State.FIRST_KEY:
            at = self._run(MEMBERS, text, at, State.KEY)
        elif state is State.FIRST_ITEM or (state is State.VALUE and self._open and self._open[-1] == "["):
            at = self._run(ITEMS, text, at, State.VALUE)
        at = SPACE.match(text, at).end()  # type: ignore[union-attr]  # matches nothing too
        if at == len(text):
            return at
        character = text[at]
        match self._state:
            case State.COLON:
                following = State.VALUE if character == ":" else None
            case State.AFTER_VALUE if character == ",":
                following = State.KEY if self._open[-1] == "{" else State.VALUE
            case State.AFTER_VALUE:
                following = self._closed(character)
            case State.KEY | State.FIRST_KEY:
                following = self._key_begins(character)
            case _:
                following = self._value_begins(character)
        if following is None:
            self._state = State.INVALID
            return at
        self._state = following
        return at + 1

    def _run(self, pattern: re.Pattern[str], text: str, at: int, after: State) -> int:
        """Skip plain text in one step."""
        end = pattern.match(text, at).end()  # type: ignore[union-attr]  # matches nothing too
        if end > at:
            self._state = after
        return end

    def _closed(self, character: str) -> State | None:
        if character != ("}" if self._open[-1] == "{" else "]"):
            return None
        self._open.pop()
        self.depth -= 1
        return self._done()

    def _done(self) -> State:
        """End a value."""
        if self._open:
            return State.AFTER_VALUE
        self.ended = True
        return State.END

    def _key_begins(self, character: str) -> State | None:
        if character == '"':
            self._key = self.in_string = True
            return State.STRING
        return self._closed(character) if self._state is State.FIRST_KEY and character == "}" else None

    def _value_begins(self, character: str) -> State | None:
        match character:
            case '"':
                self._key, self.in_string = False, True
                self.text_value = not self._open
                return State.STRING
            case "{" | "[":
                self._open.append(character)
                self.depth += 1
                return State.FIRST_KEY if character == "{" else State.FIRST_ITEM
            case "t" | "f" | "n":
                self._literal = LITERALS[character][1:]
                return State.LITERAL
            case "]" if self._state is State.FIRST_ITEM:
                return self._closed(character)
        self._number = "-" if character == "-" else NUMBER["-"].get(character, "")
        return State.NUMBER if self._number else None

    def _string(self, text: str, at: int) -> int:
        if self.escape:
            return self._escaped(text, at)
        at = STRING.match(text, at).end()  # type: ignore[union-attr]  # matches nothing too
        if self._key and (value := TO_STRING.match(text, at)) is not None:
            self._key = False
            at = STRING.match(text, value.end()).end()  # type: ignore[union-attr]  # matches nothing too
        if at == len(text):
            return at
        if text[at] == '"':
            self.in_string = False
            self._state = State.COLON if self._key else self._done()
        elif text[at] == "\\":
            self.escape = "\\"
        else:
            self._state = State.INVALID
            return at
        return at + 1

    def _escaped(self, text: str, at: int) -> int:
        """Read an escape that is split over two fragments, or invalid."""
        escape = self.escape
        following = escape_with(escape, text[at])
        if following is None:
            self._state, self.escape = State.INVALID, ""
            return at + 1 if escape == "\\" else at
        self.escape = following
        return at + 1

    def _digit(self, text: str, at: int) -> int:
        following = NUMBER[self._number].get(text[at])
        if following is not None:
            self._number = following
            return at + 1
        if self._number in WHOLE_NUMBER and (self._open or text[at] in " \t\n\r"):
            self._state = State.AFTER_VALUE if self._open else State.END
        else:
            self._state = State.INVALID
        return at

    def _letter(self, text: str, at: int) -> int:
        if text[at] != self._literal[0]:
            self._state = State.INVALID
            return at
        self._literal = self._literal[1:]
        if not self._literal:
            self._state = State.AFTER_VALUE if self._open else State.END
        return at + 1

    def _invalid(self, text: str, at: int) -> int:
        if self.escape:
            self.escape = ""
            return at + 1
        if self.in_string:
            return self._invalid_string(text, at)
        delivering = STRINGS if self.depth > 0 else OUTSIDE
        at = delivering.match(text, at).end()  # type: ignore[union-attr]  # matches nothing too
        if at == len(text):
            return at
        match text[at]:
            case '"':
                self.in_string = True
            case "{" | "[":
                self.depth += 1
            case closing:
                self.depth -= 1
                self.ended = self.depth <= 0 and (closing == "}" or self._open[:1] == ["{"])
        return at + 1

    def _invalid_string(self, text: str, at: int) -> int:
        end = text.find('"', at)
        escape = text.find("\\", at, len(text) if end < 0 else end)
        if escape >= 0:
            self.escape = "\\"
            return escape + 1
        if end < 0:
            return len(text)
        self.in_string, self.ended = False, self.depth == 0
        return end + 1


AN_OBJECT: Final = JsonScanner()
"""The state after an object in one fragment. A scanner whose value has ended never changes."""
AN_OBJECT.feed("{}")
NOTHING: Final = JsonScanner()
"""The state before the first fragment; must not be fed."""
