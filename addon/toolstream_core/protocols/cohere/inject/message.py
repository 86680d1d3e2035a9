"""How the events around Cohere calls are broken, as far as no other protocol has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.cohere.inject.call_event import CallEvent
from toolstream_core.protocols.cohere.wire import DONE, MESSAGE_END
from toolstream_core.stages.inject.injector import Injector
from toolstream_core.stages.inject.message_injector import FinishInjector, MessageInjector

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.inject.wire_event import WireEvent
    from toolstream_core.wire.frame import Frame


class MissingEventName(MessageInjector):
    """Events of calls have no event line, the others do."""

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        if call is None or not frame.name:
            return [frame]
        return [self._context.writer.rewrite(frame, event.body, "")]


class NullUsage(FinishInjector):
    """Usage is null."""

    @override
    def finish(self, frame: Frame, event: WireEvent) -> Iterable[Frame]:
        delta = {**event.body["delta"], "usage": None}
        return [self.rewritten(frame, event.with_body({**event.body, "delta": delta}))]


def early_end(event: WireEvent) -> WireEvent:
    """The end of a message that makes calls."""
    del event
    tokens = {"input_tokens": 0, "output_tokens": 0}
    delta = {"finish_reason": "TOOL_CALL", "usage": {"billed_units": tokens, "tokens": tokens}}
    return CallEvent(MESSAGE_END, {"type": MESSAGE_END, "delta": delta})


class MissingDone(MessageInjector):
    """A message with calls ends before `[DONE]`."""

    each = True
    _over = False

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        done = (event.frame.data or b"").strip() == DONE and self.calls and self._pick.stream()
        if not (done or self._over):
            return super().take(event, resolved)
        self._over = True
        self._pick.acted()
        return []

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        return [frame]


class DataAfterEnd(Injector):
    """A content block follows `[DONE]`."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        del resolved
        if (event.frame.data or b"").strip() != DONE or not self._pick.stream():
            return [event.frame]
        self._pick.acted()
        late = {"type": "content-end", "index": 0}
        return [event.frame, self._context.writer.make(late, event.frame.number, "content-end")]
