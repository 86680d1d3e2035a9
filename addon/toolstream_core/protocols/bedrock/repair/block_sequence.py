"""Converse blocks on their way to the client: started, filled and stopped one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.defects.finish import REPEATED_STOP, UNCLOSED_CALL
from toolstream_core.defects.framing import FOREIGN_DELTA
from toolstream_core.defects.identity import REUSED_INDEX, UNKNOWN_BLOCK
from toolstream_core.protocols.bedrock.converse_event import (
    BLOCK_DELTA,
    BLOCK_STOP,
    INDEX,
    ConverseEvent,
    Payload,
    event_of,
    input_delta,
    made,
)
from toolstream_core.protocols.bedrock.repair.client_block import Block
from toolstream_core.protocols.bedrock.repair.client_indexes import ClientIndexes
from toolstream_core.protocols.bedrock.repair.client_message import ClientMessage
from toolstream_core.protocols.bedrock.repair.held import Unsure, Waited
from toolstream_core.protocols.bedrock.request import BedrockRequests
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

MAX_WAITING: Final = 4096
"""Events that wait before all are let go."""
_OF_A_STOP: Final = frozenset({INDEX, "p"})
"""All that an event says that stops a block."""


class BlockRepairer(Repairer):
    """Judges and repairs blocks that do not wait for others."""

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self.context = context
        self.calls: list[Block] = []
        """The calls that the client runs."""
        self.by_id: dict[str, list[Block]] = {}
        """Calls by the id that the provider gave them."""
        earlier_ids = BedrockRequests().earlier_ids(context.exchange.request)
        self.message = ClientMessage(context, self.reporter, earlier_ids)
        self._out: list[Frame] = []
        """What goes on for the event."""
        self._keyed = False
        self._current: Block | None = None
        """The call that started last."""
        self._by_call: dict[int, Block] = {}
        self._by_index: dict[int | None, Block] = {}
        self._indexes = ClientIndexes()
        self._strays: list[Waited] = []
        """Deltas of an index that no block has, which may be the open call's."""
        self._unsure: list[Unsure] = []
        """A first `{}`, and what came behind it."""
        self._astray = False
        """Whether arguments came that belong to no call."""

    @property
    def runnable(self) -> bool:
        """Whether calls came, and each of them can be run."""
        return bool(self.calls) and not self._astray and all(one.runnable for one in self.calls)

    def put(self, kind: str, body: Payload) -> None:
        """Let a new event go on."""
        self._out.append(made(self.context.writer, kind, body, self.message.number, keyed=self._keyed))

    def pass_on(self, frame: Frame, event: ConverseEvent, body: Payload) -> None:
        """Let an event go on, as it is where nothing in it changes."""
        unchanged = body is event.body
        self._out.append(frame if unchanged else self.context.writer.rewrite(frame, event.with_body(body)))

    def _begin(self, one: Waited, event: ConverseEvent, *, again: bool) -> None:
        """Give the client a block that is a call."""
        assert one.call is not None
        repair = self._indexes.is_made_up(event.index)
        if event.index is not None and event.index in self._by_index:
            message = f"index {event.index} is that of an earlier block"
            repair = self.report(REUSED_INDEX, self.message.number, message, one.call)
        elif repair:
            self.because(REUSED_INDEX)
        place = self._indexes.of_block(event, moved=repair)
        block = Block(self.message, event, one.call, place, again=again)
        self._current = self._by_call[id(one.call)] = self._by_index[event.index] = block
        self.pass_on(one.event.frame, event, block.header(event.body))
        if block.is_call:
            self.calls.append(block)
            if block.given_id:
                self.by_id.setdefault(block.given_id, []).append(block)
                self.message.given_ids.add(block.given_id)

    def _delta(self, one: Waited, event: ConverseEvent) -> None:
        block = self._by_call.get(id(one.call))
        if event.tool is None or one.call is None:
            self._other_delta(one, event)
        elif block is None:
            self.report(UNKNOWN_BLOCK, self.message.number, f"no block {event.body.get(INDEX)} was started", one.call)
            self._astray = True
            self.pass_on(one.event.frame, event, event.body)
        elif block.index != event.index:
            repair = self.report(UNKNOWN_BLOCK, self.message.number, f"no block {event.index} was started", one.call)
            if repair and one.call.guessed and block.open:
                self._strays.append(one)
            else:
                self._astray = True
                self.pass_on(one.event.frame, event, event.body)
        else:
            self._refuse_strays()
            self._fill(one.event.frame, event, block)

    def _other_delta(self, one: Waited, event: ConverseEvent) -> None:
        """A delta of text, reasoning or anything else that is not a call."""
        block = self._by_index.get(event.index)
        text = json_access.get(event.body, "delta", "text")
        foreign = block is not None and block.is_call and block.open and isinstance(text, str)
        message = "text comes in a block that is a call"
        if foreign and block is not None and self.report(FOREIGN_DELTA, self.message.number, message, block.call):
            self._settle()
            block.texts.append(str(text))
            return
        self.pass_on(one.event.frame, event, self._beside_calls(event))

    def _beside_calls(self, event: ConverseEvent) -> Payload:
        """An event of a block that is not a call, under an index that no moved block has."""
        body = event.body if event.index in self._by_index else self._indexes.of_other(event)
        if body is not event.body:
            self.because(REUSED_INDEX)
        return body

    def _fill(self, frame: Frame, event: ConverseEvent, block: Block) -> None:
        """A delta of the arguments under their own index, or one that was taken for such."""
        if not block.open:
            block.late = block.late or bool(json_access.get(event.body, "delta", "toolUse", "input"))
            self.pass_on(frame, event, block.at_place(event.body))
            return
        waited = bool(self._unsure)
        changed = block.delta(event.body)
        unsure = Unsure(frame, event, block, block.emitted)
        if waited and block.placeholder and len(self._unsure) < MAX_WAITING:
            self._unsure.append(unsure)
            return
        self._let_unsure_go()
        if block.waiting:
            self._unsure.append(unsure)
        else:
            self.pass_on(frame, event, changed)

    def _settle(self) -> None:
        """Nothing comes any more that could change what a first `{}` means, or whose a stray delta is."""
        if self._unsure:
            self._unsure[-1].block.settle()
        self._let_unsure_go()
        strays, self._strays = self._strays, []
        for one in strays:
            event = event_of(one.event.frame)
            block = self._by_call.get(id(one.call))
            if event is not None and block is not None:
                self.because(UNKNOWN_BLOCK)
                self._fill(one.event.frame, event, block)
        if strays:
            self._settle()

    def _let_unsure_go(self) -> None:
        unsure, self._unsure = self._unsure, []
        for frame, event, block, emitted in unsure:
            body = block.at_place(event.body)
            text = json_access.get(body, "delta", "toolUse", "input")
            if emitted is not None and emitted.text != text:
                body = {**body, "delta": input_delta(0, emitted.text)["delta"]}
            self.pass_on(frame, event, body)

    def _refuse_strays(self) -> None:
        """The call gets arguments under its own index: those under another one are nobody's, and go as they came."""
        strays, self._strays = self._strays, []
        self._astray = self._astray or bool(strays)
        self._out += [one.event.frame for one in strays]

    def _stop(self, one: Waited, event: ConverseEvent) -> None:
        """The stop of a block."""
        self._settle()
        frame, bare = one.event.frame, event.body.keys() <= _OF_A_STOP
        block = self._by_call.get(id(one.call)) or self._by_index.get(event.index)
        if block is None:
            self.pass_on(frame, event, self._beside_calls(event))
        elif block.open:
            self._close_arguments(block)
            named = block.index == event.index
            moved = named or self.report(
                UNKNOWN_BLOCK, self.message.number, f"no block {event.index} was started", block.call
            )
            self.pass_on(frame, event, block.at_place(event.body) if moved else event.body)
            self._text_after(block)
        else:
            early, block.closed_early = block.closed_early, False
            if not early:
                early = self.report(REPEATED_STOP, self.message.number, "the block stops twice", block.call)
            if not (early and bare):
                self.pass_on(frame, event, block.at_place(event.body))

    def close(self, block: Block) -> None:
        """Stop a block whose stop has not come."""
        block.closed_early = True
        self._close_arguments(block)
        self.put(BLOCK_STOP, {INDEX: block.place})
        self._text_after(block)

    def close_whole(self, *, failed: bool) -> None:
        """The message is over: stop a call that is whole, and say what was kept of one that is not."""
        for block in self._by_call.values():
            if not block.open:
                continue
            message = "no contentBlockStop came for the call"
            closes = block.is_call and block.whole and not failed
            if closes and self.report(UNCLOSED_CALL, self.message.number, message, block.call):
                self.close(block)
            else:
                self.flush(block)

    def flush(self, block: Block) -> None:
        """Say what was kept of a block that is not stopped: nothing of it may be lost."""
        if kept := block.kept():
            self.put(BLOCK_DELTA, input_delta(block.place, kept))
        self._text_after(block)

    def _close_arguments(self, block: Block) -> None:
        if rest := block.rest():
            self.put(BLOCK_DELTA, input_delta(block.place, rest))
        block.open = False

    def _text_after(self, block: Block) -> None:
        """Text that came inside a call, in a block of its own; APIs refuse one that is nothing but white space."""
        text = "".join(block.texts)
        block.texts = []
        if text.strip():
            place = {INDEX: self._indexes.next()}
            self.put(BLOCK_DELTA, {**place, "delta": {"text": text}})
            self.put(BLOCK_STOP, place)
