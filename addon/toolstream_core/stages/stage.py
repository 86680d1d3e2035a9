"""The interface of a stage, and stages that wrap another one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import override

from toolstream_core.calls import Calls, OpenCall, ResolvedFragment
from toolstream_core.model import NOTHING, Change, Event, SkippedRun
from toolstream_core.stages.context import Context
from toolstream_core.wire.frame import Frame

type StageMaker = Callable[[Context], Stage]

# A stage has three verbs: `take`, `end`, `release`. The rest has defaults. The chain finds out once which stages
# override a default, and calls only these at each event.


class Stage(ABC):
    """Gets each event of one stream once, in order, and returns the frames to forward in its place."""

    each = False
    """Whether it also needs events without calls, finish, error or end."""
    skips_calls = False
    """Whether it needs no event inside a call."""

    def __init__(self, context: Context) -> None:
        self._context = context

    @abstractmethod
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """The frames to forward for `event`, whose fragments are `resolved`: its own, others, or none yet."""

    def end(self, *, clean: bool) -> Iterable[Frame]:
        """The frames to forward at the end of the body; `clean`: the connection did not break."""
        return ()

    def release(self) -> Iterable[Frame]:
        """The held frames, unchanged, after an internal error."""
        return ()

    @property
    def holding(self) -> bool:
        """Whether it holds frames. Frames without content then wait after them."""
        return False

    @property
    def needs_text(self) -> bool:
        """Whether it needs text events while it holds frames."""
        return True

    def on_quiet(self, raw: bytes, end: int) -> None:
        """Note that events without content were forwarded; the last one ends at `end` of `raw`."""

    def needs_every_event(self, call: OpenCall) -> bool:
        """Whether it needs events like the last one, which only add plain text inside the arguments of `call`."""
        return True

    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        """Note that such events were skipped: forwarded in the same way as the event before them."""

    def accepts_any(self, call: OpenCall) -> bool:
        """Whether `on_skipped` is enough for events like the last one, with any addition to the arguments of `call`."""
        return False


def defines(stage: Stage, ability: str) -> bool:
    """Whether a stage overrides a method or property."""
    return getattr(type(stage), ability) is not getattr(Stage, ability)


class Wrapper(Stage):
    """Wraps another stage; each wrapper defines `take`."""

    def __init__(self, context: Context, inner: Stage) -> None:
        """Wraps `inner`, for one stream."""
        super().__init__(context)
        self._inner = inner
        self.each = inner.each

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        return self._inner.end(clean=clean)

    @override
    def release(self) -> Iterable[Frame]:
        return self._inner.release()

    @property
    @override
    def holding(self) -> bool:
        return self._inner.holding

    @property
    @override
    def needs_text(self) -> bool:
        return self._inner.needs_text

    @override
    def on_quiet(self, raw: bytes, end: int) -> None:
        self._inner.on_quiet(raw, end)


class OwnCalls(Wrapper):
    """Resolves the calls of its events itself, because the stage reads another stream than the reported one."""

    def __init__(self, context: Context, inner: Stage, calls: Calls) -> None:
        """`calls` is new."""
        super().__init__(context, inner)
        self._calls = calls

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        content, frame = event.content, event.frame
        nothing = frame.data is None or content is NOTHING
        return self._inner.take(event, () if nothing else self._calls.resolve(content, frame.number))


class Audited(Wrapper):
    """Records the changes of a shape or fault."""

    def __init__(self, context: Context, inner: Stage, kind: str, name: str) -> None:
        """`kind` and `name` as in `Change`."""
        super().__init__(context, inner)
        self._kind = kind
        self._name = name
        self._held: list[Frame] = []
        self._last: list[Frame] = []
        """The last event of the body, without a terminator. Held frames precede it."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frames = self._apart(self._inner.take(event, resolved))
        if not self._held and len(frames) == 1 and frames[0] is event.frame:
            return frames
        self._held.append(event.frame)
        if event.frame.trailing and self.holding:
            self._last = frames
        elif frames or not self.holding:
            frames_left = self._unchanged(frames)
            if frames_left or not self.holding:
                self._record_change(event.frame.number, frames_left)
        return frames

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        frames = list(self._inner.end(clean=clean))
        if frames or self._held:
            self._record_change((frames or self._held)[-1].number, [*frames, *self._last])
        return frames

    def _apart(self, frames: Iterable[Frame]) -> list[Frame]:
        """The frames, each terminated but the last one, if they replace an event without a terminator."""
        out = list(frames)
        return [*map(self._context.writer.ended, out[:-1]), *out[-1:]]

    def _unchanged(self, frames: list[Frame]) -> list[Frame]:
        """The frames after those that were held and are forwarded unchanged, which are no change."""
        pairs = zip(self._held, frames, strict=False)
        same = next(
            (at for at, (one, other) in enumerate(pairs) if one is not other), min(len(self._held), len(frames))
        )
        del self._held[:same]
        return frames[same:]

    def _record_change(self, number: int, frames: list[Frame]) -> None:
        before, self._held = self._held, []
        change = Change((self._name,), number, before, frames, self._kind)
        if change.before != change.after:
            self._context.changed(change)
