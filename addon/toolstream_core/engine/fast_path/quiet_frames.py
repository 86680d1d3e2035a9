"""Text between the calls: frames like one that said nothing, which say nothing either. Knows JSON only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.engine.fast_path.template import CLOSING, INTEGER, MAX_LITERAL, MAX_MISSES, PLAIN_STRING

if TYPE_CHECKING:
    from collections.abc import Callable

# Whether a frame is quiet takes a dozen searches of it. If it is, to the byte, one that was quiet, but for strings
# that are text and nothing else, and for numbers and padding that concern nobody here, then it is quiet too: there is
# no key and no line in them. What the text itself may begin (`may_leak`) is looked for in the text alone.

_VALUE: Final = re.compile(
    rb'(?<=[{, ])"(?:(content|text|delta|reasoning_content|reasoning|thinking)'
    rb'|obfuscation|sequence_number|\w*[tT]oken\w*)" ?: ?(?=["0-9])'
)
_TEXT: Final = re.compile(
    rb'"(?![\x80-\xbf])[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u(?!00[0-7])[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+"',
)
_CLOSED: Final = re.compile(rb"[ }\]]*\r?\n(?:\r?\n)?")
_FIELDS: Final = (b"data:", b"event:", b"{")
_QUOTE: Final = 0x22


class Segment(NamedTuple):
    """Bytes that stay the same, and the value behind them, which does not."""

    literal: bytes
    value: re.Pattern[bytes]
    text: bool
    """Whether the value is text."""


class QuietFrames:
    """What the next frames of text may look like, and how many of them went by and were not handed on."""

    __slots__ = ("_loose", "_may_leak", "_misses", "_tail", "frames", "last", "on", "segments", "size")

    def __init__(self, may_leak: Callable[[bytes], bool]) -> None:
        """`may_leak`: as in `StageSet`."""
        self._may_leak = may_leak
        self.segments: list[Segment] = []
        """What the frames are like; empty where no pattern is known."""
        self._tail = b""
        self._loose = False
        self._misses = 0
        self.on = False
        """Whether such frames may go by."""
        self.frames = 0
        self.size = 0
        """Bytes of these frames."""
        self.last = b""
        """The last one of them."""

    def stop(self, raw: bytes, at: int) -> int:
        """Where a frame that begins at `at` ends, if it may go by, else 0."""
        if not self.on or not self.segments:
            return 0
        for literal, value, text in self.segments:
            if not raw.startswith(literal, at):
                return 0
            begin = at + len(literal)
            token = value.match(raw, begin)
            if token is None:
                return 0
            at = token.end()
            if text and self._may_leak(raw[begin:at]):
                return 0
        if self._loose:
            closed = _CLOSED.match(raw, at)
            at = closed.end() if closed is not None and closed.group().replace(b" ", b"") == self._tail else 0
        else:
            at = at + len(self._tail) if raw.startswith(self._tail, at) else 0
        if at:
            self._misses = 0
        return at

    def learn(self, raw: bytes) -> bool:
        """Take a frame that said nothing for a pattern; whether it can be one."""
        if (
            self._misses >= MAX_MISSES
            or len(raw) > MAX_LITERAL
            or not raw.startswith(_FIELDS)
            or not raw.endswith(b"\n")
        ):
            return False
        self._misses += 1
        segments, at = [], 0
        for key in _VALUE.finditer(raw):
            begin, is_text = key.end(), key.group(1) is not None
            value = INTEGER if raw[begin] != _QUOTE else _TEXT if is_text else PLAIN_STRING
            token = value.match(raw, begin)
            if token is None or begin < at:
                return False
            segments.append(Segment(raw[at:begin], value, is_text and value is _TEXT))
            at = token.end()
        tight = raw[at:].replace(b" ", b"")
        self._loose = not tight.strip(CLOSING)
        self._tail = tight if self._loose else raw[at:]
        self.segments = segments if self._misses < MAX_MISSES else []
        return bool(self.segments)

    def gone(self) -> tuple[int, int]:
        """How many frames went by, of how many bytes, since this was asked for last."""
        gone = self.frames, self.size
        self.frames = self.size = 0
        return gone
