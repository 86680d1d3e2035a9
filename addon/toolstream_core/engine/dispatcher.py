"""Gives each frame of one answer to who has to do with it, and lets go on what becomes of it. Fails open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.engine.fast_path.path import FastPath
from toolstream_core.engine.stage_set import StageSet
from toolstream_core.engine.state import State
from toolstream_core.model import NOTHING, Event
from toolstream_core.wire.frame import DamagedFrame, TextCutter
from toolstream_core.wire.whole import WholeFramer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from toolstream_core.engine.chain import Breaking
    from toolstream_core.engine.output import PassThrough
    from toolstream_core.engine.stage_set import StagesFor
    from toolstream_core.model import EventContent, Json
    from toolstream_core.protocols.protocol import WireProtocol
    from toolstream_core.wire.frame import Frame, Framer


# Nothing waits for longer than the frame that it is in. Before the protocol is known (most often with the first frame
# that carries data), frames go on as they came, and the stages see them afterwards; a whole, unstreamed body goes on
# as it came. Whatever goes wrong in reading (a corrupt coding, a bug of ours) ends the reading and is kept in
# `failure`: what is held goes on as it came, and so does everything behind it.


class Dispatcher:
    """Takes the frames of one answer in order."""

    def __init__(self, recogniser: Recogniser, stages_for: StagesFor, output: PassThrough, *, fast: bool) -> None:
        """`stages_for` is called at most once; what goes on goes to `output`; `fast`: as for `Session`."""
        self.state = State.FRAMING
        self.failure: str | None = None
        """Why reading stopped before the end, where it did."""
        self.fast: FastPath | None = None
        """What of the stream passes unparsed, while it is read."""
        self._error: Exception | None = None
        self._recogniser = recogniser
        self._stages_for = stages_for
        self._output = output
        self._wants_fast = fast
        self._framer: Framer | None = None
        self._coded = False
        self._stages = StageSet()
        self._read: Callable[[Frame], EventContent] = _nothing
        self._read_healthy: Callable[[Frame], EventContent] = _nothing
        """Reads what faults are going to break, which is another stream than the one that is told."""

    @property
    def error(self) -> Exception | None:
        """The bug of ours that ended the reading or the rewriting, where there was one."""
        return self._error or self._stages.error

    def begin(self, framer: Framer, *, coded: bool) -> None:
        """Frames come from here on; `coded`: whether a content coding was undone before they were cut."""
        self.state = State.RECOGNISING
        self._framer, self._coded = framer, coded
        if isinstance(framer, WholeFramer):
            self._output.pass_whole()

    def pass_frames(self, frames: Sequence[Frame], *, again: bool = False) -> None:
        """Take the next frames, and let go on what becomes of them; `again`: they came before, and were only kept."""
        taken = None if again else self._output.taken
        for frame in frames:
            if taken:
                del taken[: len(frame.raw)]
            try:
                if self.state is State.PASSING:
                    self._output.send([frame])
                elif self.state is State.RECOGNISING:
                    self._recognise(frame)
                elif frame.oversize and isinstance(frame, DamagedFrame):
                    self.end(clean=False)
                    self.failure = self.failure or frame.damage
                    self._output.send([frame])
                elif self.fast is not None and (sent := self.fast.take(frame)) is not None:
                    self._output.send([sent])
                elif self._stages.faults is not None:
                    self._break(self._stages.faults, frame)
                else:
                    self.tell(frame)
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
                self.fail(error, [frame])

    def tell(self, frame: Frame) -> None:
        """Let everybody see the event of a frame, and let go on what becomes of it.

        An event may be told after reading has ended with another one of its frame.
        """
        if self.state is State.PASSING:
            self._output.send([frame])
            return
        try:
            event, stages = Event(frame, self._read), self._stages
            for observer in stages.observers:
                observer(event)
            if stages.judge is not None:
                stages.judge.take(event)
            out = [frame] if stages.stages is None else stages.stages.take(event)
            if event.content.end:
                self.state = State.OVER
        except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
            self.fail(error, [frame])
            return
        self._output.send(out)
        if self.fast is not None:
            try:
                self.fast.learn(event, out)
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
                self.fail(error)

    def end(self, *, clean: bool) -> None:
        """Nothing more comes: let go what is held; `clean` unless the connection broke."""
        claimed = self._recogniser.at_end() if self.state is State.RECOGNISING else None
        if claimed is not None:
            self._start(claimed)
        self._output.send(self._recogniser.unsent())
        faults, judge, stages = self._stages.faults, self._stages.judge, self._stages.stages
        if faults is not None and self.state is not State.PASSING:
            for frame in faults.end(clean=clean):
                self.tell(frame)
        if judge is not None and self.state is not State.PASSING:
            judge.end(clean=clean)
        if stages is not None and self.state is not State.PASSING:
            self._output.send(stages.end(clean=clean))
        self.stop()

    def stop(self, failure: str | None = None) -> None:
        """Read no more."""
        self.state = State.PASSING
        self.failure = self.failure or failure
        self.fast = None
        self._recogniser.pending.clear()

    def fail(self, error: Exception, frames: Sequence[Frame] = ()) -> None:
        """A bug of ours ends the reading; what is held goes on as it came, and `frames` behind it."""
        self._error = error
        self._give_up(f"{type(error).__name__} while reading", frames)

    def _give_up(self, why: str, frames: Sequence[Frame]) -> None:
        self.stop(why)
        if self._output.collects:
            self._output.send([*self._stages.release(), *self._recogniser.unsent(), *frames])

    def _break(self, faults: Breaking, frame: Frame) -> None:
        """Let everybody see what a frame was made of by faults."""
        fast, framer = self.fast, self._framer
        known = fast.take_healthy(frame) if fast is not None else None
        event = Event(frame, self._read_healthy)
        broken = faults.take(event) if known is None else [known]
        for one in broken:
            sent = fast.take_broken(one) if fast is not None else None
            if sent is None:
                self.tell(framer.reread(one) if one is known and isinstance(framer, TextCutter) else one)
            else:
                self._output.send([sent])
        if known is None and fast is not None:
            fast.learn_broken(event, broken)

    def _recognise(self, frame: Frame) -> None:
        found = self._recogniser.take(frame)
        if found is not None:
            self._start(found, frame)
            return
        passing = self._recogniser.passing(frame)
        if self._recogniser.given_up:
            self.stop()
        self._output.send(passing)

    def _start(self, dialect: WireProtocol, last: Frame | None = None) -> None:
        """The protocol is known, by the frame `last`, which has not gone on yet, or because the body is over."""
        framer = self._framer
        assert framer is not None
        streamed = not isinstance(framer, WholeFramer)
        stages = self._stages_for(dialect, framer)
        self._stages = stages if streamed else StageSet(stages.observers)
        self._read = self._read_healthy = dialect.read if streamed else lambda frame: dialect.answer(frame.json)
        if streamed:
            self.fast = FastPath(framer, dialect, stages, self, self._output, coded=self._coded, fast=self._wants_fast)
            self._read, self._read_healthy = self.fast.read, self.fast.read_healthy
        self.state = State.READING
        self._replay(last)
        # The first frames are never quiet, so that what only they say is read.
        if self.fast is not None and self.state is State.READING:
            self.fast.allow_quiet()

    def _replay(self, last: Frame | None) -> None:
        """Let the stages see the frames so far; what becomes of those that have gone on goes nowhere."""
        unsent = self._recogniser.unsent()
        for frame in self._recogniser.frames():
            self._output.discard(on=not (frame is last or frame in unsent))
            self.pass_frames([frame], again=True)
        self._output.discard(on=last is None)


def _nothing(frame: Frame) -> EventContent:
    """What a frame says before its protocol is known."""
    del frame
    return NOTHING


MAX_UNRECOGNISED: Final = 8
"""Frames with data that are looked at before a stream counts as no LLM stream."""
KEEP_ALIVE: Final = frozenset({b"", b":"})
"""How data begins that says nothing in any protocol."""


class Recogniser:
    """Looks for the protocol of one stream, first for that which the request's path belongs to."""

    def __init__(self, dialects: Sequence[WireProtocol], path: str) -> None:
        """`dialects` are the protocols that it may be."""
        claimed = [dialect for dialect in dialects if dialect.claims(path)]
        self._claimed = claimed[0] if claimed else None
        self._candidates = [*claimed, *(dialect for dialect in dialects if dialect not in claimed)]
        self.pending: list[Frame] = []
        """The frames so far; of long runs of comments the last ones."""
        self._unsent: list[Frame] = []
        self.given_up = False
        """Whether the stream counts as no LLM stream."""

    def find(self, frame: Frame) -> WireProtocol | None:
        """The protocol that a frame belongs to, where it shows."""
        payload: Json = frame.json
        return next((one for one in self._candidates if one.recognise(frame.name, payload)), None)

    def take(self, frame: Frame) -> WireProtocol | None:
        """Take the next frame; the protocol, where it is known now."""
        pending = self.pending
        if isinstance(frame, DamagedFrame) and any(isinstance(one, DamagedFrame) for one in pending):
            return None  # reading stops at the first
        pending.append(frame)
        if frame.data is None:
            if len(pending) > 4 * MAX_UNRECOGNISED:
                pending.remove(next(one for one in pending if one.data is None))
            return None
        found = self.find(frame)
        if found is None and sum(1 for one in pending if one.data is not None) >= MAX_UNRECOGNISED:
            found = self._claimed
            self.given_up = found is None
        return found

    def at_end(self) -> WireProtocol | None:
        """The protocol, where the stream is over and no frame has shown it: the path's."""
        return self._claimed if self.pending else None

    def passing(self, frame: Frame) -> list[Frame]:
        """What may go on when `frame` was taken, and the protocol is not known yet.

        Keep-alives sent as data wait for the first event: a stage may want to repair them.
        """
        silent = frame.data is not None and frame.data.strip()[:1] in KEEP_ALIVE
        if silent and not (self.given_up or frame.trailing):
            self._unsent.append(frame)
            return []
        return [*self.unsent(), frame]

    def unsent(self) -> list[Frame]:
        """The frames that wait, which are handed over with this."""
        unsent, self._unsent = self._unsent, []
        return unsent

    def frames(self) -> list[Frame]:
        """All frames so far, which are handed over with this."""
        pending, self.pending = self.pending, []
        return pending
