"""Anthropic content blocks on their way to the client: started, filled and stopped one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.defects.finish import REPEATED_STOP
from toolstream_core.defects.framing import FOREIGN_DELTA
from toolstream_core.defects.identity import OFFSET_INDEX, REUSED_INDEX, UNKNOWN_BLOCK
from toolstream_core.protocols.anthropic.repair.block_ends import BlockEndRepairer
from toolstream_core.protocols.anthropic.repair.block_mode import Stop
from toolstream_core.protocols.anthropic.repair.client_block import InnerText
from toolstream_core.protocols.anthropic.repair.events import Payload, arguments_of, index_of, is_text, set_apart
from toolstream_core.protocols.anthropic.repair.held import Placeholder, Undecided, Waiting

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.model import Event, Json
    from toolstream_core.protocols.anthropic.repair.client_block import ClientBlock
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

MAX_UNDECIDED: Final = 64
"""Deltas that wait behind a first `{}`."""
PATIENCE: Final = 8
"""Keep-alives that wait behind one: where more come the stream is slow."""
_OF_A_STOP: Final = frozenset({"type", "index"})
"""The keys of an event that only stops a block."""


class BlockRepairer(BlockEndRepairer):
    """Judges and repairs content blocks that need not wait; its subclasses decide which have to."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._started = 0
        """How many blocks the wire has started, those included that the client does not get."""
        self._waiting = Waiting()
        self._placeholder: Placeholder | None = None

    def _begin(self, block: ClientBlock, event: Event, payload: Payload) -> None:
        """Give the client a block."""
        index = index_of(payload)
        self._place(block, payload.get("index"), again=index in self.message.by_index)
        self.message.add(block, index)
        self._pass(event.frame, payload, block.header(payload, self.message.ids))
        self.message.add_id(block)

    def _place(self, block: ClientBlock, index: Json, *, again: bool) -> None:
        """Find out whether a block's index is its place; `again`: it was an earlier block's."""
        expected, self._started = self._started, self._started + 1
        counted = type(index) in {int, float} and index == expected
        repair = self._moved or block.place != expected
        row, message = OFFSET_INDEX, f"the index is {index} where {expected} comes next"
        if again:
            row, message = REUSED_INDEX, f"index {index} is that of an earlier block"
        if not counted:
            repair = self.report(row, self.number, message, block.call) or repair
        block.moved = repair and not (counted and block.place == expected)
        self._moved = self._moved or block.moved

    def _delta(self, event: Event, payload: Payload, call: OpenCall | None) -> None:
        """A delta of a block that does not wait."""
        block = self.message.block_of(index_of(payload), call)
        nobodys = call is not None and block is not None and block.call is not call
        self.message.lost_arguments |= nobodys
        if block is None or (nobodys and not block.open):
            self._delta_of_unknown(event, payload, call)
        elif not block.open:
            self._late(event, payload, block)
        elif (
            block.is_call
            and is_text(payload)
            and self.report(FOREIGN_DELTA, self.number, "text comes in a block that is a call", block.call)
        ):
            block.texts.append(InnerText(event.frame, payload))
        else:
            self._filled(event, payload, block)

    def _delta_of_unknown(self, event: Event, payload: Payload, call: OpenCall | None) -> None:
        """A delta of a block that was never started."""
        raise NotImplementedError

    def _stray(self, event: Event, payload: Payload, *, call: OpenCall | None = None) -> None:
        """Send an event of a block that was never started, so that no client takes it for an event of another block.

        Its arguments might be taken so wherever blocks are put in order; everything else, where the index is given
        to another block.
        """
        index = index_of(payload)
        taken = index is not None and 0 <= index < self.message.count
        self.message.lost_arguments = self.message.lost_arguments or call is not None
        apart = self.on(UNKNOWN_BLOCK) and (taken or call is not None)
        self._pass(event.frame, payload, set_apart(payload) if apart else payload)

    def _filled(self, event: Event, payload: Payload, block: ClientBlock) -> None:
        """A delta of an open block."""
        arguments, delta = block.arguments, payload.get("delta")
        changed = block.delta(payload)
        if not isinstance(delta, dict) or "partial_json" not in delta:
            arguments.settle()
        elif arguments.mistyped:
            self._settled()
            self.flush(block)
        if (before := self._placeholder) is not None:
            if before.block is block and arguments.repair.placeholder and len(before.deltas) < MAX_UNDECIDED:
                before.deltas.append(Undecided(event.frame, payload, arguments.emitted))
                return
            self._settle_placeholder()
        if arguments.repair.waiting:
            self._placeholder = Placeholder(block, [Undecided(event.frame, payload, arguments.emitted)])
            return
        self._pass(event.frame, payload, changed)
        if block.stop_owed and arguments.come:
            self._stop_now(block, Stop.OWN)
            self._go_on()

    def _late(self, event: Event, payload: Payload, block: ClientBlock) -> None:
        """A delta behind its block's stop: dropped if it says nothing new and the stop was made, passed otherwise.

        It is dropped, too, where what came before it was taken from another index.
        """
        changed, arguments, piece = block.moved_to_place(payload), block.arguments, arguments_of(payload)
        arguments.late = arguments.late or bool(not block.stopped_early and piece)
        again = block.stopped_early or block.claimed
        if again and block.is_call and isinstance(piece, str):
            repaired = block.delta(payload)
            rest = "".join(arguments.rest())
            if repaired is not changed and not rest and not arguments_of(repaired):
                return
            arguments.late = arguments.late or bool(piece)
        if piece:
            self.message.lost_arguments |= not block.is_call
            self._spoilt(block)
        self._pass(event.frame, payload, changed)

    def _spoilt(self, block: ClientBlock) -> None:
        """Arguments come behind the stop of a block."""
        raise NotImplementedError

    def _settle_placeholder(self) -> None:
        """Send a first `{}` that waited for the next event, or what it has become."""
        if self._placeholder is None:
            return
        (block, deltas), self._placeholder = self._placeholder, None
        for frame, payload, emitted in deltas:
            if payload is None:
                self._send(frame)
                continue
            moved = block.moved_to_place(payload)
            if emitted is not None and emitted.text != payload["delta"]["partial_json"]:
                moved = {**moved, "delta": {**payload["delta"], "partial_json": emitted.text}}
            self._pass(frame, payload, moved)

    def _behind(self, frame: Frame) -> None:
        """Send an event that concerns no block: behind a first `{}` that waits, unless that takes long."""
        placeholder = self._placeholder
        if placeholder is not None and len(placeholder.deltas) < PATIENCE:
            placeholder.deltas.append(Undecided(frame, None, None))
            return
        self._settled()
        self._send(frame)

    def _settled(self) -> None:
        """Nothing comes any more that could change what a first `{}` means."""
        if self._placeholder is not None:
            self._placeholder.block.arguments.settle()
            self._settle_placeholder()

    def _stop(self, event: Event, payload: Payload) -> None:
        """The stop of a block that does not wait."""
        block = self.message.by_index.get(index_of(payload))
        bare = payload.get("type") == "content_block_stop" and payload.keys() <= _OF_A_STOP
        if block is None:
            message = f"no block {payload.get('index')} was started"
            drop = self.report(UNKNOWN_BLOCK, self.number, message) and self.message.count > 0 and bare
            if not drop:
                self._stray(event, payload)
        elif not block.open:
            made = block.stopped_early
            block.stop(Stop.OWN)
            if not ((made or self.report(REPEATED_STOP, self.number, "the block stops twice", block.call)) and bare):
                self._pass(event.frame, payload, block.moved_to_place(payload))
        elif self._waiting.events and block.is_call and not block.arguments.whole:
            block.stop(Stop.KEPT)
        else:
            self._finish_block(block, Stop.OWN)
            self._pass(event.frame, payload, block.moved_to_place(payload))
            self._text_after(block)
            if self._waiting.events:
                self._go_on()

    def let_go(self) -> None:
        """Send all blocks that wait."""
        raise NotImplementedError

    def _go_on(self) -> None:
        """A block was stopped: send those whose turn it is now."""
        raise NotImplementedError
