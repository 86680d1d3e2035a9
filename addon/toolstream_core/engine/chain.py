"""Stages one behind the other: what each lets go on is what the next one sees. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.model import NOTHING, Event

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import Calls, OpenCall, ResolvedFragment
    from toolstream_core.model import EventContent, SkippedRun
    from toolstream_core.stages.stage import Stage
    from toolstream_core.wire.frame import Frame

type Resolve = Callable[[Event], Sequence[ResolvedFragment]]
"""Gives the fragments of an event with their calls."""


def resolving(calls: Calls) -> Resolve:
    """Puts each event's fragments into `calls`, and what it says of their end."""
    return lambda event: calls.resolve(event.content, event.frame.number) if event.content is not NOTHING else ()


class Chain:
    """The stages of one stream. A stage that raises ends the rewriting; nothing that was held is lost."""

    def __init__(self, stages: Sequence[tuple[Stage, Resolve]], read: Callable[[Frame], EventContent]) -> None:
        """Each stage with what tells it the calls of the events that it sees."""
        self._stages = tuple(stages)
        self._read = read
        self._resolved: list[Sequence[ResolvedFragment]] = [() for _ in stages]
        """The fragments of the event that each stage was given last, with their calls."""
        self.each = any(stage.each for stage, _ in stages)
        """Whether a stage wants to see events that say nothing too."""
        self._last: Event | None = None
        """The body's last event where it lacks its end: whatever is put behind it would be joined to it."""
        self.error: Exception | None = None
        """The bug of ours that ended the rewriting."""

    @property
    def holding(self) -> bool:
        """Whether any stage holds frames back."""
        if self.error is None:
            for stage, _ in self._stages:
                if stage.holding:
                    return True
        return False

    def take(self, event: Event) -> list[Frame]:
        """What goes on for `event`."""
        if self.error is not None:
            return [event.frame]
        if event.frame.trailing and event.frame.raw.strip():
            self._last = event
            return []
        return self._through(event)

    def needs_every_event(self, call: OpenCall) -> bool:
        """As `Stage.needs_every_event`, of any of them."""
        return self.error is not None or any(stage.needs_every_event(call) for stage, _ in self._stages)

    def accepts_any(self, call: OpenCall) -> bool:
        """As `Stage.accepts_any`, of all of them."""
        return self.error is None and all(stage.accepts_any(call) for stage, _ in self._stages)

    @property
    def needs_text(self) -> bool:
        """As `Stage.needs_text`, of those that hold something."""
        return self.error is not None or any(stage.holding and stage.needs_text for stage, _ in self._stages)

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """As `Stage.on_skipped`."""
        for stage, _ in self._stages:
            stage.on_skipped(call, passed)

    def end(self, *, clean: bool) -> list[Frame]:
        """What the stages still have at the body's end, each seen by those behind it."""
        event, self._last = self._last, None
        out = [] if event is None else self._from(0, [event.frame], event)
        for at, (stage, _) in enumerate(self._stages):
            if self.error is not None:
                break
            try:
                last = list(stage.end(clean=clean))
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
                out = _behind(out, self._failed(at, error, None))
                break
            out = _behind(out, self._from(at + 1, last, None))
        return out

    def release(self) -> list[Frame]:
        """What is held, as it came, in the stream's order: what later stages hold came first."""
        event, self._last = self._last, None
        return [*self._held(0, len(self._stages)), *([] if event is None else [event.frame])]

    def _through(self, event: Event) -> list[Frame]:
        """As `_from` the first stage on, without more ado as long as the frame goes on as it is."""
        frame = event.frame
        for at, (stage, resolve) in enumerate(self._stages):
            try:
                resolved = self._resolved[at] = resolve(event) if frame.data is not None else ()
                gone = list(stage.take(event, resolved))
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
                return self._failed(at, error, frame)
            if len(gone) != 1 or gone[0] is not frame:
                return self._from(at + 1, gone, event)
        return [frame]

    def _from(self, at: int, frames: Iterable[Frame], event: Event | None) -> list[Frame]:
        """Let frames go through the stages from number `at` on."""
        if at == len(self._stages):
            return list(frames)
        out: list[Frame] = []
        stage, resolve = self._stages[at]
        for frame in frames:
            if self.error is not None:
                out.append(frame)
                continue
            one = event if event is not None and event.frame is frame else Event(frame, self._read)
            try:
                resolved = self._resolved[at] = resolve(one) if frame.data is not None else ()
                gone = list(stage.take(one, resolved))
            except Exception as error:  # noqa: BLE001 - whatever it is, the client gets its bytes
                out.extend(self._failed(at, error, frame))
                continue
            out.extend(self._from(at + 1, gone, one))
        return out

    def _failed(self, at: int, error: Exception, frame: Frame | None) -> list[Frame]:
        """Everything that is held, and the frame at which it failed in its place."""
        self.error = error
        later = self._held(at, len(self._stages))
        failed = [] if frame is None or any(frame is one for one in later) else [frame]
        return [*later, *failed, *self._held(0, at)]

    def _held(self, begin: int, end: int) -> list[Frame]:
        return [held for stage, _ in reversed(self._stages[begin:end]) for held in stage.release()]


def _behind(frames: list[Frame], more: list[Frame]) -> list[Frame]:
    """`more` behind `frames`, but for a last one that lacks its end: nothing is joined to that."""
    if frames and more and frames[-1].trailing:
        return [*frames[:-1], *more, frames[-1]]
    return [*frames, *more]


class Breaking(Chain):
    """The stages that break a stream: each resolves the calls of what it sees for itself."""

    def told(self) -> Sequence[ResolvedFragment]:
        """The fragments of the event that came last, with their calls."""
        return self._resolved[0]

    def needs_every_event(self, call: OpenCall) -> bool:
        """As `Stage.needs_every_event`, of any of them; `call` is the first one's."""
        del call
        return self.error is not None or any(
            len(resolved) != 1 or stage.needs_every_event(resolved[0].call)
            for (stage, _), resolved in zip(self._stages, self._resolved, strict=True)
        )

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """As `Stage.on_skipped`, each with its own call."""
        del call
        for (stage, _), resolved in zip(self._stages, self._resolved, strict=True):
            own = resolved[0].call
            own.runs.extend(passed.first, passed.events)
            own.arguments.add_skipped(passed)
            stage.on_skipped(own, passed)
