"""Text replaced by filler, character for character: the same text always by the same."""

from __future__ import annotations

import re
from string import ascii_lowercase
from typing import Final

from toolstream_core.redaction.settings import TextMode

# No name and no prefix of a secret can be spelled with these.
_LETTERS: Final = {TextMode.MASK: "xzvwqjyu", TextMode.SHAPE: "aeioulmr"}
_BEYOND_ASCII: Final = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")
_CHARACTER: Final = re.compile(rb"[a-zA-Z0-9]|" + _BEYOND_ASCII.pattern)
_BY_LENGTH: Final = {2: "é".encode(), 3: "中".encode(), 4: "😀".encode()}
_SURROGATE_BYTES: Final = 4


def _table(mode: TextMode) -> bytes:
    """Mask: every letter and every digit alike."""
    letters = _LETTERS[mode]
    table = {ord(str(digit)): ord("1" if mode is TextMode.MASK else "0258"[(digit + 2) // 3]) for digit in range(10)}
    for place, letter in enumerate(ascii_lowercase):
        lower = letters[0] if mode is TextMode.MASK else letters[place * 5 % len(letters)]
        table |= {ord(letter): ord(lower), ord(letter.upper()): ord(lower.upper())}
    return bytes(table.get(byte, byte) for byte in range(256))


_TABLES: Final = {mode: _table(mode) for mode in _LETTERS}


def fill(text: bytes, mode: TextMode) -> bytes:
    """Filler for UTF-8: letters and digits go, punctuation and spaces stay, each character keeps its bytes' number."""
    return _BEYOND_ASCII.sub(lambda found: _BY_LENGTH[len(found[0])], text.translate(_TABLES[mode]))


class Chain:
    """Filler for one value: each character depends on all before it, so that different values stay different."""

    def __init__(self, mode: TextMode) -> None:
        """At the value's beginning."""
        self._letters = _LETTERS[mode]
        self._state = 0

    def restart(self) -> None:
        """Another value begins."""
        self._state = 0

    def fill(self, text: bytes) -> bytes:
        """The value's next part, which is UTF-8."""
        return _CHARACTER.sub(lambda found: self._next(found[0]), text)

    def fill_escape(self, escape: bytes) -> bytes:
        r"""The same for `\uXXXX`."""
        code = int.from_bytes(bytes.fromhex(escape[2:].decode()))
        if code in range(0xD800, 0xE000):
            return rb"\ud83d" if code < 0xDC00 else rb"\ude00"  # noqa: PLR2004
        return rb"\u%04x" % ord(self.fill(chr(code).encode()).decode())

    def _next(self, character: bytes) -> bytes:
        if len(character) == _SURROGATE_BYTES:
            return _BY_LENGTH[_SURROGATE_BYTES]
        state = self._state = (self._state * 33 + int.from_bytes(character)) & 0xFFFFFFFF
        drawn = state ^ state >> 7
        if len(character) > 1:
            return _BY_LENGTH[len(character)]
        if character.isdigit():
            return b"%d" % (1 + drawn % 9)
        letter = self._letters[drawn % 8]
        return (letter if character.islower() else letter.upper()).encode()
