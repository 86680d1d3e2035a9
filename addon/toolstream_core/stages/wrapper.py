"""A stage that wraps another one."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.stages.stage import Holds, Skippable, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import SkippedRun
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


class Wrapper[Inner: Stage](Stage, Holds, Skippable):
    """Holds and skips what the inner stage does; each wrapper defines `take`."""

    def __init__(self, context: Context, inner: Inner) -> None:
        """Wraps `inner`, for one stream."""
        super().__init__(context)
        self._inner = inner
        stage: Stage = inner
        self._holder = stage if isinstance(stage, Holds) else None
        self._skippable = stage if isinstance(stage, Skippable) else None
        self.each = stage.each

    @override
    def release(self) -> Iterable[Frame]:
        return self._inner.release()

    @property
    @override
    def holding(self) -> bool:
        return self._holder is not None and self._holder.holding

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        return self._skippable is None or self._skippable.needs_every_event(call)

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        if self._skippable is not None:
            self._skippable.on_skipped(call, passed)
