"""How the order of Converse blocks, and what stands beside them, is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.bedrock.converse_event import (
    BLOCK_DELTA,
    BLOCK_START,
    BLOCK_STOP,
    INDEX,
    STOP,
    ConverseEvent,
    Payload,
    input_delta,
)
from toolstream_core.protocols.bedrock.inject.base import said_input
from toolstream_core.protocols.bedrock.inject.message import Leaked, MessageInjector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker, Pick
    from toolstream_core.wire.frame import Frame


class MergedCalls(MessageInjector):
    """The arguments of later calls come behind the first one's, and those calls do not."""

    _stop: Payload | None = None
    """The stop of the first call, which waits until the next event that is of no call."""

    @override
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        stop = self._stop
        if call is None and stop is not None:
            self._stop = None
            return [self.make(event, converse, BLOCK_STOP, stop), event.frame]
        if call is None or call not in self.calls:
            return [event.frame]
        if call is self.calls[0]:
            self._stop = converse.body if converse.kind == BLOCK_STOP else None
            return [] if converse.kind == BLOCK_STOP else [event.frame]
        text = said_input(converse)
        first = self.calls[0].index
        return [self.make(event, converse, BLOCK_DELTA, input_delta(first, text))] if text else []


class EarlyFinish(MessageInjector):
    """`messageStop` comes before the second call, too."""

    @override
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        if converse.kind != BLOCK_START or call is None or self.calls[1:] != [call]:
            return [event.frame]
        return [self.make(event, converse, STOP, {"stopReason": "tool_use"}), event.frame]


class LeakedTwice(Leaked):
    """The calls come as text, too."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """As `Injector`."""
        super().__init__(context, pick, "leaked-hermes")

    @override
    def changed(self, event: Event, converse: ConverseEvent, call: OpenCall | None) -> Iterable[Frame]:
        if converse.kind != STOP or not self.calls:
            return [event.frame]
        last = self.calls[-1].index
        place = {INDEX: last + 1} if isinstance(last, int) else {}
        return [*self.texts(event, converse, place), event.frame]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "merged-calls": MergedCalls,
    "early-finish": EarlyFinish,
    "leaked-twice": LeakedTwice,
}
