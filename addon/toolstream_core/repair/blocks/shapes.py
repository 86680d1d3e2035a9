"""Shapes of block protocols: when a client may get a call, and in how many fragments. Knows no protocol."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final, override

from toolstream_core.defects.causes.what import What
from toolstream_core.repair.blocks.protocol import ARGUMENTS, INDEX, number_of
from toolstream_core.repair.fields import put
from toolstream_core.stages.shape.small_fragments import SplitFragments
from toolstream_core.stages.shape.whole_calls import MergedFragments

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.repair.blocks.protocol import BlockProtocol
    from toolstream_core.repair.fields import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.stage import StageMaker
    from toolstream_core.wire.frame import Frame

_OF_BLOCKS: Final = frozenset({What.START, What.DELTA, What.STOP})


class WholeBlocks(MergedFragments):
    """A call is sent when it is complete, its arguments in one delta; a truncated call is left out."""

    def __init__(self, protocol: BlockProtocol, context: Context) -> None:
        """`protocol`: the table of events."""
        super().__init__(context)
        self._protocol = protocol
        self.known = protocol.delta_keys

    @override
    def delta(self, frame: Frame, text: str, call: OpenCall) -> Payload:
        del call
        return with_arguments(self._protocol, frame, text)

    @override
    def place_of(self, frame: Frame) -> int | None:
        event = self._protocol.read(frame)
        return number_of(self._protocol.get(event, INDEX)) if event is not None and event.what in _OF_BLOCKS else None

    @override
    def placed(self, frame: Frame, place: int) -> Frame:
        event = self._protocol.read(frame)
        assert event is not None  # as its index was read from it
        return self._protocol.rewrite(self._context.writer, frame, event, self._protocol.laid(event, {INDEX: place}))


class TinyBlocks(SplitFragments):
    """Arguments are sent a few characters at a time."""

    def __init__(self, protocol: BlockProtocol, context: Context) -> None:
        """`protocol`: the table of events."""
        super().__init__(context)
        self._protocol = protocol
        self.known = protocol.delta_keys

    @override
    def delta(self, frame: Frame, text: str) -> Payload:
        return with_arguments(self._protocol, frame, text)


def with_arguments(protocol: BlockProtocol, frame: Frame, text: str) -> Payload:
    """The payload of a delta with other arguments."""
    event = protocol.read(frame)
    assert event is not None  # as its fragment was read from it
    if protocol.split is not None:
        event = protocol.split(event)[1][0]
    return protocol.wrapped(frame, put(event.body, protocol.paths[What.DELTA][ARGUMENTS], text))


def shapes(protocol: BlockProtocol) -> dict[str, StageMaker]:
    """The shapes of a protocol with this table, by name."""
    return {"whole-calls": partial(WholeBlocks, protocol), "tiny-fragments": partial(TinyBlocks, protocol)}
