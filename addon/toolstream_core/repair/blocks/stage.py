"""Repairs streams of content blocks.

An event that takes the client to the intended calls is forwarded unchanged. Otherwise the fields that differ are
rewritten. Events of a block wait for the end of the block before, and while later events may change them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import override

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.defects.arguments import TRAILING_GARBAGE
from toolstream_core.defects.defect import WARNING
from toolstream_core.defects.finish import IN_BAND_ERROR, REPEATED_START, UNCLOSED_CALL
from toolstream_core.defects.framing import BODY_NOT_STREAM, MISSING_HEAD, RESTARTED_STREAM
from toolstream_core.model import ABSENT, Event, Fragment, SkippedRun
from toolstream_core.repair.blocks.ending import MessageEnd
from toolstream_core.repair.blocks.events import BlockEvents, BlockStarts
from toolstream_core.repair.blocks.message import Block, BlockState
from toolstream_core.repair.blocks.order import BlockOrder
from toolstream_core.repair.blocks.protocol import (
    ARGUMENTS,
    DELTA_TYPE,
    INDEX,
    UNKNOWN_EVENT,
    BlockEvent,
    BlockProtocol,
)
from toolstream_core.repair.blocks.stream import BlockStream
from toolstream_core.repair.client_text import add_skipped, is_in_step, is_withheld
from toolstream_core.repair.shapes import NO_SHAPE, Policy
from toolstream_core.repair.shaping import ends_normally
from toolstream_core.stages.context import Context
from toolstream_core.stages.inject.codec import What
from toolstream_core.stages.repair.repairer import MAX_EVENTS, Repairer, is_unread
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame


class BlockDifference(Repairer):
    """Sends the parts of the intended message that the client lacks."""

    def __init__(self, context: Context, protocol: BlockProtocol, policy: Policy = NO_SHAPE) -> None:
        """`protocol`: the table of events; `policy`: the encoding that the client supports."""
        super().__init__(context)
        stream = self._stream = BlockStream(context, protocol, self.reporter, policy)
        self.protocol, self.message = protocol, stream.message
        client = BlockEvents(stream)
        self._order = BlockOrder(stream, client, BlockStarts(stream, client))
        self._ending = MessageEnd(stream, client, self._order)
        self._restarted = False
        """Whether a second message began, which is not repaired."""
        self._lacks_head = False
        """Whether the message began without the event that begins it."""
        self._tail: tuple[Event, Sequence[ResolvedFragment]] | None = None
        """The last event of the body, without its blank line."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, self._stream.out, self._stream.number = event.frame, [], event.frame.number
        self._stream.now = self._stream.number
        if frame.trailing and frame.raw.strip() and not self._restarted:
            self._tail = event, resolved
            return ()
        self._take(event, resolved)
        if self.message.waiting > MAX_EVENTS:
            self._order.send_all()
        self.forwarded(frame, self._stream.out, waits=self._waits)
        self.message.released.clear()
        return self._stream.out

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        self._stream.out, message, tail = [], self.message, self._tail
        cut = tail[0].frame if tail is not None and self.protocol.read(tail[0].frame) is None else None
        if tail is not None and cut is None:
            self._take(*tail)
        self._tail, message.truncated = None, message.truncated or cut is not None
        if self._restarted:
            self._stream.end_turn(normally=False)
        else:
            if clean and not self.message.sends_stops:
                self._ending.withhold_stops()
            self.message.sends_stops = True
            self._order.send_all()
            is_whole = clean and not (message.truncated or message.failed)
            if is_whole and not message.done:
                self._ending.put_end()
            self._ending.flush(normally=is_whole and self.on(UNCLOSED_CALL))
        self._stream.out += [] if cut is None else [cut]
        self.forwarded(None if tail is None else tail[0].frame, self._stream.out)
        return self._stream.out

    @override
    def release(self) -> Iterable[Frame]:
        waiting = [one.event.frame for block in self.message.blocks for one in (*block.waiting, *block.foreign)]
        last = [] if self._tail is None else [self._tail[0].frame]
        shaped = self._stream.shaping.waiting_frames
        frames = {id(one): one for one in [*self.message.released, *shaped, *waiting, *last]}
        return sorted(frames.values(), key=lambda frame: frame.number)

    @property
    def _waits(self) -> bool:
        return self.message.waits or self._stream.shaping.waits

    holding = True
    """Always: a text delta needs an open block, except if it follows another text delta (`needs_text`)."""

    @property
    @override
    def needs_text(self) -> bool:
        return (
            self.message.moved
            or self._stream.shaping.lowers_places
            or self._waits
            or sum(block.state is BlockState.OPEN for block in self.message.blocks[-2:]) > 1
        )

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        block = self.message.by_call.get(id(call))
        if not self._stream.policy.is_empty:
            return True
        if block is None or self._restarted or self.message.waits or block is not self.message.blocks[-1]:
            return True
        return not (block.is_in_step or (block.state is BlockState.OPEN and is_withheld(block.reader, block.text)))

    @override
    def accepts_any(self, call: OpenCall) -> bool:
        message, block = self.message, self.message.by_call.get(id(call))
        if (
            block is None
            or block.call is not call
            or block is not message.blocks[-1]
            or block.state is not BlockState.OPEN
        ):
            return False
        if self._restarted or message.waits or message.moved or not self._context.reports_only:
            return False
        return block.text.diverged or block.reader.decided

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        block = self.message.by_call.get(id(call))
        self._stream.number = passed.first + passed.events - 1
        if block is not None:
            for number, defect in add_skipped(block.reader, block.text, passed):
                self._stream.report(defect, defect.meaning, call, at=number)
            block.seen = call.arguments.size

    def _take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> None:
        message, frame = self.message, event.frame
        parsed = self.protocol.read(frame) if frame.data is not None else None
        if self._restarted:
            self._pass(event, resolved)
            return
        if self._stream.keyed is None and parsed is not None and parsed.what is not What.OTHER:
            self._stream.keyed = self.protocol.keyed(frame)
        if len(resolved) == 1 and parsed is not None:
            block = self._stays_in_step(parsed, *resolved[0])
            if block is not None:
                self._stream.send(frame, parsed, {INDEX: block.place} if block.moved else None, call=block.call)
                return
        if frame.data is not None and event.content.error:
            message.failed = message.cut = message.sends_stops = True
            self._order.send_all()
            self._ending.flush()
            self._stream.report(IN_BAND_ERROR, f"the provider reports an error: {event.content.error}")
        if parsed is not None and message.done and self.protocol.after_end is not None:
            if not self._stream.report(self.protocol.after_end, "an event follows the end"):
                self._stream.send(frame, parsed)
            return
        if parsed is None or parsed.what is What.OTHER:
            self._other(event, parsed)
        else:
            self._of_message(event, parsed, resolved)

    def _other(self, event: Event, parsed: BlockEvent | None) -> None:
        """An event that belongs to no block."""
        frame = event.frame
        known = parsed is not None and parsed.kind in self.protocol.event_lines
        if frame.data is not None and not known and is_unread(event):
            self.message.truncated = self.message.sends_stops = True
            self.reporter.note_gap(TRAILING_GARBAGE)  # it may be the rest of a call that began here
            self._order.send_all()
        if parsed is not None and event.content.end:
            where = "after" if self.message.blocks else "instead of"
            self._stream.report(BODY_NOT_STREAM, f"one event has the complete message, {where} its events")
        self._order.take_other(event, parsed or UNKNOWN_EVENT)

    def _of_message(self, event: Event, parsed: BlockEvent, resolved: Sequence[ResolvedFragment]) -> None:
        """An event of a block or of the message."""
        if self.message.head is None and parsed.what is not What.HEAD:
            self._begin(parsed)
        match parsed.what:
            case What.HEAD:
                self._head(event, parsed)
            case What.START | What.DELTA | What.STOP:
                self._order.take_blocks(event, parsed, resolved)
            case What.FINISH:
                self._ending.finish(event, parsed)
            case What.TAIL | What.END:
                self._ending.end(event, parsed)

    def _stays_in_step(self, parsed: BlockEvent, fragment: Fragment, call: OpenCall) -> Block | None:
        """The open block, if the event has nothing but the next part of its arguments, and the client needs that."""
        message, get, text = self.message, self.protocol.get, fragment.arguments
        block = message.by_call.get(id(call))
        if parsed.what is not What.DELTA or block is None or message.waiting or message.done or block.foreign:
            return None
        if block.state is not BlockState.OPEN or not (fragment.well_formed and isinstance(text, str) and text):
            return None
        if fragment.id is not ABSENT or fragment.name is not ABSENT:
            return None
        block.note(call, text)
        if block.seen != call.arguments.size or not is_in_step(block.reader, block.text, text):
            return None
        index = get(parsed, INDEX)
        if index != block.index or type(index) is not type(block.index):
            return None
        if block.kind != get(parsed, DELTA_TYPE) or get(parsed, ARGUMENTS) != text:
            return None
        block.text.grow(len(text))
        return block

    def _begin(self, parsed: BlockEvent) -> None:
        """Send the first event of a message that begins with another one, unless this may be an excerpt of a stream."""
        facts, begin = self._context.exchange, self.protocol.begin
        if self._lacks_head or begin is None or not (facts.path and facts.content_type):
            return
        self._lacks_head = True
        why = f"the message begins with {parsed.kind}, not with its start"
        if self._stream.report(MISSING_HEAD, why, severity=WARNING):
            model = json_access.get(facts.request, "model")
            self.message.head = begin(self._context.ids.make("msg_"), model if isinstance(model, str) else "")
            self._stream.send_new(What.HEAD, self.message.head)

    def _head(self, event: Event, parsed: BlockEvent) -> None:
        message = self.message
        if self._lacks_head and message.head is not None and not message.done:
            self._lacks_head = False
            self._stream.attribute_to(MISSING_HEAD)
            return
        bare = {key: value for key, value in parsed.body.items() if key != "p"}
        if message.head is not None:
            if message.head == bare and not message.blocks:
                if not self._stream.report(REPEATED_START, "the message starts again"):
                    self._stream.send(event.frame, parsed)
                return
            self._stream.report(RESTARTED_STREAM, "a second message starts within the stream")
            self.message.sends_stops = True
            self._order.send_all()
            self._ending.flush(normally=True)
            self._restarted = True
        message.head = bare
        self._stream.send(event.frame, parsed, self._ending.usage(parsed))

    def _pass(self, event: Event, resolved: Sequence[ResolvedFragment]) -> None:
        """Forward an event after the start of a second message."""
        content, call = event.content, resolved[0].call if len(resolved) == 1 else None
        if content.finishes or content.end or content.error:
            self._stream.end_turn(normally=ends_normally(content))
        self._stream.put(event.frame, call)
