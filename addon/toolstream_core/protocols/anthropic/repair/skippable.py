"""Which events of a Messages stream its repair has to see one by one, and what becomes of those that it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.anthropic.repair.order import OrderRepairer
from toolstream_core.stages.stage import HoldsBesideText, SkippableWhole

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event, SkippedRun
    from toolstream_core.protocols.anthropic.repair.restart import SecondMessage
    from toolstream_core.stages.context import Context


class SkippableRepairer(OrderRepairer, HoldsBesideText, SkippableWhole):
    """Has deltas skipped that go on as they are."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._second: SecondMessage | None = None
        self._tail: tuple[Event, OpenCall | None] | None = None
        """The last event, which lacks its end: what goes on for it is known when the body ends."""

    @property
    @override
    def holding(self) -> bool:
        """Also while a block is open or indexes are moved, which concerns events of every kind."""
        last = self.message.last
        waits = bool(self._waiting.events or self._strays) or self._tail is not None
        return waits or self._moved or (last is not None and last.open)

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        block = self.message.last
        if block is None or block.call is not call or self._waits:
            return True
        return self._second is not None or not (block.open and block.arguments.inside_value)

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        del call
        block = self.message.last
        for number, piece in enumerate(passed.pieces, passed.first):
            self.number = number
            if block is not None:
                block.arguments.take(piece)
        self.number = passed.first + passed.events - 1
        if block is not None and passed.text:
            block.arguments.on_skipped(passed.text, passed.last)

    @override
    def accepts_any(self, call: OpenCall) -> bool:
        block = self.message.last
        if block is None or block.call is not call or self._waits:
            return False
        return self.context.judging and self._second is None and block.accepts_any

    @property
    @override
    def needs_text(self) -> bool:
        """Text of the newest block needs no change where nothing waits, no index is moved, and it alone is open."""
        return self._moved or self._waits or len(self.message.open) > 1

    @property
    def _waits(self) -> bool:
        """Whether any event waits."""
        return bool(self._waiting.events or self._strays) or self._placeholder is not None
