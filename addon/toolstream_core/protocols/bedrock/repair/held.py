"""Converse events that wait, and what is known of them then."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from toolstream_core.protocols.bedrock.converse_event import BLOCK_STOP, event_of, says_text

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event
    from toolstream_core.protocols.bedrock.converse_event import ConverseEvent, Payload
    from toolstream_core.protocols.bedrock.repair.client_block import Block
    from toolstream_core.stages.repair.emitted import Emitted
    from toolstream_core.wire.frame import Frame


class Waited(NamedTuple):
    """An event that waits, with the call that it is of."""

    event: Event
    call: OpenCall | None

    @property
    def place(self) -> int | None:
        """The index that the event carries."""
        event = event_of(self.event.frame)
        return None if event is None else event.index

    @property
    def stops(self) -> bool:
        """Whether it stops a block."""
        event = event_of(self.event.frame)
        return event is not None and event.kind == BLOCK_STOP

    @property
    def says_text(self) -> bool:
        """Whether it is a delta of text."""
        return says_text(event_of(self.event.frame))


class Unsure(NamedTuple):
    """A delta of which the next one decides what it becomes."""

    frame: Frame
    event: ConverseEvent
    body: Payload
    """What it says, as far as that is decided."""
    block: Block
    emitted: Emitted | None
