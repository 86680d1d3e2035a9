"""The middle of a long call: frames that go the way of the one before them, unparsed. Knows JSON only."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.engine.fast_path.template import INTEGER, STRING, behind, content_with
from toolstream_core.model import SkippedRun
from toolstream_core.wire.json_strings import scanstring

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.engine.fast_path.template import Template
    from toolstream_core.model import EventContent

# Two frames in a row that were alike but for their arguments went the same way: both passed, or both were rewritten
# in the same place. A third one goes that way too, if no stage minds, and if its arguments are plain: text within the
# braces that are open, so that nothing begins, ends, or comes again in it. What a stage could find in it depends on
# the bytes around it, which are the same, and on the call's state, which plain text does not change. Within a string
# brackets are text too, as long as nothing that may end the string stands beside them: that is most of a long call,
# for files and code are written as strings. Texts are handed on joined before anything else is looked at. Where
# nothing is mended, a call whose arguments are odd already (encoded twice, whole and said again, cumulative) has a
# course that takes any text: its fragments are handed on one by one, to those alone that judge them.

_PLAIN: Final = re.compile(
    rb'"(?!["\x80-\xbf])[^"\\{}\[\]\x00-\x1f]*+'
    rb'(?:\\(?:["\\/bfnrt]|u(?!00[0-7]|[dD][89A-Fa-f])[0-9A-Fa-f]{4})[^"\\{}\[\]\x00-\x1f]*+)*+"'
)
"""A string, not empty, without brackets, its characters whole: nothing in it is half a pair."""
_AS_WRITTEN: Final = re.compile(rb'"(?!["\x80-\xbf])[^"\\{}\[\]\x00-\x1f]*+(?:\\["\\bfnrt][^"\\{}\[\]\x00-\x1f]*+)*+"')
"""Such a string as it would be written anew, for frames that are rewritten."""
_WITHIN: Final = re.compile(
    rb'"(?!["\x80-\xbf]|(?: |\\[nrt])*+\{)[^"\\\x00-\x1f]*+'
    rb'(?:\\(?:\\(?:\\["\\]|[/bfnrtu])|[bfnrt/]|u(?!00[0-7]|[dD][89A-Fa-f])[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+"'
)
"""A string that is text within a string of the arguments, and leaves it open: no quote in it but an escaped one."""
_WRITTEN_WITHIN: Final = re.compile(
    rb'"(?!["\x80-\xbf]|(?: |\\[nrt])*+\{)[^"\\\x00-\x1f]*+'
    rb'(?:\\(?:\\(?:\\["\\]|[/bfnrtu])|[bfnrt])[^"\\\x00-\x1f]*+)*+"'
)
"""Such a string as it would be written anew."""
_ENCODED: Final = re.compile(
    rb'"(?!["\x80-\xbf])[^"\\{}\[\]\x00-\x1f]*+(?:\\\\(?:\\["\\]|[/bfnrt])[^"\\{}\[\]\x00-\x1f]*+)*+"'
)
"""Such a string amid a string that holds arguments: in it every quote is escaped once more, so that none ends it."""
_ANY: Final = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+"')
"""Any string: for who goes by what each says, and takes it whatever that is."""
_WRITTEN: Final = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\["\\bfnrt][^"\\\x00-\x1f]*+)*+"')
"""Any string as it would be written anew."""
_CLOSED: Final = re.compile(rb"[ }\]]*\r?\n(?:\r?\n)?")
MANY: Final = 256
"""Texts after which they are handed on."""


type Match = tuple[int, int, int, int | None]
"""Where a frame that goes the course stands in a chunk: begin and end of its arguments, quotes included, and its own
end; and the number that the event gives itself, where it does."""


class Edit(NamedTuple):
    """What becomes of a frame: other bytes before its arguments, behind them, or both; `None` where they stay."""

    before: bytes | None = None
    behind: bytes | None = None


UNCHANGED: Final = Edit()
"""The frame passes."""


class SkippedFrames:
    """The way of one call's next frames."""

    __slots__ = (
        "_counter", "_inside", "_leaves", "_like", "_loose", "_odd", "_tail", "_token", "_within",
        "call", "first", "size", "tokens", "way",
    )  # fmt: skip

    def __init__(
        self, like: Template, way: Edit, call: OpenCall, raw: bytes, *, odd: bool = False, brackets: bool = False
    ) -> None:
        """`way`: what became of `raw`, the frame that is `like`.

        `odd`: whatever the arguments say goes this way. `brackets`: those within a string matter to nobody.
        """
        self._like = like
        self._loose = like.loose and way.behind is None
        self._tail = like.tail if self._loose else None
        """What closes a rewritten frame, which has no spaces there."""
        self.way = way
        self._odd = odd
        plain = _ENCODED if call.arguments.quoted else _PLAIN if way == UNCHANGED else _AS_WRITTEN
        self._token = _ANY if odd else plain
        within = _WITHIN if way == UNCHANGED else _WRITTEN_WITHIN
        self._within = within if brackets and not odd and not call.arguments.quoted else None
        self.call = call
        self._inside = self._leaves = False
        self.look()
        self.tokens: list[bytes] = []
        """The arguments of events that were not handed on, as they were written."""
        self._counter = _counter(like, raw)
        self.first = 0
        """Number of the first of these events."""
        self.size = 0
        """Bytes of these events."""

    def goes(self, like: Template, way: Edit, call: OpenCall, raw: bytes, *, odd: bool = False) -> bool:
        """Whether it is the course that these make; `raw` is its next frame then."""
        if self._like is not like or self.call is not call or self.way != way or self._odd is not odd:
            return False
        self._counter = _counter(like, raw)
        self.look()
        return True

    def look(self) -> None:
        """Find out whether a string of the arguments is open, now that the call has all its fragments."""
        text = self.call.arguments
        self._inside = (
            self._within is not None
            and text.scanner.in_string
            and text.scanner.depth > 0
            and text.viable
            and not text.in_escape
        )

    def match(self, raw: bytes, at: int) -> Match | None:
        """Whether a frame that begins at `at` goes the course; where events are numbered, the numbers go up."""
        before, neck, rest, tail = self._like[:4]
        counter = None
        if not raw.startswith(before, at):
            return None
        begin = at + len(before)
        if neck is not None:
            number = INTEGER.match(raw, begin)
            if number is None or not raw.startswith(neck, number.end()):
                return None
            begin, counter = number.end() + len(neck), int(number.group())
        token = self._within.match(raw, begin) if self._inside and self._within is not None else None
        self._leaves = token is None
        token = token or self._token.match(raw, begin)
        if token is None:
            return None
        at = end = token.end()
        if rest:
            at, number_behind = behind(raw, end, rest)
            counter = number_behind if counter is None else counter
        if not at or (counter is not None and (self._counter is None or counter <= self._counter)):
            return None
        if raw.startswith(tail, at):
            return begin, end, at + len(tail), counter
        if self._loose:
            closed = _CLOSED.match(raw, at)
            if closed is not None and closed.group().replace(b" ", b"") == tail:
                return begin, end, closed.end(), counter
        return None

    def take(self, raw: bytes, at: int, match: Match, number: int) -> bytes | None:
        """Remember the frame; what goes on in its place, `None` where it passes."""
        begin, end, stop, self._counter = match
        self._inside = self._inside and not self._leaves
        if not self.tokens:
            self.first = number
        self.tokens.append(raw[begin + 1 : end - 1])
        self.size += stop - at
        before, behind = self.way
        if before is not None and behind is not None:
            return before + raw[begin:end] + behind
        if before is not None:
            return before + (raw[begin:stop] if self._tail is None else raw[begin:end] + self._tail)
        if behind is not None:
            return raw[at:end] + behind
        return None

    def said(self) -> EventContent:
        """What the event says that was taken last."""
        return content_with(self._like, _text(self.tokens[-1]))

    def passed(self) -> SkippedRun:
        """The events that were not handed on, joined."""
        events, size = len(self.tokens), self.size
        pieces = [_text(token) for token in self.tokens] if self._odd else []
        joined = "" if self._odd else _text(b"".join(self.tokens))
        last = joined if self._odd or events == 1 else _text(self.tokens[-1])
        self.tokens.clear()
        self.size = 0
        return SkippedRun(self.first, events, size, joined, last, self.way != UNCHANGED, self._counter, pieces)


def edit_of(like: Template, raw: bytes, out: bytes) -> Edit | None:
    """How a frame that is like `like` became `out`, where that can be said of the next one too."""
    if raw == out:
        return UNCHANGED
    # Where the frame has a counter before its arguments, or begins otherwise, nothing is known of them.
    begin = len(like.before) if like.neck is None and raw.startswith(like.before) else 0
    token = _WRITTEN.match(raw, begin) if begin else None
    if token is None:
        return None
    rest = raw[begin : token.end()] + like.tail if like.loose else raw[begin:]
    if out.endswith(rest):
        return Edit(before=out.removesuffix(rest)) if like.neck is None else None
    if like.rest:
        return None
    if out.startswith(raw[: token.end()]):
        return Edit(behind=out[token.end() :])
    said = token.group()
    before, found, behind = out.partition(said)
    return Edit(before, behind) if found and like.neck is None and said not in behind else None


def _counter(like: Template, raw: bytes) -> int | None:
    """The number that the event gives itself, where it does."""
    if like.neck is not None:
        number = INTEGER.match(raw, len(like.before))
        return int(number.group()) if number is not None else None
    token = STRING.match(raw, len(like.before))
    return behind(raw, token.end(), like.rest)[1] if token is not None else None


def _text(inner: bytes) -> str:
    text: str = scanstring(inner.decode("utf-8", "replace") + '"', 0)[0]
    return text
