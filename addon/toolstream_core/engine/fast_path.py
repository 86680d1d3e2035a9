"""Forwards events unparsed if they differ from an earlier one only in a text. Knows JSON only."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from toolstream_core.calls import OpenCall
from toolstream_core.engine.chain import StageSet
from toolstream_core.model import Change, Event, EventContent, Phase, SkippedRun
from toolstream_core.wire.frame import Frame, Framer
from toolstream_core.wire.json_value import scanstring

# The events of a long call, or of a long text, differ only in one string, the sequence number, token counts, and
# padding against traffic analysis ("obfuscation", or spaces between closing brackets). A frame that equals a parsed
# one except for these has the same content with another text: this follows from the grammar of JSON. The string with
# the text is found by its value; if two strings have that value, nothing is learned. There are three uses:
#
# - An event of a call is read without parsing it (`read`).
# - If two such events in a row took the same route (both unchanged, or rewritten in the same place), the next one
#   takes it too, if no stage objects and its arguments are plain: they begin, end or repeat no value. Inside a string
#   of the arguments, brackets are plain. The stages receive many such events as one run, but unusual arguments
#   (encoded twice, cumulative, ...) that every stage accepts one by one.
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
"""Bytes of the longest frame, without its text, from which a template is learned."""
_MAX_MISSES: Final = 16
"""Templates learned without a match, after which no more are learned."""
_MANY: Final = 256
"""The most events of a run."""

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
"""Arguments inside an open string that they do not close."""
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


class Template:
    """A template of frames that only differ in one text, numbers and padding."""

    __slots__ = ("_parts", "content", "ends_with_brackets", "fixed_after", "tail", "varies_before")

    def __init__(self, raw: bytes, begin: int, end: int, content: EventContent) -> None:
        """Learned from a frame with this `content`, whose text is the string from `begin` to `end`."""
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
        """Match a frame that begins at `at`, and whose text matches `text`."""
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
        """The bytes before and after the text of `raw` in `out`, each `None` if unchanged; `None` if unknown."""
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


class Route(NamedTuple):
    """How events of a call are forwarded: the replaced bytes around their arguments."""

    template: Template
    call: OpenCall
    before: bytes | None
    """The new bytes before the arguments; `None` if they are unchanged."""
    after: bytes | None
    any_arguments: bool
    """Whether the next event may have any arguments."""

    @property
    def unchanged(self) -> bool:
        """Whether the event was forwarded unchanged."""
        return self.before is None and self.after is None

    def sent(self, raw: bytes, at: int, match: Match) -> bytes | None:
        """The bytes to forward for the frame at `at`; `None` if they are unchanged."""
        begin, end, stop, _ = match
        if self.before is None:
            return None if self.after is None else raw[at:end] + self.after
        if self.after is not None:
            return self.before + raw[begin:end] + self.after
        template = self.template
        return self.before + (raw[begin:end] + template.tail if template.ends_with_brackets else raw[begin:stop])


class FastPath:
    """Decides which frames of one stream are forwarded unparsed, and reports them to the reader and the stages."""

    _begun = False
    """Whether frames without calls may be skipped."""
    _has_ended = False
    _holding = False
    """Whether a stage holds frames."""
    _template: Template | None = None
    """The last event of a call that was parsed."""
    _matched: Template | None = None
    """The template that the last event matched."""
    _misses = 0
    """Events learned since the last one that matched a template."""
    _change: Change | None = None
    """The change of the event before, if single events are reported."""
    _last_route: Route | None = None
    """The route of the last event, if the next one may take it."""
    _route: Route | None = None
    """The route of the next events."""
    _plain, _plain_inside = _PLAIN, _INSIDE
    """The arguments that skipped events may have, and those inside a string."""
    _inside = False
    """Whether a string of the arguments is open."""
    _number: int | None = None
    """The sequence number of the last event."""
    _first = 0
    """The number of the first event that was not reported yet."""
    _size = 0
    _text: Template | None = None
    """The last frame of text."""
    _text_misses = 0
    _passes_text = False
    is_idle = True
    """Whether every frame must be parsed, unless it is quiet."""
    _quiet_first = 0
    """The number of the first frame of text that was not reported yet."""
    _quiet_frames = 0
    _quiet_size = 0
    _quiet_last: tuple[bytes, int] = b"", 0
    """The last such frame: bytes, and its end in them."""

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
        self._framer = framer if fast and framer.end else None
        """Counts the frames that are not split off; `None` if every frame is."""
        self._read = read
        self._is_quiet = quiet
        self._stages = stages
        self._fast = fast
        self._reader = stages.reader
        self._watched = stages.reader is not None and stages.reader.has_live_sinks
        self._chains = [chain for chain in (stages.checker, stages.stages) if chain is not None]
        self._holders = [holder for chain in self._chains for holder in chain.holders]
        self._quiet_stages = [counter for chain in self._chains for counter in chain.quiet_stages]
        self._each = stages.reader is not None and stages.reader.each
        self._learns = self._framer is not None and stages.resolver is not None and not stages.wants_each
        self._texts: list[bytes] = []
        """The arguments of events that were not reported yet."""

    def begin(self) -> None:
        """Allow frames without calls to pass: the first events were reported."""
        self._begun = not self._stages.wants_each

    def read(self, frame: Frame) -> EventContent:
        """The content of `frame`."""
        if self._framer is None:
            return self._read(frame)
        template, raw = self._template, frame.raw
        match = template.match(raw, 0, _STRING) if template is not None else None
        if template is not None and match is not None and match[2] == len(raw):
            text = _value(raw[match[0] + 1 : match[1]])
            if text is not None:
                self._misses, self._matched = 0, template
                return _content(template, text)
        self._matched = None
        content = self._read(frame)
        if self._misses < _MAX_MISSES and frame.data is not None and not frame.trailing:
            self._learn_arguments(raw, content)
        return content

    def forward_frame(self, chunk: bytes) -> bytes | None:
        """The bytes to forward for a chunk that is one frame; `None` if it must be split."""
        if self._framer is None or self._framer.holding:
            return None
        found = self._skip_next(chunk, 0, None, stop=len(chunk))
        return None if found is None else found[1] if found[1] is not None else chunk

    def forward_frames(self, chunk: bytes, at: int, send: Send) -> int:
        """Forward the frames of a chunk that can be skipped, from `at` on. Returns the start of the rest."""
        if self._framer is None or self._framer.holding:
            return at
        while at < len(chunk) and (found := self._skip_next(chunk, at, None)) is not None:
            send(chunk, at, *found)
            at = found[0]
        if at < len(chunk):
            self.report_skipped()
        return at

    def forward_alike(self, frame: Frame) -> Frame | None:
        """The frame to forward for one like earlier ones; `None` for any other."""
        found = None
        if frame.data is not None and not frame.trailing:
            found = self._skip_next(frame.raw, 0, frame.number, stop=len(frame.raw))
        if found is None:
            self.report_skipped()
            return None
        return frame if found[1] is None else Frame(found[1], frame.number, frame.data)

    def forward_quiet(self, frame: Frame) -> Frame | None:
        """The frame, if it has no calls and no stage holds frames before it."""
        raw = frame.raw
        if not self._begun or frame.data is None or not self._is_quiet(raw) or frame.trailing:
            return None
        if self._holding or self._stages.may_leak(raw):
            return None
        self.report_skipped()
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
        """Learn from a parsed event, and the frames that were forwarded for it."""
        before, seen = self._route, self._last_route
        self._route = self._last_route = None
        if event.content.end:
            self._has_ended, self._begun = True, False
        self._holding = any(holder.holding for holder in self._holders)
        if not self._learns:
            return
        rewritten = len(out) != 1 or out[0] is not event.frame
        passes = not (self._has_ended or self._each or (self._holding and rewritten))
        self._passes_text = passes and (not self._holding or self._may_pass_while_holding(event))
        route = self._last_route = self._route_of(event, out)
        self.is_idle = not self._passes_text
        if route is not None and route in (before, seen):
            self.is_idle = False
            self._use_route(route, event.frame)

    def _use_route(self, route: Route, last: Frame) -> None:
        """Use a route for the next events, which `last` took."""
        self._route = route
        written = not route.unchanged
        self._plain = _ENCODED if route.call.arguments.quoted else _PLAIN_WRITTEN if written else _PLAIN
        self._plain = _ANY if route.any_arguments else self._plain
        self._plain_inside = _INSIDE_WRITTEN if written else _INSIDE
        match = route.template.match(last.raw, 0, _STRING)
        self._number = None if match is None else match[3]
        self._update_inside(route)

    def report_skipped(self) -> None:
        """Report the skipped events."""
        if self._quiet_frames:
            frames, self._quiet_frames = self._quiet_frames, 0
            self._report_text(self._quiet_first, frames, self._quiet_size, *self._quiet_last)
        route, texts = self._route, self._texts
        if route is None or not texts:
            return
        self._texts = []
        text = "" if route.any_arguments else _text(b"".join(texts))
        last = text if route.any_arguments or len(texts) == 1 else _text(texts[-1])
        single = [_text(one) for one in texts] if route.any_arguments else []
        run = SkippedRun(self._first, len(texts), self._size, text, last, not route.unchanged, self._number, single)
        if self._reader is not None:
            self._reader.on_skipped(route.call, run)
        for chain in self._chains:
            chain.on_skipped(route.call, run)
        self._update_inside(route)

    def _skip_next(
        self, raw: bytes, at: int, number: int | None, *, stop: int | None = None
    ) -> tuple[int, bytes | None] | None:
        """Forward the frame at `at`. Returns its end and its replacement, or `None` if it must be parsed.

        `stop`: where it has to end; `number`: that of the frame, if it was counted already.
        """
        route = self._route
        if route is not None:
            match = route.template.match(raw, at, self._plain_inside) if self._inside else None
            inside = match is not None
            match = match or route.template.match(raw, at, self._plain)
            if match is not None and (stop is None or match[2] == stop):
                own, before = match[3], self._number
                if own is None or (before is not None and own > before):
                    number = self._counted() if number is None else number
                    return match[2], self._skip_event(route, raw, at, match, number, inside=inside)
        template = self._text
        if template is not None and self._passes_text:
            match = template.match(raw, at, _TEXT)
            if match is None or stop not in (None, match[2]) or self._stages.may_leak(raw[match[0] : match[1]]):
                return None
            if not self._quiet_frames:
                self.report_skipped()
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

    def _skip_event(
        self, route: Route, raw: bytes, at: int, match: Match, number: int, *, inside: bool
    ) -> bytes | None:
        """Forward an event of a call. Returns its replacement. The numbers of a run are consecutive."""
        if self._quiet_frames or (self._texts and number != self._first + len(self._texts)):
            self.report_skipped()
        begin, end, stop, self._number = match
        self._inside = self._inside and inside
        if not self._texts:
            self._first, self._size = number, 0
        self._texts.append(raw[begin + 1 : end - 1])
        self._size += stop - at
        new = None if route.before is route.after is None else route.sent(raw, at, match)
        if self._watched and self._reader is not None:
            change, text, frame = self._change, _text(self._texts[-1]), raw[at:stop]
            if new is not None and change is not None:
                sides = [Frame(frame, number, b"")], [Frame(new, number, b"")]
                change = Change(change.names, number, *sides, change.kind)

            def event() -> Event:
                return Event(Frame(frame, number, None), self._read, _content(route.template, text))

            self._reader.on_each_skipped(number, text, route.call, change, event)
        if len(self._texts) == _MANY:
            self.report_skipped()
        return new

    def _update_inside(self, route: Route) -> None:
        """Update whether a string of the arguments is open, after the call got all fragments."""
        text = route.call.arguments
        allowed = not route.any_arguments and not text.quoted
        self._inside = (
            allowed and text.scanner.in_string and text.scanner.depth > 0 and text.viable and not text.in_escape
        )

    def _report_text(self, first: int, frames: int, size: int, raw: bytes, end: int) -> None:
        """Report frames without calls, of which the last ends at `end` of `raw`."""
        if self._reader is not None:
            self._reader.quiet(first, frames, size)
        self._count(raw, end)

    def _count(self, raw: bytes, end: int) -> None:
        for stage in self._quiet_stages:
            stage.on_quiet(raw, end)

    def _route_of(self, event: Event, out: Sequence[Frame]) -> Route | None:
        """The route of an event, if events like it may take it."""
        frame, template, resolver = event.frame, self._matched, self._stages.resolver
        resolved = resolver.resolved if resolver is not None else ()
        if template is None or frame.data is None or frame.trailing or len(out) != 1 or out[0].number != frame.number:
            return None
        if not event.content.fragments or not event.content.fragments[0].arguments or len(resolved) != 1:
            return None  # An empty fragment shows nothing about others.
        edit = template.edit(frame.raw, out[0].raw)
        # A frame that was rewritten with the same result may have another one with other spaces in it.
        if edit is None or (edit == (None, None) and out[0] is not frame):
            return None
        if self._watched and not self._is_changed_alike(frame, out[0]):
            return None
        call = resolved[0].call
        any_arguments = any(chain.needs_every_event(call) for chain in self._chains)
        return None if any_arguments and not self._accepts_any(call) else Route(template, call, *edit, any_arguments)

    def _accepts_any(self, call: OpenCall) -> bool:
        """Whether the next event may be skipped with any arguments of the call."""
        if self._watched or call.ended or call.shared:
            return False
        return all(chain.accepts_any(call) for chain in self._chains)

    def _is_changed_alike(self, frame: Frame, out: Frame) -> bool:
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
        """Whether text like this event may be skipped while a stage holds frames."""
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
        self._text = Template(raw, begin, end, EventContent()) if texts else None
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
            self._template = Template(raw, *places[0], content)


def _content(template: Template, text: str) -> EventContent:
    """The content of a frame of a template, with this text."""
    fragment = template.content.fragments[0]._replace(arguments=text)
    return EventContent((fragment,), (), "", template.content.model)


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
