"""How the events around Converse blocks are broken, as far as no other protocol has them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, override

from toolstream_core.protocols.bedrock.converse_event import METADATA, STOP
from toolstream_core.stages.inject.message_injector import MessageInjector

if TYPE_CHECKING:
    from collections.abc import Iterable

    from toolstream_core.calls import OpenCall
    from toolstream_core.stages.inject.wire_event import WireEvent
    from toolstream_core.wire.frame import Frame


def early_stop(event: WireEvent) -> WireEvent:
    """The stop of a message that makes calls."""
    return replace(event, kind=STOP, body={"stopReason": "tool_use"})


class NullUsage(MessageInjector):
    """Usage is null."""

    @override
    def changed(self, frame: Frame, event: WireEvent, call: OpenCall | None) -> Iterable[Frame]:
        if event.kind != METADATA:
            return [frame]
        return [self.rewritten(frame, event.with_body({**event.body, "usage": None}))]
