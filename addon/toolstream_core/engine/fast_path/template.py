"""Reads a frame that differs from an earlier one only inside strings, without parsing it again. Knows JSON only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.model import EventContent, Fragment, Phase
from toolstream_core.wire.json_strings import scanstring

if TYPE_CHECKING:
    from collections.abc import Callable

    from toolstream_core.wire.frame import Frame

# Nearly all frames of a long call are the same bytes but for the fragment, the number of the event
# ("sequence_number"), and padding against traffic analysis: a string with OpenAI ("obfuscation"), spaces between
# closing brackets with Anthropic. If a frame's bytes are literally those of a frame that was parsed, except that one
# JSON string token stands where another stood, or one number, or other white space between brackets, its meaning is
# that frame's with these values changed: that follows from JSON's grammar, not from any habit of a provider. Whatever
# does not match to the byte is parsed as ever. What counts as "the" string is found in the parsed frame, by looking
# for the one token whose value is the fragment; where two tokens have that value nothing is learned.

STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
PLAIN_STRING = re.compile(rb'"[ !#-\[\]-~]*+"')
INTEGER = re.compile(rb"(?:0|[1-9][0-9]{0,17}+)(?=[,}])")
_COUNTER = re.compile(rb'"sequence_number"\s*:\s*(?=[0-9])')
_VARIES = re.compile(rb'"(?:obfuscation"\s*:\s*(?=")|sequence_number"\s*:\s*(?=[0-9]))')
_QUOTE = 0x22
CLOSING = b"]}\r\n"
MAX_LITERAL = 4096
"""Bytes of a frame around its fragment above which nothing is learned from it."""
MAX_MISSES = 16
"""Frames learned from in a row without use, after which a stream counts as one that has no likeness."""


class Value(NamedTuple):
    """Something that varies, and the bytes before it."""

    literal: bytes
    pattern: re.Pattern[bytes]


class Template(NamedTuple):
    """What is around the arguments of frames that are alike."""

    before: bytes
    """Up to the counter, or to the fragment where none stands before it."""
    neck: bytes | None
    """From the counter's end to the fragment; `None` where no counter stands before it."""
    rest: tuple[Value, ...]
    """What varies behind the fragment: padding, and the counter where it stands there."""
    tail: bytes
    """What follows, to the end of the frame; without its spaces where it is closing brackets only."""
    fragment: Fragment
    said: EventContent
    loose: bool
    """Whether nothing but closing brackets follows the fragment, which may have spaces between them."""


class TemplateReader:
    """A dialect's reader that remembers the last frame which brought bare arguments."""

    __slots__ = ("_like", "_misses", "_read", "match")

    def __init__(self, read: Callable[[Frame], EventContent]) -> None:
        """`read` is the dialect's own reader."""
        self._read = read
        self._like: Template | None = None
        self.match: Template | None = None
        """What the frame that was read last is like."""
        self._misses = 0

    def read(self, frame: Frame) -> EventContent:
        """What `frame` says: exactly what the dialect's reader would say."""
        like = self._like
        if like is not None and frame.raw.startswith(like.before):
            text = _string_where_expected(frame.raw, like)
            if text is not None:
                self._misses = 0
                self.match = like
                return content_with(like, text)
        said = self._read(frame)
        self.match = None
        if self._misses < MAX_MISSES and frame.data is not None and not frame.trailing:
            self._learn(frame, said)
        return said

    def _learn(self, frame: Frame, said: EventContent) -> None:
        if len(said.fragments) != 1 or said.finishes or said.text or said.error or said.end:
            return
        fragment = said.fragments[0]
        bare = fragment.phase is Phase.MORE and isinstance(fragment.arguments, str) and fragment.well_formed
        if not bare or not fragment.arguments:
            return  # An empty fragment is that of a header, and the frames behind it are not like it.
        raw = frame.raw
        if len(raw) - len(fragment.arguments) > MAX_LITERAL:
            return
        self._misses += 1
        plain = f'"{fragment.arguments}"'.encode("utf-8", "replace")
        tokens = [token for token in STRING.finditer(raw) if token.group() == plain or b"\\" in token.group()]
        places = [token for token in tokens if _value(token.group()) == fragment.arguments]
        if len(places) == 1:
            self._like = _template_reader(raw, places[0].span(), fragment, said)


def _template_reader(raw: bytes, span: tuple[int, int], fragment: Fragment, said: EventContent) -> Template:
    begin, at = span
    before, neck = raw[:begin], None
    counter = _COUNTER.search(before)
    number = INTEGER.match(raw, counter.end()) if counter else None
    if number is not None:
        before, neck = raw[: number.start()], raw[number.end() : begin]
    rest = []
    for key in _VARIES.finditer(raw, at):
        pattern = PLAIN_STRING if raw[key.end()] == _QUOTE else INTEGER
        token = pattern.match(raw, key.end())
        if token is not None:
            rest.append(Value(raw[at : key.end()], pattern))
            at = token.end()
    tight = raw[at:].replace(b" ", b"")
    loose = not rest and not tight.strip(CLOSING)
    return Template(before, neck, tuple(rest), tight if loose else raw[at:], fragment, said, loose)


def content_with(like: Template, text: str) -> EventContent:
    """What frames that are alike say, with these arguments."""
    choice, index, id_, item, name, _, type_, phase, kind, well_formed, cut = like.fragment
    fragment = Fragment(choice, index, id_, item, name, text, type_, phase, kind, well_formed, cut)
    return EventContent((fragment,), (), "", like.said.model)


def behind(raw: bytes, at: int, rest: tuple[Value, ...]) -> tuple[int, int | None]:
    """Where what varies behind a fragment ends that ends at `at`, or 0; and the counter, where it is among that."""
    counter = None
    for literal, pattern in rest:
        token = pattern.match(raw, at + len(literal)) if raw.startswith(literal, at) else None
        if token is None:
            return 0, None
        at = token.end()
        if pattern is INTEGER:
            counter = int(token.group())
    return at, counter


def _string_where_expected(raw: bytes, like: Template) -> str | None:
    """The string that stands where the fragment stood, if all around it is the same; it begins so already."""
    begin = len(like.before)
    if like.neck is not None:
        number = INTEGER.match(raw, begin)
        if number is None or not raw.startswith(like.neck, number.end()):
            return None
        begin = number.end() + len(like.neck)
    token = STRING.match(raw, begin)
    if token is None:
        return None
    end = token.end()
    at = behind(raw, end, like.rest)[0] if like.rest else end
    rest = raw[at:]
    if at and (rest == like.tail or (like.loose and rest.replace(b" ", b"") == like.tail)):
        return _value(raw[begin:end])
    return None


def _value(token: bytes) -> str | None:
    """The value of a JSON string token, or `None` where it is no valid one."""
    try:
        value, end = scanstring(token.decode("utf-8", "replace"), 1)
    except ValueError:
        return None
    return value if end else None
