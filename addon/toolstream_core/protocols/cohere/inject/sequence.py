"""How the order of Cohere calls, and what stands beside them, is broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.cohere.inject.base import CallInjector, maker, text_of, with_fields
from toolstream_core.protocols.cohere.inject.message import Leaked, MessageInjector
from toolstream_core.protocols.cohere.wire import (
    CALL_DELTA,
    CALL_END,
    CALL_START,
    MESSAGE_END,
    Payload,
    call_delta,
    kind_of,
)
from toolstream_core.protocols.requests.tools import earlier_ids

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker, Pick
    from toolstream_core.wire.frame import Frame

_TOKENS: Final = {"input_tokens": 0, "output_tokens": 0}


def _reused_id(injector: CallInjector, payload: Payload, kind: str, call: OpenCall) -> Iterable[Payload] | None:
    del call
    earlier = min(earlier_ids(injector.context.exchange.request), default=None)
    return [with_fields(payload, id=earlier)] if earlier and kind == CALL_START else None


class MergedCalls(MessageInjector):
    """The arguments of later calls come behind the first one's, and those calls do not."""

    _end: Payload | None = None
    """The end of the first call, which waits until the next event that is of no call."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        kind, end = kind_of(payload), self._end
        if call is None and end is not None:
            self._end = None
            return [self.make(event, end), event.frame]
        if call is None:
            return [event.frame]
        if call is self.calls[0]:
            self._end = payload if kind == CALL_END else None
            return [] if kind == CALL_END else [event.frame]
        said = text_of(payload) if kind == CALL_DELTA else ""
        return [self.make(event, call_delta(self.calls[0].index, said))] if said else []


class EarlyFinish(MessageInjector):
    """`message-end` comes before the second call, too."""

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        if kind_of(payload) != CALL_START or len(self.calls) != 2:  # noqa: PLR2004 - before the second
            return [event.frame]
        usage = {"billed_units": dict(_TOKENS), "tokens": dict(_TOKENS)}
        early = {"type": MESSAGE_END, "delta": {"finish_reason": "TOOL_CALL", "usage": usage}}
        return [self.make(event, early), event.frame]


class LeakedTwice(Leaked):
    """The calls come as text, too."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """As `Injector`."""
        super().__init__(context, pick, "leaked-hermes")

    @override
    def changed(self, event: Event, payload: Payload, call: OpenCall | None) -> Iterable[Frame]:
        if kind_of(payload) != MESSAGE_END or not self.calls:
            return [event.frame]
        return [*self.texts(event), event.frame]


INJECTORS: Final[dict[str, InjectorMaker]] = {
    "reused-id": maker(_reused_id, steady=True),
    "merged-calls": MergedCalls,
    "early-finish": EarlyFinish,
    "leaked-twice": LeakedTwice,
}
