"""The blocks of one Converse message, as the client has them: what each still lacks, and how it is stopped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.finish import UNCLOSED_CALL
from toolstream_core.defects.framing import FOREIGN_DELTA
from toolstream_core.protocols.bedrock.converse_event import (
    BLOCK_DELTA,
    BLOCK_STOP,
    INDEX,
    ConverseEvent,
    Payload,
    input_delta,
    made,
)
from toolstream_core.protocols.bedrock.repair.client_indexes import ClientIndexes
from toolstream_core.protocols.bedrock.repair.client_message import ClientMessage
from toolstream_core.protocols.bedrock.request import BedrockRequests
from toolstream_core.stages.repair.repairer import Repairer

if TYPE_CHECKING:
    from toolstream_core.calls import OpenCall
    from toolstream_core.protocols.bedrock.repair.client_block import Block
    from toolstream_core.protocols.bedrock.repair.held import Unsure, Waited
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame


class ClientBlocks(Repairer):
    """Knows every block that the client has been given."""

    def __init__(self, context: Context) -> None:
        """As `Repairer`."""
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
        self._with_text: Block | None = None
        """The last call of which text is kept that came inside it."""
        self._keyed: bool | None = None
        """Whether the stream's events have their names as a key; its first one decides."""
        self._current: Block | None = None
        """The call that started last."""
        self._by_call: dict[int, Block] = {}
        self._by_index: dict[int | None, Block] = {}
        self._indexes = ClientIndexes()
        self._others: set[int | None] = {None}
        """The indexes of blocks that are no call."""
        self._strays: list[Waited] = []
        """Deltas of an index that no block has, which may be the open call's."""
        self._unsure: list[Unsure] = []
        """A first `{}`, and what came behind it."""
        self._astray = False
        """Whether arguments came that belong to no call."""

    @property
    def runnable(self) -> bool:
        """Whether calls came, and each of them can be run."""
        if not self.calls or self._astray or not all(one.runnable for one in self.calls):
            return False
        return all(one.is_call or one.finished or not one.open for one in self._by_call.values())

    def put(self, kind: str, body: Payload) -> None:
        """Let a new event go on."""
        self._out.append(made(self.context.writer, kind, body, self.message.number, keyed=bool(self._keyed)))

    def pass_on(self, frame: Frame, event: ConverseEvent, body: Payload) -> None:
        """Let an event go on, as it is where nothing in it changes."""
        unchanged = body is event.body
        self._out.append(frame if unchanged else self.context.writer.rewrite(frame, event.with_body(body)))

    def _beside_calls(self, event: ConverseEvent) -> Payload:
        """An event of a block that is no call, under an index that no moved block has."""
        self._others.add(event.index)
        body = event.body if event.index in self._by_index else self._indexes.of_other(event)
        row = self._indexes.made_up_for(event.index)
        if body is not event.body and row is not None:
            self.because(row)
        return body

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

    def _keep_text(self, block: Block, text: str) -> None:
        """Text came inside a call: behind all that came before it inside others."""
        if block is not self._with_text:
            self._flush_text()
        self._with_text = block
        block.texts.append(text)

    def _flush_text(self) -> None:
        """Text that came inside a call goes on before what comes behind it in the answer."""
        if self._with_text is not None:
            self._text_after(self._with_text)
            self._with_text = None

    def _text_after(self, block: Block) -> None:
        """Text that came inside a call, in a block of its own; APIs refuse one that is nothing but white space."""
        text = "".join(block.texts)
        block.texts = []
        if text.strip():
            place = {INDEX: self._indexes.next(FOREIGN_DELTA)}
            self.put(BLOCK_DELTA, {**place, "delta": {"text": text}})
            self.put(BLOCK_STOP, place)

    def close_before(self, call: OpenCall, *, failed: bool) -> None:
        """The message is over, so the open call needs no arguments: it stops before `call` starts."""
        current = self._current
        if current is None or not current.open or current.call is call or current.finished:
            return
        whole = current.is_call and current.whole and not failed
        message = "no contentBlockStop came for the call"
        if whole and self.report(UNCLOSED_CALL, self.message.number, message, current.call):
            self.close(current)
