"""What of one stream need not be parsed event by event: the one object that the pipeline asks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from toolstream_core.engine.fast_path.skipper import Skipper, skipper_of_faults
from toolstream_core.engine.fast_path.template import TemplateReader
from toolstream_core.engine.stage_set import never
from toolstream_core.model import Event
from toolstream_core.wire.frame import Frame, TextCutter

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.engine.output import PassThrough
    from toolstream_core.engine.stage_set import StageSet
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.wire.frame import Framer

# Three ways past the parser, each found out from frames that went through it before:
# - frames that say nothing of calls (`WireProtocol.quiet`) are counted, many at once where a chunk is nothing else;
# - an event that differs from the one before it in its arguments alone (`Skipper`) passes, or is rewritten, as that;
# - an event that has to be looked at is read by the template of an earlier one, where it is like it (`TemplateReader`).
# What goes on and what is told is the same as if each event were parsed: `Session(..., fast=False)` does that.

MANY: Final = 2048
"""Bytes in one go below which looking at the frames one by one is as cheap."""


class Parsing(Protocol):
    """Where frames go that have to be looked at."""

    def pass_frames(self, frames: Sequence[Frame]) -> None:
        """Take the next frames; for each of them `FastPath.take` is asked."""
        ...

    def tell(self, frame: Frame) -> None:
        """Let everybody see the event of a frame."""
        ...


class FastPath:
    """Decides which frames of one stream pass unparsed, and tells the stages and observers of them."""

    def __init__(
        self,
        framer: Framer,
        dialect: WireProtocol,
        stages: StageSet,
        parsing: Parsing,
        output: PassThrough,
        *,
        coded: bool,
        fast: bool = True,
    ) -> None:
        """`output` takes what passes; no text passes before `allow_quiet`.

        `coded`: whether a coding was undone, so that the bytes do not come as they were sent. Without `fast`, every
        event is parsed, and the stages are shown those that they are shown with it.
        """
        template_reader, healthy = TemplateReader(dialect.read), TemplateReader(dialect.read)
        self.read = template_reader.read if fast else dialect.read
        """Reads an event as `WireProtocol.read` does."""
        self.read_healthy = healthy.read if fast else dialect.read
        """The same for events that faults are going to break."""
        self.direct = fast and not coded
        """Whether `feed` may be given the bytes as they come."""
        self._framer = framer
        self._dialect = dialect
        self._stages = stages
        self._parsing = parsing
        self._output = output
        self._may_leak = stages.may_leak
        self._observers = stages.observers
        self._chains = tuple(chain for chain in (stages.stages, stages.judge) if chain is not None)
        self._holders = tuple(holder for chain in self._chains for holder in chain.holders)
        self._counters = tuple(counter for chain in self._chains for counter in chain.counters)
        self._quiet: Callable[[bytes, int], bool] = never
        self._holding = False
        """Whether a stage holds something back, so that events that say nothing have to queue behind it."""
        self._bulk: TextCutter | None = None
        self._skipper: Skipper | None = None
        self._fault_skipper: Skipper | None = None
        self._parses_all = not fast
        if isinstance(framer, TextCutter) and self.direct:
            self._bulk = None if stages.wants_each or any(one.each for one in self._observers) else framer
            if stages.resolver is not None and not stages.wants_each:
                self._skipper = Skipper(framer, template_reader, stages, dialect.quiet)
                self._fault_skipper = skipper_of_faults(framer, healthy, stages)

    def allow_quiet(self) -> None:
        """The first events have been told: from here on frames that say nothing may pass."""
        if not self._stages.wants_each:
            self._quiet = self._dialect.quiet

    def feed(self, chunk: bytes) -> None:
        """Cut decoded bytes, and let pass what need not be looked at.

        `feed_fast` has been tried where what goes on is collected: a chunk that is one frame has to be cut then.
        """
        bulk, skipper = self._bulk, self._skipper
        if skipper is not None and skipper.quiet_frames.frames:
            skipper.hand_on_quiet()
        if bulk is None or (self._output.collects and chunk.find(bulk.end) == len(chunk) - len(bulk.end)):
            self._parsing.pass_frames(self._framer.feed(chunk))
            return
        if self._output.collects and len(chunk) < MANY and self._count_quiet(bulk, chunk):
            self._output.send_raw(chunk)
            return
        if bulk.holding and len(chunk) > MANY and bulk.end in chunk:
            begin = chunk.index(bulk.end) + len(bulk.end)
            self._parsing.pass_frames(bulk.feed(chunk[:begin]))
            chunk = chunk[begin:]
        self._at_once(bulk, chunk)

    def feed_fast(self, chunk: bytes) -> bytes | None:
        """What goes on for a chunk that is one frame, and need not be cut; `None` for any other.

        What is told of frames of text waits for the next call of anything else.
        """
        skipper = self._skipper
        if skipper is None or (not self._output.collects and skipper.inside_frame):
            return None
        if self._stages.faults is not None:
            return self._feed_through_faults(skipper, chunk)
        if skipper.skipped_frames is not None and (sent := skipper.whole(chunk)) is not None:
            return sent
        text = skipper.quiet_frames
        return chunk if text.on and text.segments and skipper.skips_text(chunk) else None

    def take(self, frame: Frame) -> Frame | None:
        """What goes on for a frame that need not be looked at, `None` for any other."""
        skipper = self._skipper
        if skipper is not None and (skipper.skipped_frames is not None or skipper.quiet_frames.frames):
            sent = skipper.takes(frame) if self._stages.faults is None else None
            if sent is not None:
                return sent
        raw = frame.raw
        if not self._quiet(raw, 1) or frame.data is None:
            return None
        if frame.trailing or self._holding or self._may_leak(raw):
            return None
        for stage in self._counters:
            stage.on_quiet(raw, len(raw))
        if self._parses_all:
            event = Event(frame, self.read)
            for observer in self._observers:
                observer(event)
            return frame
        for observer in self._observers:
            observer.quiet(frame.number, 1, len(raw))
        if skipper is not None:
            skipper.learn_quiet(raw)
        return frame

    def take_healthy(self, frame: Frame) -> Frame | None:
        """What the faults make of a frame, where that is known without showing it to them."""
        return self._fault_skipper.takes(frame) if self._fault_skipper is not None else None

    def take_broken(self, frame: Frame) -> Frame | None:
        """As `take`, for a frame that faults let go on."""
        return self._skipper.takes(frame) if self._skipper is not None else None

    def learn(self, event: Event, out: Sequence[Frame]) -> None:
        """Take an event that was told, and the frames that went on for it."""
        if event.content.end:
            self._quiet = never
        self._holding = False
        for holder in self._holders:
            if holder.holding:
                self._holding = True
                break
        if self._skipper is not None:
            self._skipper.learn(event, out, holding=self._holding)

    def learn_broken(self, event: Event, out: Sequence[Frame]) -> None:
        """As `learn`, for an event that the faults were shown, and what they made of it."""
        faults = self._stages.faults
        if self._fault_skipper is not None and faults is not None:
            self._fault_skipper.learn(event, out, holding=faults.holding)

    def hand_on(self) -> None:
        """Tell everybody of what passed so far."""
        for skipper in (self._fault_skipper, self._skipper):
            if skipper is not None:
                skipper.hand_on()

    def _feed_through_faults(self, skipper: Skipper, chunk: bytes) -> bytes | None:
        bulk, faults = self._bulk, self._fault_skipper
        raw = faults.whole(chunk) if faults is not None and bulk is not None else None
        if raw is None or bulk is None:
            return None
        number = bulk.skip(0) - 1
        sent = skipper.whole(raw, number)
        if sent is None:
            skipper.hand_on()
            self._parsing.tell(bulk.reread(Frame(raw, number, None)))
            sent = self._output.joined()
        return sent

    def _at_once(self, bulk: TextCutter, chunk: bytes) -> None:
        """Pass a chunk that begins where a frame does, most often; what cannot pass at once may do so in halves."""
        if self._skipper is not None and self._stages.faults is None:
            chunk = self._skipper.along(chunk, self._output.send_part)
        end = chunk.rfind(bulk.end) + len(bulk.end) if len(chunk) > MANY and not bulk.holding else 0
        if end < MANY:
            self._parsing.pass_frames(bulk.feed(chunk) if chunk else [])
        elif end < len(chunk):
            self._at_once(bulk, chunk[:end])
            self._parsing.pass_frames(bulk.feed(chunk[end:]))
        elif self._count_quiet(bulk, chunk):
            self._output.send_raw(chunk)
        else:
            self._in_halves(bulk, chunk)

    def _in_halves(self, bulk: TextCutter, chunk: bytes) -> None:
        half = chunk.find(bulk.end, len(chunk) // 2) + len(bulk.end)
        if half == len(chunk):
            self._parsing.pass_frames(bulk.feed(chunk))
            return
        self._at_once(bulk, chunk[:half])
        self._at_once(bulk, chunk[half:])

    def _count_quiet(self, bulk: TextCutter, chunk: bytes) -> bool:
        """Count the frames of a chunk, where none says anything: whether that is so."""
        if self._holding:
            return False
        frames = bulk.usual(chunk)
        if not frames or not self._quiet(chunk, frames) or self._may_leak(chunk):
            return False
        if self._skipper is not None:
            self._skipper.hand_on()
            if frames == 1:
                self._skipper.learn_quiet(chunk)
        first = bulk.skip(frames)
        for observer in self._observers:
            observer.quiet(first, frames, len(chunk))
        for stage in self._counters:
            stage.on_quiet(chunk, len(chunk))
        return True
