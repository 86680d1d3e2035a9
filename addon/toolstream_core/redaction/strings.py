"""Text with JSON escapes read as what it means, and overwritten where it stands."""

from __future__ import annotations

import enum
import re
from bisect import bisect_left, bisect_right
from string import ascii_lowercase
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.redaction.settings import TextMode

if TYPE_CHECKING:
    from collections.abc import Iterator


_ESCAPE: Final = re.compile(rb'\\(?:u([0-9a-fA-F]{4})|(["\\/bfnrt]))')
_SIMPLE: Final = {
    b"n": b"\n", b'"': b'"', b"t": b"\t", b"\\": b"\\", b"/": b"/", b"r": b"\r", b"b": b"\b", b"f": b"\f",
}  # fmt: skip
"""The most frequent ones first."""
_SURROGATES: Final = range(0xD800, 0xE000)
_SURROGATE: Final = b"\xff"
_UNICODE_LENGTH: Final = 6
_QUOTED: Final = re.compile(rb"%([0-9a-fA-F]{2})")
_QUOTED_LENGTH: Final = 3
_SPACED: Final = re.compile(rb"[?&][\w.\[\]-]{1,64}=[^&\s+]{0,8192}\+")


class Edit(NamedTuple):
    """Bytes that replace as many others."""

    at: int
    data: bytes


def beside_escapes(text: bytes, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a span that belong to no escape: those are only ever overwritten as a whole."""
    at = max(0, start - _UNICODE_LENGTH)
    while at and text[at - 1 : at] == b"\\":
        at -= 1
    for found in _ESCAPE.finditer(text, at, min(len(text), end + _UNICODE_LENGTH)):
        if found.start() >= end:
            break
        if found.start() > start:
            yield start, found.start()
        start = max(start, found.end())
    if start < end:
        yield start, end


class Unescaped:
    """What escaped bytes mean, as UTF-8; a surrogate counts as one byte of no character."""

    def __init__(self, raw: bytes) -> None:
        """Read the escapes in `raw`."""
        self._raw = raw
        self.text = _unescaped(raw)
        """What the bytes mean."""
        self.hides = b"\\u" in raw or b"\\/" in raw
        """Whether an escape may stand for a character of a key."""
        self._outs: list[int] = []
        self._ins: list[int] = []

    def _locate(self) -> None:
        """Where each escape stands, and each text between two of them. Mostly nobody asks."""
        size = at = 0
        for found in _ESCAPE.finditer(self._raw):
            start = found.start()
            if start > at:
                self._outs.append(size)
                self._ins.append(at)
                size += start - at
            self._outs.append(size)
            self._ins.append(start)
            size += len(_meaning(found))
            at = found.end()
        self._outs += [size, size + len(self._raw) - at]
        self._ins += [at, len(self._raw)]

    def on_raw(self, edit: Edit) -> Iterator[Edit]:
        """An edit of `text` as edits of the escaped bytes; an escape of one letter stays."""
        if not self._outs:
            self._locate()
        at, end = edit.at, edit.at + len(edit.data)
        segment = bisect_right(self._outs, at) - 1
        while at < end and segment < len(self._outs) - 1:
            stop = min(end, self._outs[segment + 1])
            data = edit.data[at - edit.at : stop - edit.at]
            into = self._ins[segment]
            length = self._ins[segment + 1] - into
            if self._outs[segment + 1] - self._outs[segment] == length:
                yield Edit(into + at - self._outs[segment], data)
            elif length == _UNICODE_LENGTH and data:
                yield Edit(into + 2, self._escape(into, data))
            at = stop
            segment += 1

    def _escape(self, at: int, data: bytes) -> bytes:
        """The digits of the escape that stands at `at`, for another character, or for as many `*` as it has bytes."""
        if data == _SURROGATE:
            return b"d83d" if self._raw[at + 3 : at + 4] in b"89abAB" else b"de00"
        return b"%04x" % (ord(data.decode()[0]) if len(data) > 1 else data[0])


def _unescaped(raw: bytes) -> bytes:
    """By whole replacements: no JSON string holds a zero byte."""
    if b"\\u" in raw or b"\0" in raw:
        return _ESCAPE.sub(_meaning, raw)
    text = raw.replace(b"\\\\", b"\0")
    for letter, meant in _SIMPLE.items():
        if b"\\" not in text:
            break
        text = text.replace(b"\\" + letter, meant)
    return text.replace(b"\0", b"\\")


def _meaning(found: re.Match[bytes]) -> bytes:
    if found[2] is not None:
        return _SIMPLE[found[2]]
    code = int(found[1], 16)
    return _SURROGATE if code in _SURROGATES else chr(code).encode()


def has_quoted(text: bytes) -> bool:
    """Whether some of it is percent-encoded, or a query with spaces."""
    return (b"%" in text and _QUOTED.search(text) is not None) or (b"+" in text and _SPACED.search(text) is not None)


class Unquoted:
    """What percent-encoded bytes mean, and `+`, which is a space there."""

    def __init__(self, raw: bytes) -> None:
        """Read what is encoded in `raw`."""
        self._raw = raw
        self.text = _QUOTED.sub(lambda found: bytes([int(found[1], 16)]), raw.replace(b"+", b" "))
        """What the bytes mean."""
        self._coded: list[int] | None = None

    def on_raw(self, edit: Edit) -> Iterator[Edit]:
        """An edit of `text` as edits of the encoded bytes, of which each is overwritten thrice."""
        if self._coded is None:
            self._coded = [
                found.start() - (_QUOTED_LENGTH - 1) * number
                for number, found in enumerate(_QUOTED.finditer(self._raw))
            ]
        for at, byte in enumerate(edit.data, edit.at):
            before = bisect_left(self._coded, at)
            coded = before < len(self._coded) and self._coded[before] == at
            yield Edit(at + (_QUOTED_LENGTH - 1) * before, bytes([byte]) * (_QUOTED_LENGTH if coded else 1))


_NAME: Final = 32
"""Bytes beyond which what stands where a name does may be anything."""
_INSIDE: Final = rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+'
# Fields that never carry a piece of a text; passed over in C, as each event has several of them.
_NO_TEXT: Final = rb"id|object|model|type|role|finish_reason|system_fingerprint|service_tier|provider|event|status"
_PASSED: Final = (
    rb'(?:[^"]*+(?:"[^"\\\r\n]{0,%d}+"\s*+:\s*+(?=[^"\s])|"(?:' % _NAME
    + _NO_TEXT
    + rb')"\s*+:\s*+"[^"\\\r\n]*+"))*+[^"]*+'
)
# A string, and what stands behind it where it is a key; a string that a line cuts off counts too.
_LEAF: Final = re.compile(_PASSED + rb'"(' + _INSIDE + rb')(?:"(\s*+:\s*+(?:"(' + _INSIDE + rb')"?+)?+)?+)?+')
_REST: Final = re.compile(_INSIDE)


class Leaf(NamedTuple):
    """A string, without its quotes."""

    key: bytes
    """Of the field; empty in an array."""
    start: int
    end: int
    outset: int
    """Where its key begins, or its own quote."""


def leaves(text: bytes, open_key: bytes | None = None) -> Iterator[Leaf]:
    """The strings that are values, in order, and names that are as long as a text.

    With `open_key` the text begins inside the value of that key.
    """
    at = 0
    if open_key is not None:
        at = _REST.match(text).end()  # type: ignore[union-attr]
        yield Leaf(open_key, 0, at, 0)
        at += 1
    # Not searched for, but matched: where nothing more is found, that is told once.
    while found := _LEAF.match(text, at):
        outset, at = found.start(1) - 1, found.end()
        start, end = found.span(3)
        if found[2] is None or found.end(1) - outset > _NAME + 1:
            yield Leaf(b"", *found.span(1), outset)
        if start >= 0:
            yield Leaf(found[1], start, end, outset)


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


_INSIDE_STRING: Final = rb'[^"\\\r\n]*+(?:\\[^\r\n][^"\\\r\n]*+)*+'
_TOKEN: Final = re.compile(
    rb'"(' + _INSIDE_STRING + rb')("?)|([{\[])|([}\]])|(,)|(-?[0-9][0-9.eE+-]*)|\n(?:(?=data:|event:|\{")|(?=\r?\n))'
)
_REST_OF_STRING: Final = re.compile(rb"(" + _INSIDE_STRING + rb')("?)')
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
            rest = _REST_OF_STRING.match(text)
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
