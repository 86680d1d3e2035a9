"""How the events around Anthropic's content blocks are broken, as far as no other protocol has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.anthropic.inject.block_event import FINISH
from toolstream_core.stages.inject.message_injector import MessageInjector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.wire_event import WireEvent
    from toolstream_core.wire.frame import Frame


class MissingEventName(MessageInjector):
    """Events have no event line."""

    each = True

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        return [self._context.writer.rewrite(frame, event.body, "")] if frame.name else [frame]


class NullUsage(MessageInjector):
    """Usage is null."""

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        if event.kind != FINISH:
            return [frame]
        return [self.rewritten(frame, event.with_body({**event.body, "usage": None}))]


class MissingDone(MessageInjector):
    """`message_stop` does not come."""

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        return [] if event.kind == "message_stop" else [frame]
