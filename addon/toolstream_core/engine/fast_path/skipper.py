"""Events like the one before them, which pass unparsed: the middle of long calls, and text. Knows JSON only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.engine.fast_path.quiet_frames import QuietFrames
from toolstream_core.engine.fast_path.skipped_run import MANY, UNCHANGED, SkippedFrames, edit_of
from toolstream_core.engine.stage_set import StageSet, never
from toolstream_core.model import Change, Event
from toolstream_core.wire.frame import Frame

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.calls import OpenCall
    from toolstream_core.engine.fast_path.skipped_run import Edit, Match
    from toolstream_core.engine.fast_path.template import Template, TemplateReader
    from toolstream_core.wire.frame import TextCutter

type Send = Callable[[bytes, int, int, bytes | None], None]
"""Takes a chunk, where what passes begins and ends in it, and what goes on in its place if it does not pass."""


class Skipper:
    """Finds out which events of one stream may be skipped, and tells its readers of those that were."""

    def __init__(
        self, framer: TextCutter, template_reader: TemplateReader, plan: StageSet, quiet: Callable[[bytes, int], bool]
    ) -> None:
        """`template_reader` reads the stream's events, `quiet` tells those that say nothing."""
        self._framer = framer
        self._template_reader = template_reader
        self._quiet = quiet
        self._may_leak = plan.may_leak
        self._observers = plan.observers
        self._chains = tuple(chain for chain in (plan.judge, plan.stages) if chain is not None)
        self._counters = tuple(counter for chain in self._chains for counter in chain.counters)
        self._brackets = plan.brackets
        self._resolver = plan.resolver
        self._watched = plan.watched
        self._each = any(observer.each for observer in plan.observers)
        self._changes = plan.changes
        self._change: Change | None = None
        """Where somebody is told of each event: what was changed in the one before."""
        self._seen: tuple[Template, Edit, OpenCall, bool] | None = None
        """What became of the event before, where the next one may go the same way."""
        self.skipped_frames: SkippedFrames | None = None
        """The way that the next frames may go unparsed, where there is one."""
        self.quiet_frames = QuietFrames(plan.may_leak)
        self._over = False

    @property
    def inside_frame(self) -> bool:
        """Whether a frame has begun and is not over."""
        return self._framer.holding

    def along(self, chunk: bytes, send: Send) -> bytes:
        """Let the frames at the chunk's begin pass by that go the course, or are text; what is left to be looked at."""
        at, framer = 0, self._framer
        if framer.holding:
            return chunk
        while at < len(chunk):
            course = self.skipped_frames
            match = course.match(chunk, at) if course is not None else None
            if course is None or match is None:
                begin, at = at, self._skip_quiet(chunk, at, send)
                if begin == at:
                    break
                continue
            new = self._goes(course, chunk, at, match, framer.skip(1))
            send(chunk, at, match[2], new)
            at = match[2]
        if at < len(chunk):
            self.hand_on()
        return chunk[at:]

    def whole(self, chunk: bytes, number: int | None = None) -> bytes | None:
        """What goes on for a chunk that is one frame on the course, `None` for any other.

        `number`: that of the frame, where it was taken in already.
        """
        course = self.skipped_frames
        if course is None:
            return None
        match = course.match(chunk, 0)
        if match is None or match[2] != len(chunk):
            return None
        if self.quiet_frames.frames:
            self.hand_on_quiet()
        new = self._goes(course, chunk, 0, match, self._framer.skip(1) if number is None else number)
        return chunk if new is None else new

    def skips_text(self, chunk: bytes) -> bool:
        """Whether a chunk is one frame of text, and goes by. What is told of it has to wait for `hand_on`."""
        quiet_frames = self.quiet_frames
        stop = quiet_frames.stop(chunk, 0)
        if not stop or stop != len(chunk):
            return False
        if not quiet_frames.frames:
            self.hand_on()
        quiet_frames.frames += 1
        quiet_frames.size += len(chunk)
        quiet_frames.last = chunk
        return True

    def takes(self, frame: Frame) -> Frame | None:
        """What goes on for a frame that goes the course, `None` where it does not."""
        course = self.skipped_frames
        match = None if course is None else course.match(frame.raw, 0)
        if course is None or match is None or match[2] != len(frame.raw) or frame.data is None or frame.trailing:
            if course is not None or self.quiet_frames.frames:
                self.hand_on()
            return None
        new = self._goes(course, frame.raw, 0, match, frame.number)
        return frame if new is None else Frame(new, frame.number, frame.data)

    def _goes(self, course: SkippedFrames, raw: bytes, at: int, match: Match, number: int) -> bytes | None:
        """Let a frame go the course; what goes on in its place, `None` where it passes.

        Where events are watched, observers are told of it as ever; stages are not. What is handed on at once has
        numbers in a row, which frames that a fault made of one event have not.
        """
        if course.tokens and number != course.first + len(course.tokens):
            self.hand_on()
        new = course.take(raw, at, match, number)
        if self._watched:
            change, frame = self._change, raw[at : match[2]]
            if new is not None and change is not None:
                change = Change(
                    change.names, number, [Frame(frame, number, b"")], [Frame(new, number, b"")], change.kind
                )
            event = Event(Frame(frame, number, None), self._template_reader.read, course.said())
            for observer in self._observers:
                observer.on_each_skipped(event, course.call, change)
        if len(course.tokens) == MANY:
            self.hand_on()
        return new

    def hand_on(self) -> None:
        """Let everybody know of the events that went by unparsed, before anything else is looked at."""
        self.hand_on_quiet()
        course = self.skipped_frames
        if course is None or not course.tokens:
            return
        passed = course.passed()
        for observer in self._observers:
            observer.on_skipped(course.call, passed)
        for chain in self._chains:
            chain.on_skipped(course.call, passed)
        course.look()

    def hand_on_quiet(self) -> None:
        """Let everybody know of the text that went by."""
        if self.quiet_frames.frames:
            self._tell_quiet(*self.quiet_frames.gone(), self.quiet_frames.last)

    def learn(self, event: Event, out: Sequence[Frame], *, holding: bool) -> None:
        """Find out whether the next event may go the way of this one: two in a row have to have gone it.

        `holding`: whether a stage holds something back now.
        """
        course, seen = self.skipped_frames, self._seen
        self.skipped_frames = self._seen = None
        frame, like = event.frame, self._template_reader.match
        rewritten = len(out) != 1 or out[0] is not frame
        self._over = self._over or event.content.end
        skips = not (self._over or self._each) and not (holding and rewritten)
        self.quiet_frames.on = skips and (not holding or self._may_skip_text(event))
        if like is None or frame.data is None or frame.trailing or len(out) != 1 or out[0].number != frame.number:
            return
        if not event.content.fragments or not event.content.fragments[0].arguments:
            return  # An empty fragment shows no way of others.
        way = edit_of(like, frame.raw, out[0].raw)
        resolved = self._resolver.resolved if self._resolver is not None else ()
        # A frame that was written anew, and came out as it was, need not do so with other spaces in it.
        anew = way == UNCHANGED and out[0] is not frame
        if way is None or anew or len(resolved) != 1 or (self._watched and not self._as_before(way, frame, out[0])):
            return
        call = resolved[0].call
        odd = bool([chain for chain in self._chains if chain.needs_every_event(call)])
        if odd and not self._takes_any(call):
            return
        self._seen = (like, way, call, odd)
        if course is not None and course.goes(like, way, call, frame.raw, odd=odd):
            self.skipped_frames = course
        elif seen == self._seen:
            self.skipped_frames = SkippedFrames(like, way, call, frame.raw, odd=odd, brackets=self._brackets)

    def _takes_any(self, call: OpenCall) -> bool:
        """Whether the next event may go by, whatever it says of the call's arguments."""
        if self._watched or call.over or call.shared:
            return False
        return all(chain.accepts_any(call) for chain in self._chains)

    def _as_before(self, way: Edit, frame: Frame, out: Frame) -> bool:
        """Whether what is told of an event's change can be told of the next one too; never the first time."""
        before, changes = self._change, self._changes()
        self._change = None
        if way == UNCHANGED:
            return not changes
        if len(changes) != 1 or (changes[0].before, changes[0].after) != (frame.raw, out.raw):
            return False
        self._change = changes[0]
        return before is not None and (before.names, before.kind) == (changes[0].names, changes[0].kind)

    def learn_quiet(self, raw: bytes) -> None:
        """Take a frame that said nothing, and that no stage held."""
        if self.quiet_frames.on:
            self.quiet_frames.learn(raw)

    def _may_skip_text(self, event: Event) -> bool:
        """Whether frames of text may go by while a stage holds something: only those like this one, if it is text."""
        frame = event.frame
        if frame.data is None or frame.trailing:
            return False
        if not self._quiet(frame.raw, 1) or self._may_leak(frame.raw):
            return False
        return not any(chain.needs_text for chain in self._chains) and self.quiet_frames.learn(frame.raw)

    def _skip_quiet(self, chunk: bytes, at: int, send: Send) -> int:
        """Let frames of text pass by; where they end."""
        begin, frames = at, 0
        while stop := self.quiet_frames.stop(chunk, at):
            at = stop
            frames += 1
        if frames:
            self.hand_on()
            self._tell_quiet(frames, at - begin, chunk, at)
            send(chunk, begin, at, None)
        return at

    def _tell_quiet(self, frames: int, size: int, raw: bytes, end: int | None = None) -> None:
        first = self._framer.skip(frames)
        for observer in self._observers:
            observer.quiet(first, frames, size)
        for stage in self._counters:
            stage.on_quiet(raw, len(raw) if end is None else end)


def skipper_of_faults(framer: TextCutter, template_reader: TemplateReader, plan: StageSet) -> Skipper | None:
    """The courses of frames through the faults that break them; `template_reader` reads the healthy stream."""
    if plan.faults is None or plan.watched:
        return None
    course = StageSet(stages=plan.faults, resolver=plan.faults.resolver, brackets=False)
    return Skipper(framer, template_reader, course, never)
