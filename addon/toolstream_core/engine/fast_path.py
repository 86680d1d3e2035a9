"""Forwards events unparsed if they differ from an earlier one only in a text. Knows JSON only."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from toolstream_core.calls import OpenCall
from toolstream_core.engine.chain import StageSet
from toolstream_core.model import Change, Event, EventContent, Phase, SkippedRun
from toolstream_core.wire.frame import Frame, Framer, TextFramer
from toolstream_core.wire.json_value import scanstring

# The events of a long call, or of a long text, are the same bytes but for one string, the number of the event
# ("sequence_number"), token counts, and padding against traffic analysis ("obfuscation", or spaces between closing
# brackets). A frame that equals a parsed one to the byte but for these has that frame's meaning with another text:
# this follows from the grammar of JSON. Which string is the text is found by its value; if two strings have that
# value, nothing is learned. There are three uses:
#
# - An event of a call is read without parsing it (`read`).
# - Two such events in a row were treated alike: both were forwarded, or both were rewritten in the same place. The
#   next one is treated alike if no stage objects and its arguments are plain: nothing begins, ends or is repeated
#   in them. Inside a string of the arguments brackets are plain. The stages receive many such events as one run.
#   Unusual arguments (encoded twice, cumulative, ...) that every stage accepts are passed on one by one.
# - A frame like one without calls (`WireProtocol.quiet`) has no calls either. Only its text is searched for markup.
#
# The output and all reports are the same as if every event were parsed: `Session(..., fast=False)` does that.

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_PADDING: Final = re.compile(rb'"[ !#-\[\]-~]*+"')
_INTEGER: Final = re.compile(rb"(?:0|[1-9][0-9]{0,17}+)(?=[,}])")
_VARIES: Final = re.compile(
    rb'(?<=[{, ])"(?:(sequence_number)"\s*:\s*(?=[0-9])|obfuscation"\s*:\s*(?=")|\w*[tT]oken\w*"\s*:\s*(?=[0-9]))'
)
"""Keys whose values differ in every event and are not read here, except for the number of the event."""
_CLOSED: Final = re.compile(rb"[ }\]]*\r?\n(?:\r?\n)?")
_CLOSING: Final = b"]}\r\n"
_TEXT_KEY: Final = re.compile(rb'(?<=[{, ])"(?:content|text|delta|reasoning_content|reasoning|thinking)" ?: ?(?=")')
_FIELDS: Final = (b"data:", b"event:", b"{")
_MAX_LITERAL: Final = 4096
"""Maximum bytes of a frame, without its text, of which a likeness is learned."""
_MAX_MISSES: Final = 16
"""Frames learned one after the other without use, after which a stream has no likeness."""
_MANY: Final = 256
"""Events after which a run is reported."""

# Plain strings with their quotes. No character is incomplete, no escape hides a quote.
_TEXT: Final = re.compile(
    rb'"(?![\x80-\xbf])[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u(?!00[0-7])[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+"',
)
"""Visible text."""
_PLAIN: Final = re.compile(
    rb'"(?!["\x80-\xbf])[^"\\{}\[\]\x00-\x1f]*+'
    rb'(?:\\(?:["\\/bfnrt]|u(?!00[0-7]|[dD][89A-Fa-f])[0-9A-Fa-f]{4})[^"\\{}\[\]\x00-\x1f]*+)*+"'
)
"""Arguments without brackets, not empty."""
_PLAIN_WRITTEN: Final = re.compile(
    rb'"(?!["\x80-\xbf])[^"\\{}\[\]\x00-\x1f]*+(?:\\["\\bfnrt][^"\\{}\[\]\x00-\x1f]*+)*+"'
)
"""The same, as toolstream writes them."""
_INSIDE: Final = re.compile(
    rb'"(?!["\x80-\xbf]|(?: |\\[nrt])*+\{)[^"\\\x00-\x1f]*+'
    rb'(?:\\(?:\\(?:\\["\\]|[/bfnrtu])|[bfnrt/]|u(?!00[0-7]|[dD][89A-Fa-f])[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+"'
)
"""Arguments inside a string of theirs, which they do not close: no quote in them but an escaped one."""
_INSIDE_WRITTEN: Final = re.compile(
    rb'"(?!["\x80-\xbf]|(?: |\\[nrt])*+\{)[^"\\\x00-\x1f]*+'
    rb'(?:\\(?:\\(?:\\["\\]|[/bfnrtu])|[bfnrt])[^"\\\x00-\x1f]*+)*+"'
)
"""The same, as toolstream writes them."""
_ENCODED: Final = re.compile(
    rb'"(?!["\x80-\xbf])[^"\\{}\[\]\x00-\x1f]*+(?:\\\\(?:\\["\\]|[/bfnrt])[^"\\{}\[\]\x00-\x1f]*+)*+"'
)
"""Arguments that are encoded twice: every quote in them is escaped once more."""
_ANY: Final = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*+)*+"')
"""Any arguments."""
_ANY_WRITTEN: Final = re.compile(rb'"[^"\\\x00-\x1f]*+(?:\\["\\bfnrt][^"\\\x00-\x1f]*+)*+"')
"""The same, as toolstream writes them."""

type Match = tuple[int, int, int, int | None]
"""Begin and end of the text, quotes included, end of the frame, and the event's own number."""
type Send = Callable[[bytes, int, int, bytes | None], None]
"""Receives a chunk, the skipped range in it, and its replacement."""


class Likeness:
    """Frames that are equal but for one text, numbers and padding."""

    __slots__ = ("_parts", "content", "ends_with_brackets", "fixed_after", "tail", "varies_before")

    def __init__(self, raw: bytes, begin: int, end: int, content: EventContent) -> None:
        """`raw` is such a frame with this `content`; its text is the string from `begin` to `end`."""
        self.content = content
        places: list[tuple[int, int, re.Pattern[bytes] | None, bool]] = [(begin, end, None, False)]
        for key in _VARIES.finditer(raw):
            pattern = _PADDING if raw.startswith(b'"', key.end()) else _INTEGER
            token = pattern.match(raw, key.end())
            if token is not None and not begin <= token.start() < end:
                places.append((*token.span(), pattern, key[1] is not None))
        places.sort(key=lambda place: place[0])
        parts, at = [], 0
        for start, stop, one, counts in places:
            parts.append((raw[at:start], start - at, one, counts))
            at = stop
        self._parts = tuple(parts)
        self.varies_before = parts[0][2] is not None
        """Whether anything varies before the text."""
        self.fixed_after = parts[-1][2] is None
        tight = raw[at:].replace(b" ", b"")
        self.ends_with_brackets = self.fixed_after and not tight.strip(_CLOSING)
        """Whether nothing but closing brackets follows the text, which may have spaces between them."""
        self.tail = tight if self.ends_with_brackets else raw[at:]

    def match(self, raw: bytes, at: int, text: re.Pattern[bytes]) -> Match | None:
        """The frame that begins at `at`, if it is like these and its text matches `text`."""
        begin = end = 0
        number = None
        for literal, size, pattern, counts in self._parts:
            if not raw.startswith(literal, at):
                return None
            token = (pattern or text).match(raw, at + size)
            if token is None:
                return None
            at = token.end()
            if pattern is None:
                begin, end = token.span()
            elif counts:
                number = int(token.group())
        if raw.startswith(self.tail, at):
            return begin, end, at + len(self.tail), number
        closed = _CLOSED.match(raw, at) if self.ends_with_brackets else None
        if closed is not None and closed.group().replace(b" ", b"") == self.tail:
            return begin, end, closed.end(), number
        return None

    def edit(self, raw: bytes, out: bytes) -> tuple[bytes | None, bytes | None] | None:
        """The bytes before and after the text of `raw` in `out`, `None` if they stay; all `None` if unknown."""
        if raw == out:
            return None, None
        match = None if self.varies_before else self.match(raw, 0, _ANY_WRITTEN)
        if match is None:
            return None
        begin, end, _, _ = match
        rest = raw[begin:end] + self.tail if self.ends_with_brackets else raw[begin:]
        if out.endswith(rest):
            return out.removesuffix(rest), None
        if not self.fixed_after:
            return None
        if out.startswith(raw[:end]):
            return None, out[end:]
        before, found, after = out.partition(raw[begin:end])
        return (before, after) if found and raw[begin:end] not in after else None


class Way(NamedTuple):
    """How an event of a call was forwarded."""

    like: Likeness
    call: OpenCall
    before: bytes | None
    """The bytes before the arguments now; `None` if they stay."""
    after: bytes | None
    odd: bool
    """Whether the next event may have any arguments."""

    @property
    def unchanged(self) -> bool:
        """Whether the event was forwarded as it is."""
        return self.before is None and self.after is None

    def sent(self, raw: bytes, at: int, match: Match) -> bytes | None:
        """The bytes that are forwarded for the frame at `at`; `None` if it is the frame."""
        begin, end, stop, _ = match
        if self.before is None:
            return None if self.after is None else raw[at:end] + self.after
        if self.after is not None:
            return self.before + raw[begin:end] + self.after
        return self.before + (raw[begin:end] + self.like.tail if self.like.ends_with_brackets else raw[begin:stop])


class FastPath:
    """Decides which frames of one stream are forwarded unparsed, and reports them to the reader and the stages."""

    _begun = False
    """Whether frames without calls may pass."""
    _over = False
    _holding = False
    """Whether a stage holds frames."""
    _like: Likeness | None = None
    """The last event of a call that was parsed."""
    _matched: Likeness | None = None
    """The likeness that the last event matched."""
    _misses = 0
    """Events learned since one was like an earlier one."""
    _change: Change | None = None
    """The change of the event before, if single events are reported."""
    _seen: Way | None = None
    """How the event before was forwarded, if the next one may be treated alike."""
    _way: Way | None = None
    """How the next events are forwarded."""
    _plain, _plain_inside = _PLAIN, _INSIDE
    """The arguments that such events may have, and those inside a string."""
    _inside = False
    """Whether a string of the arguments is open."""
    _number: int | None = None
    """The own number of the last event."""
    _first = 0
    """The number of the first event that was not reported yet."""
    _size = 0
    _text: Likeness | None = None
    """The last frame of text."""
    _text_misses = 0
    _passes_text = False
    is_idle = True
    """Whether every frame has to be parsed, unless it is quiet."""
    _quiet_first = 0
    """The number of the first frame of text that was not reported yet."""
    _quiet_frames = 0
    _quiet_size = 0
    _quiet_last: tuple[bytes, int] = b"", 0
    """The last such frame: bytes, and where in them it ends."""

    def __init__(
        self,
        framer: Framer,
        read: Callable[[Frame], EventContent],
        quiet: Callable[[bytes], bool],
        stages: StageSet,
        *,
        fast: bool = True,
    ) -> None:
        """`read` and `quiet` as in `WireProtocol`. Without `fast` every event is parsed; the result is the same."""
        self._framer = framer if fast and isinstance(framer, TextFramer) else None
        """Counts the frames that are not split off; `None` if every frame is."""
        self._read = read
        self._is_quiet = quiet
        self._stages = stages
        self._fast = fast
        self._reader = stages.reader
        self._watched = stages.reader is not None and stages.reader.wanted
        self._chains = [chain for chain in (stages.judge, stages.stages) if chain is not None]
        self._holders = [holder for chain in self._chains for holder in chain.holders]
        self._counters = [counter for chain in self._chains for counter in chain.counters]
        self._each = stages.reader is not None and stages.reader.each
        self._learns = self._framer is not None and stages.resolver is not None and not stages.wants_each
        self._texts: list[bytes] = []
        """The arguments of events that were not reported yet."""

    def begin(self) -> None:
        """Allow frames without calls to pass: the first events were reported."""
        self._begun = not self._stages.wants_each

    def read(self, frame: Frame) -> EventContent:
        """The content of `frame`, as the protocol's reader gives it."""
        if self._framer is None:
            return self._read(frame)
        like, raw = self._like, frame.raw
        match = like.match(raw, 0, _STRING) if like is not None else None
        if like is not None and match is not None and match[2] == len(raw):
            text = _value(raw[match[0] + 1 : match[1]])
            if text is not None:
                self._misses, self._matched = 0, like
                return _content(like, text)
        self._matched = None
        content = self._read(frame)
        if self._misses < _MAX_MISSES and frame.data is not None and not frame.trailing:
            self._learn_arguments(raw, content)
        return content

    def forward_frame(self, chunk: bytes) -> bytes | None:
        """The bytes that are forwarded for a chunk that is one frame; `None` if it must be split."""
        if self._framer is None or self._framer.holding:
            return None
        found = self._pass(chunk, 0, None, stop=len(chunk))
        return None if found is None else found[1] if found[1] is not None else chunk

    def along(self, chunk: bytes, at: int, send: Send) -> int:
        """Forward the next frames of a chunk, from `at` on. Returns the start of the rest."""
        if self._framer is None or self._framer.holding:
            return at
        while at < len(chunk) and (found := self._pass(chunk, at, None)) is not None:
            send(chunk, at, *found)
            at = found[0]
        if at < len(chunk):
            self.hand_on()
        return at

    def alike(self, frame: Frame) -> Frame | None:
        """The frame that is forwarded for one like earlier ones; `None` for any other."""
        found = None
        if frame.data is not None and not frame.trailing:
            found = self._pass(frame.raw, 0, frame.number, stop=len(frame.raw))
        if found is None:
            self.hand_on()
            return None
        return frame if found[1] is None else Frame(found[1], frame.number, frame.data)

    def quiet(self, frame: Frame) -> Frame | None:
        """The frame, if it has no calls and no stage holds frames before it."""
        raw = frame.raw
        if not self._begun or frame.data is None or not self._is_quiet(raw) or frame.trailing:
            return None
        if self._holding or self._stages.may_leak(raw):
            return None
        self.hand_on()
        if not self._fast:
            self._count(raw, len(raw))
            if self._reader is not None:
                self._reader(Event(frame, self._read))
            return frame
        self._report_text(frame.number, 1, len(raw), raw, len(raw))
        if self._passes_text:
            self._learn_text(raw)
        return frame

    def learn(self, event: Event, out: Sequence[Frame]) -> None:
        """Take an event that was parsed, and what was forwarded for it."""
        before, seen = self._way, self._seen
        self._way = self._seen = None
        if event.content.end:
            self._over, self._begun = True, False
        self._holding = any(holder.holding for holder in self._holders)
        if not self._learns:
            return
        rewritten = len(out) != 1 or out[0] is not event.frame
        passes = not (self._over or self._each or (self._holding and rewritten))
        self._passes_text = passes and (not self._holding or self._may_pass_while_holding(event))
        way = self._seen = self._way_of(event, out)
        self.is_idle = not self._passes_text
        if way is not None and way in (before, seen):
            self.is_idle = False
            self._begin_way(way, event.frame)

    def _begin_way(self, way: Way, last: Frame) -> None:
        """Treat the next events as `last`."""
        self._way = way
        written = not way.unchanged
        self._plain = _ENCODED if way.call.arguments.quoted else _PLAIN_WRITTEN if written else _PLAIN
        self._plain = _ANY if way.odd else self._plain
        self._plain_inside = _INSIDE_WRITTEN if written else _INSIDE
        match = way.like.match(last.raw, 0, _STRING)
        self._number = None if match is None else match[3]
        self._look(way)

    def hand_on(self) -> None:
        """Report the skipped events."""
        if self._quiet_frames:
            frames, self._quiet_frames = self._quiet_frames, 0
            self._report_text(self._quiet_first, frames, self._quiet_size, *self._quiet_last)
        way, texts = self._way, self._texts
        if way is None or not texts:
            return
        self._texts = []
        text = "" if way.odd else _text(b"".join(texts))
        last = text if way.odd or len(texts) == 1 else _text(texts[-1])
        single = [_text(one) for one in texts] if way.odd else []
        run = SkippedRun(self._first, len(texts), self._size, text, last, not way.unchanged, self._number, single)
        if self._reader is not None:
            self._reader.on_skipped(way.call, run)
        for chain in self._chains:
            chain.on_skipped(way.call, run)
        self._look(way)

    def _pass(
        self, raw: bytes, at: int, number: int | None, *, stop: int | None = None
    ) -> tuple[int, bytes | None] | None:
        """Forward the frame at `at`. Returns its end and its replacement, or `None` if it must be parsed.

        `stop`: where it has to end; `number`: that of the frame, if it was counted already.
        """
        way = self._way
        if way is not None:
            match = way.like.match(raw, at, self._plain_inside) if self._inside else None
            inside = match is not None
            match = match or way.like.match(raw, at, self._plain)
            if match is not None and (stop is None or match[2] == stop):
                own, before = match[3], self._number
                if own is None or (before is not None and own > before):
                    number = self._counted() if number is None else number
                    return match[2], self._skip(way, raw, at, match, number, inside=inside)
        like = self._text
        if like is not None and self._passes_text:
            match = like.match(raw, at, _TEXT)
            if match is None or stop not in (None, match[2]) or self._stages.may_leak(raw[match[0] : match[1]]):
                return None
            if not self._quiet_frames:
                self.hand_on()
                self._quiet_first = self._counted() if number is None else number
                self._quiet_size = 0
            elif number is None:
                self._counted()
            self._text_misses = 0
            self._quiet_frames += 1
            self._quiet_size += match[2] - at
            self._quiet_last = raw, match[2]
            return match[2], None
        return None

    def _counted(self) -> int:
        """The number of a frame that is not split off."""
        assert self._framer is not None
        return self._framer.skip()

    def _skip(self, way: Way, raw: bytes, at: int, match: Match, number: int, *, inside: bool) -> bytes | None:
        """Forward an event of a call. Returns its replacement. The numbers of a run are consecutive."""
        if self._quiet_frames or (self._texts and number != self._first + len(self._texts)):
            self.hand_on()
        begin, end, stop, self._number = match
        self._inside = self._inside and inside
        if not self._texts:
            self._first, self._size = number, 0
        self._texts.append(raw[begin + 1 : end - 1])
        self._size += stop - at
        new = None if way.before is way.after is None else way.sent(raw, at, match)
        if self._watched and self._reader is not None:
            change, text, frame = self._change, _text(self._texts[-1]), raw[at:stop]
            if new is not None and change is not None:
                sides = [Frame(frame, number, b"")], [Frame(new, number, b"")]
                change = Change(change.names, number, *sides, change.kind)

            def event() -> Event:
                return Event(Frame(frame, number, None), self._read, _content(way.like, text))

            self._reader.on_each_skipped(number, text, way.call, change, event)
        if len(self._texts) == _MANY:
            self.hand_on()
        return new

    def _look(self, way: Way) -> None:
        """Find out whether a string of the arguments is open, now that the call has all its fragments."""
        text = way.call.arguments
        allowed = not way.odd and not text.quoted
        self._inside = (
            allowed and text.scanner.in_string and text.scanner.depth > 0 and text.viable and not text.in_escape
        )

    def _report_text(self, first: int, frames: int, size: int, raw: bytes, end: int) -> None:
        """Report frames without calls, of which the last ends at `end` of `raw`."""
        if self._reader is not None:
            self._reader.quiet(first, frames, size)
        self._count(raw, end)

    def _count(self, raw: bytes, end: int) -> None:
        for stage in self._counters:
            stage.on_quiet(raw, end)

    def _way_of(self, event: Event, out: Sequence[Frame]) -> Way | None:
        """The way of an event, if events like it may go the same way."""
        frame, like, resolver = event.frame, self._matched, self._stages.resolver
        resolved = resolver.resolved if resolver is not None else ()
        if like is None or frame.data is None or frame.trailing or len(out) != 1 or out[0].number != frame.number:
            return None
        if not event.content.fragments or not event.content.fragments[0].arguments or len(resolved) != 1:
            return None  # An empty fragment shows nothing about others.
        edit = like.edit(frame.raw, out[0].raw)
        # A frame that was rewritten with the same result may have another one with other spaces in it.
        if edit is None or (edit == (None, None) and out[0] is not frame):
            return None
        if self._watched and not self._is_reported_alike(frame, out[0]):
            return None
        call = resolved[0].call
        odd = any(chain.needs_every_event(call) for chain in self._chains)
        return None if odd and not self._accepts_any(call) else Way(like, call, *edit, odd)

    def _accepts_any(self, call: OpenCall) -> bool:
        """Whether the next event may pass with any arguments of the call."""
        if self._watched or call.ended or call.shared:
            return False
        return all(chain.accepts_any(call) for chain in self._chains)

    def _is_reported_alike(self, frame: Frame, out: Frame) -> bool:
        """Whether the next event has the same change as this one, with other bytes; never the first time."""
        before, changes = self._change, () if self._reader is None else self._reader.changes
        self._change = None
        if frame.raw == out.raw:
            return not changes
        if len(changes) != 1 or (changes[0].before, changes[0].after) != (frame.raw, out.raw):
            return False
        self._change = changes[0]
        return before is not None and (before.names, before.kind) == (changes[0].names, changes[0].kind)

    def _may_pass_while_holding(self, event: Event) -> bool:
        """Whether text like this event may pass while a stage holds frames."""
        frame = event.frame
        if frame.data is None or frame.trailing or not self._is_quiet(frame.raw):
            return False
        if self._stages.may_leak(frame.raw) or any(chain.needs_text for chain in self._chains):
            return False
        return self._learn_text(frame.raw)

    def _learn_text(self, raw: bytes) -> bool:
        """Learn a frame without calls, if it can be one of many."""
        if self._text_misses >= _MAX_MISSES or len(raw) > _MAX_LITERAL:
            return False
        if not raw.startswith(_FIELDS) or not raw.endswith(b"\n"):
            return False
        self._text_misses += 1
        texts = [text.span() for key in _TEXT_KEY.finditer(raw) if (text := _TEXT.match(raw, key.end()))]
        begin, end = max(texts, key=lambda span: span[1] - span[0], default=(0, 0))
        self._text = Likeness(raw, begin, end, EventContent()) if texts else None
        return self._text is not None

    def _learn_arguments(self, raw: bytes, content: EventContent) -> None:
        if len(content.fragments) != 1 or content.finishes or content.text or content.error or content.end:
            return
        fragment = content.fragments[0]
        text = fragment.arguments
        if fragment.phase is not Phase.MORE or not isinstance(text, str) or not text or not fragment.well_formed:
            return  # An empty fragment is that of a header, and the frames after it are not like it.
        if len(raw) - len(text) > _MAX_LITERAL:
            return
        self._misses += 1
        plain = f'"{text}"'.encode("utf-8", "replace")
        tokens = [token for token in _STRING.finditer(raw) if token.group() == plain or b"\\" in token.group()]
        places = [token.span() for token in tokens if _value(token.group()[1:]) == text]
        if len(places) == 1:
            self._like = Likeness(raw, *places[0], content)


def _content(like: Likeness, text: str) -> EventContent:
    """The content of such a frame, with this text."""
    fragment = like.content.fragments[0]._replace(arguments=text)
    return EventContent((fragment,), (), "", like.content.model)


def _text(inner: bytes) -> str:
    text: str = scanstring(inner.decode("utf-8", "replace") + '"', 0)[0]
    return text


def _value(rest: bytes) -> str | None:
    """The value of a JSON string after its first quote, `None` if it is invalid."""
    try:
        value: str = scanstring(rest.decode("utf-8", "replace"), 0)[0]
    except ValueError:
        return None
    return value
