"""The grammar of JSON (RFC 8259) for a scanner of fragments: what may be skipped, and which states follow."""

from __future__ import annotations

import re
from enum import Enum, auto
from typing import Final

WHITE: Final = " \t\n\r"
"""White space of JSON, and no other character that looks like it."""
WS: Final = rf"[{WHITE}]*+"
_INSIDE: Final = r'(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+'
_NUMERAL: Final = r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][-+]?[0-9]++)?+"
_SCALAR: Final = rf'(?:"{_INSIDE}"|{_NUMERAL}|true|false|null)'
SPACE: Final = re.compile(WS)
STRING: Final = re.compile(_INSIDE)
TO_STRING: Final = re.compile(rf'"{WS}:{WS}"')
"""From the end of a key to the beginning of its value, where that is a string."""
FIRST_KEY: Final = re.compile(rf'{WS}\{{{WS}"')
"""From the beginning of an object to that of its first key."""
MEMBERS: Final = re.compile(rf'(?:{WS}"{_INSIDE}"{WS}:{WS}{_SCALAR}{WS},)*+')
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
"""What leads where in a number (RFC 8259, section 6)."""
WHOLE_NUMBER: Final = frozenset({"zero", "int", "fraction", "exponent"})


class At(Enum):
    """The part of the grammar that the next character belongs to."""

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
    """The text is not JSON any more: only quotes and brackets are counted."""


def escape_with(escape: str, character: str) -> str | None:
    """A string's escape with its next character: `""` if it is complete, `None` if it is invalid."""
    if escape == "\\":
        return "\\u" if character == "u" else "" if character in _ESCAPED else None
    if character not in _HEX:
        return None
    return escape + character if len(escape) <= _HEX_DIGITS else ""
