"""Runs stages one after another, each on the output of the one before it. `build.py` decides their order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from toolstream_core.calls import OpenCall
from toolstream_core.engine.record_builder import RecordBuilder
from toolstream_core.model import Event, EventContent, SkippedRun
from toolstream_core.stages.stage import Stage, defines
from toolstream_core.wire.frame import Frame


class Chain:
    """The stages of one stream. A stage that raises ends the rewriting; held frames are not lost."""

    def __init__(
        self,
        stages: Sequence[Stage],
        read: Callable[[Frame], EventContent],
        reader: RecordBuilder,
        at_end: Stage | None = None,
    ) -> None:
        """`reader` resolves the calls of the stream.

        `at_end` joins them as the last one after the first finish reason: until then it costs nothing.
        """
        self._stages = tuple(stages)
        self._final = len(stages) - 1
        self._at_end = at_end
        self._read = read
        self.reader = reader
        self.each = any(stage.each for stage in stages)
        """Whether a stage also needs events without calls."""
        known = [*stages, *([] if at_end is None else [at_end])]
        self.holders = tuple(stage for stage in known if defines(stage, "holding"))
        """The stages that may hold frames back."""
        self.quiet_stages = tuple(stage for stage in stages if defines(stage, "on_quiet"))
        """The stages that use the numbers of events."""
        concerned = [stage for stage in stages if not stage.skips_calls]
        self._skippable = [stage for stage in concerned if defines(stage, "needs_every_event")]
        self._needs_all = len(self._skippable) < len(concerned)
        """Whether a stage needs every event."""
        self._last: Event | None = None
        """The last event of the body, if it has no terminator: frames after it would be joined to it."""
        self.error: Exception | None = None
        """The internal error that ended the rewriting."""
        self._has_ended = False
        """Whether the rewriting has ended: by an error, or because an event was too large to be read."""

    @property
    def holding(self) -> bool:
        """Whether any stage holds frames."""
        return not self._has_ended and any(stage.holding for stage in self.holders)

    @property
    def needs_text(self) -> bool:
        """As `Stage.needs_text`, of the stages that hold frames."""
        return self._has_ended or any(stage.holding and stage.needs_text for stage in self.holders)

    def take(self, event: Event) -> Sequence[Frame]:
        """The frames to forward for `event`."""
        frame = event.frame
        if self._has_ended:
            return [frame]
        if frame.oversize:
            self._has_ended = True
            return [*self.release(), frame]
        if frame.trailing and frame.raw.strip():
            self._last = event
            return []
        if self._at_end is not None and self.reader.ended:
            self._join(self._at_end)
        resolved = () if frame.data is None else self.reader.resolved
        for at, stage in enumerate(self._stages):
            try:
                gone = list(stage.take(event, resolved))
            except Exception as error:  # noqa: BLE001 - after any error, the client gets its bytes
                return self._failed(at, error, frame)
            if len(gone) != 1 or gone[0] is not frame:
                return gone if at == self._final else self._from(at + 1, gone, event)
        return [frame]

    def needs_every_event(self, call: OpenCall) -> bool:
        """As `Stage.needs_every_event`, of any of them."""
        if self._has_ended or self._needs_all:
            return True
        return bool([stage for stage in self._skippable if stage.needs_every_event(call)])

    def accepts_any(self, call: OpenCall) -> bool:
        """As `Stage.accepts_any`, of all of them."""
        if self._has_ended or self._needs_all:
            return False
        return all(stage.accepts_any(call) for stage in self._skippable)

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """As `Stage.on_skipped`."""
        for stage in self._skippable:
            stage.on_skipped(call, passed)

    def end(self, *, clean: bool) -> list[Frame]:
        """The frames that stages hold at the end of the body, each passed through the later stages.

        A last event without a terminator comes to each stage after the frames that earlier stages held.
        """
        if self._has_ended:
            return []
        if self._at_end is not None and self.reader.ended:
            self._join(self._at_end)
        event, self._last = self._last, None
        frames = [] if event is None else [event.frame]
        for at, stage in enumerate(self._stages):
            frames = self._from(at, frames, event, until=at + 1)
            if self.error is not None:
                return frames
            try:
                frames = _appended(frames, list(stage.end(clean=clean)))
            except Exception as error:  # noqa: BLE001 - for any error, the client gets its bytes
                self.error, self._has_ended = error, True
                own = [*self._held(at, at + 1), *self._held(0, at)]
                return _appended(self._held(at + 1, len(self._stages)), _appended(frames, own))
        return frames

    def release(self) -> list[Frame]:
        """The held frames, unchanged, in the order of the stream: later stages hold the older frames."""
        event, self._last = self._last, None
        return [*self._held(0, len(self._stages)), *([] if event is None else [event.frame])]

    def _join(self, stage: Stage) -> None:
        """Add a stage after all others."""
        self._stages = (*self._stages, stage)
        self._final, self._at_end = self._final + 1, None

    def _from(self, at: int, frames: list[Frame], event: Event | None, until: int | None = None) -> list[Frame]:
        """Pass frames through the stages from number `at` up to `until`, exclusive."""
        if at == (len(self._stages) if until is None else until):
            return frames
        out: list[Frame] = []
        stage = self._stages[at]
        for frame in frames:
            if self._has_ended:
                out.append(frame)
                continue
            try:
                one = event if event is not None and event.frame is frame else Event(frame, self._read)
                resolved = () if frame.data is None else self.reader.resolved
                gone = list(stage.take(one, resolved))
            except Exception as error:  # noqa: BLE001 - after any error, the client gets its bytes
                out.extend(self._failed(at, error, frame))
                continue
            out.extend(self._from(at + 1, gone, one, until))
        return out

    def _failed(self, at: int, error: Exception, frame: Frame | None) -> list[Frame]:
        """All held frames, with the frame at which the stage failed in its order."""
        self.error, self._has_ended = error, True
        later = self._held(at, len(self._stages))
        failed = [] if frame is None or any(frame is one for one in later) else [frame]
        return [*later, *failed, *self._held(0, at)]

    def _held(self, begin: int, end: int) -> list[Frame]:
        return [held for stage in reversed(self._stages[begin:end]) for held in stage.release()]


def _appended(frames: list[Frame], more: list[Frame]) -> list[Frame]:
    """`more` after `frames`, but before a last frame without a terminator."""
    if frames and more and frames[-1].trailing:
        return [*frames[:-1], *more, frames[-1]]
    return [*frames, *more]


def never(raw: bytes) -> bool:
    """Return `False` for any bytes."""
    del raw
    return False


@dataclass(frozen=True, slots=True)
class StageSet:
    """The stages and the reader of one response."""

    reader: RecordBuilder | None = None
    """Reads every event."""
    faults: Chain | None = None
    """Injects faults, before everything else."""
    checker: Chain | None = None
    """Reports defects if `stages` do not; its output is dropped."""
    stages: Chain | None = None
    """Checks, repairs and shapes the stream."""
    resolver: RecordBuilder | None = None
    """Resolves the calls, if all stages use those of the provider's stream: only then may events skip the
    stages."""
    may_leak: Callable[[bytes], bool] = never
    """Whether the text of a frame without calls may contain one, and has to be read."""

    @property
    def wants_each(self) -> bool:
        """Whether a stage also needs frames without calls."""
        return any(chain is not None and chain.each for chain in (self.faults, self.stages))

    @property
    def error(self) -> Exception | None:
        """The internal error that ended the work of a chain, if there was one."""
        chains = (self.faults, self.checker, self.stages)
        return next((chain.error for chain in chains if chain is not None and chain.error is not None), None)

    def release(self) -> list[Frame]:
        """The held frames, unchanged."""
        return [frame for chain in (self.stages, self.faults) if chain is not None for frame in chain.release()]
