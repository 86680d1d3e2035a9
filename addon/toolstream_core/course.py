"""The middle of a long call: frames that go the way of the one before them, unparsed. Knows JSON only."""

from __future__ import annotations

import re
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in the stubs
from typing import TYPE_CHECKING, Final, NamedTuple

from toolstream_core.likeness import CLOSING, INTEGER, PLAIN_STRING
from toolstream_core.model import Event, Passed
from toolstream_core.wire.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.calls import OpenCall
    from toolstream_core.likeness import Like, Likeness
    from toolstream_core.plan import Plan
    from toolstream_core.wire.sse import SseFramer

type Send = Callable[[bytes, int, int, bytes | None], None]
"""Takes a chunk, a frame's begin and end in it, and what goes on in its place if it does not pass."""

# Two frames in a row that were alike but for their arguments went the same way: both passed, or both were rewritten
# in the same place. A third one goes that way too, if no stage minds, and if its arguments are plain: text within the
# braces that are open, so that nothing begins, ends, or comes again in it. What a stage could find in it depends on
# the bytes around it, which are the same, and on the call's state, which plain text does not change. Their texts are
# handed on joined before anything else is looked at.

_PLAIN: Final = re.compile(rb'"(?!["\x80-\xbf])[^"\\{}\[\]]*+(?:\\["\\/bfnrt][^"\\{}\[\]]*+)*+"')
"""A string, not empty, without brackets, its characters whole and none said by its number: it may be half a pair."""
_CLOSED: Final = re.compile(rb"[ }\]]*\r?\n\r?\n")
MANY: Final = 256
"""Texts after which they are handed on."""


class Match(NamedTuple):
    """Where a frame that goes the course stands in a chunk."""

    begin: int
    """Of the arguments, quotes included."""
    end: int
    """Of the arguments."""
    stop: int
    """Of the frame."""


class Way(NamedTuple):
    """What becomes of a frame: other bytes before its arguments, or behind them; `None` where they stay."""

    before: bytes | None = None
    behind: bytes | None = None


ALIKE: Final = Way()
"""The frame passes."""


class Course:
    """The way of one call's next frames."""

    __slots__ = ("_like", "_loose", "_tokens", "call", "first", "size", "way")

    def __init__(self, like: Like, way: Way, call: OpenCall) -> None:
        """`way`: what became of the frame that is `like`."""
        self._like = like
        self._loose = like.after is None and not like.between.strip(CLOSING) and way.behind is None
        self.way = way
        self.call = call
        self._tokens: list[bytes] = []
        self.first = 0
        """Number of the first event that was not handed on."""
        self.size = 0
        """Bytes of those events."""

    def __len__(self) -> int:
        """How many events were not handed on."""
        return len(self._tokens)

    def goes(self, like: Like, way: Way, call: OpenCall) -> bool:
        """Whether it is the course that these make."""
        return self._like is like and self.call is call and self.way == way

    def match(self, raw: bytes, at: int) -> Match | None:
        """Whether a frame that begins at `at` goes the course."""
        like = self._like
        if not raw.startswith(like.before, at):
            return None
        begin = at + len(like.before)
        if like.neck is not None:
            number = INTEGER.match(raw, begin)
            if number is None or not raw.startswith(like.neck, number.end()):
                return None
            begin = number.end() + len(like.neck)
        token = _PLAIN.match(raw, begin)
        if token is None:
            return None
        stop = self._stop(raw, token.end())
        return Match(begin, token.end(), stop) if stop else None

    def take(self, raw: bytes, at: int, match: Match, number: int) -> bytes | None:
        """Remember the frame; what goes on in its place, `None` where it passes."""
        if not self._tokens:
            self.first = number
        self._tokens.append(raw[match.begin + 1 : match.end - 1])
        self.size += match.stop - at
        way = self.way
        if way.before is not None:
            return way.before + raw[match.begin : match.stop]
        if way.behind is not None:
            return raw[at : match.end] + way.behind
        return None

    def hand_on(self) -> tuple[str, str]:
        """The arguments of the events that were not handed on, joined, and those of the last one."""
        joined, last = _text(b"".join(self._tokens)), _text(self._tokens[-1])
        self._tokens.clear()
        self.size = 0
        return joined, last

    def _stop(self, raw: bytes, end: int) -> int:
        like = self._like
        if self._loose:
            closed = _CLOSED.match(raw, end)
            same = closed is not None and closed.group().replace(b" ", b"") == like.between
            return closed.end() if closed is not None and same else 0
        if not raw.startswith(like.between, end):
            return 0
        end += len(like.between)
        if like.after is None:
            return end
        padding = PLAIN_STRING.match(raw, end)
        if padding is None or not raw.startswith(like.after, padding.end()):
            return 0
        return padding.end() + len(like.after)


class Courses:
    """Finds the courses of one stream, and tells its readers of what went by."""

    def __init__(self, likeness: Likeness, plan: Plan) -> None:
        """`likeness` reads the stream's events."""
        self._likeness = likeness
        self._observers = plan.observers
        self._chains = tuple(chain for chain in (plan.judge, plan.stages) if chain is not None)
        self._told = plan.told
        self._watched = plan.watched
        self._seen: tuple[Like, Way, OpenCall] | None = None
        """What became of the event before, where the next one may go the same way."""
        self._course: Course | None = None

    def along(self, framer: SseFramer, chunk: bytes, send: Send) -> bytes:
        """Let the frames at the chunk's begin that go the course pass by; what is left to be looked at."""
        course, at = self._course, 0
        if course is None or self._watched:
            return chunk
        while not framer.holding and (match := course.match(chunk, at)) is not None:
            new = course.take(chunk, at, match, framer.skip(1))
            send(chunk, at, match.stop, new)
            at = match.stop
            if len(course) == MANY:
                self.hand_on()
        if at < len(chunk):
            self.hand_on()
        return chunk[at:]

    def whole(self, framer: SseFramer, chunk: bytes) -> bytes | None:
        """What goes on for a chunk that is one frame on the course, `None` for any other."""
        course = self._course
        if course is None or self._watched or framer.holding:
            return None
        match = course.match(chunk, 0)
        if match is None or match.stop != len(chunk):
            return None
        new = course.take(chunk, 0, match, framer.skip(1))
        if len(course) == MANY:
            self.hand_on()
        return chunk if new is None else new

    def takes(self, frame: Frame) -> Frame | None:
        """What goes on for a frame that goes the course, `None` where it does not.

        Where events are watched, observers are told of it as ever; stages are not.
        """
        course = self._course
        match = None if course is None else course.match(frame.raw, 0)
        if course is None or match is None or match.stop != len(frame.raw) or frame.data is None or frame.trailing:
            self.hand_on()
            return None
        new = course.take(frame.raw, 0, match, frame.number)
        if self._watched:
            event = Event(frame, self._likeness.read)
            for observer in self._observers:
                observer(event)
        if len(course) == MANY:
            self.hand_on()
        return frame if new is None else Frame(new, frame.number, frame.data)

    def hand_on(self) -> None:
        """Let everybody know of the events that went by unparsed, before anything else is looked at."""
        course = self._course
        if course is None or not course:
            return
        first, events, size = course.first, len(course), course.size
        text, last = course.hand_on()
        passed = Passed(first, events, size, text, last, course.way != ALIKE)
        for observer in () if self._watched else self._observers:
            observer.went_by(course.call, passed)
        for chain in self._chains:
            chain.went_by(course.call, passed)

    def learn(self, event: Event, out: Sequence[Frame]) -> None:
        """Find out whether the next event may go the way of this one: two in a row have to have gone it."""
        course, seen = self._course, self._seen
        self._course = self._seen = None
        frame, like = event.frame, self._likeness.met
        if like is None or frame.data is None or frame.trailing or len(out) != 1 or out[0].number != frame.number:
            return
        way, heard = way_of(like, frame.raw, out[0].raw), self._told() if self._told is not None else ()
        if way is None or len(heard) != 1 or (self._watched and way != ALIKE):
            return
        call = heard[0].call
        if any(chain.minds(call) for chain in self._chains):
            return
        self._seen = (like, way, call)
        if course is not None and course.goes(like, way, call):
            self._course = course
        elif seen == self._seen:
            self._course = Course(like, way, call)


def way_of(like: Like, raw: bytes, out: bytes) -> Way | None:
    """How a frame that is like `like` became `out`, where that can be said of the next one too."""
    if raw == out:
        return ALIKE
    begin = _arguments(like, raw)
    token = _PLAIN.match(raw, begin) if begin else None
    if token is None:
        return None
    behind = len(raw) - begin
    if out.endswith(raw[begin:]):
        return Way(before=out[: len(out) - behind]) if like.neck is None else None
    if out.startswith(raw[: token.end()]) and like.after is None:
        return Way(behind=out[token.end() :])
    return None


def _arguments(like: Like, raw: bytes) -> int:
    """Where the arguments begin in a frame without a counter; 0 where it has one, or begins otherwise."""
    return len(like.before) if like.neck is None and raw.startswith(like.before) else 0


def _text(inner: bytes) -> str:
    text: str = scanstring(inner.decode("utf-8", "replace") + '"', 0)[0]
    return text
