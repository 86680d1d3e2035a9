"""Repairs Responses streams: an event that takes the client to the intended calls is forwarded unchanged."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Final, NamedTuple, override

from toolstream_core.calls import OpenCall, ResolvedFragment, nonblank
from toolstream_core.defects.arguments import SNAPSHOT_ARGUMENTS, TRAILING_GARBAGE
from toolstream_core.defects.finish import IN_BAND_ERROR
from toolstream_core.defects.framing import MISSING_EVENT_TYPE
from toolstream_core.defects.identity import (
    DOUBLED_CALL,
    DUPLICATE_ID,
    FUNCTION_AS_CUSTOM,
    ITEM_PER_FRAGMENT,
    LATE_NAME,
    MISSING_START,
    REUSED_INDEX,
)
from toolstream_core.model import Event, Kind, SkippedRun
from toolstream_core.protocols.responses.reader import read
from toolstream_core.protocols.responses.repair.custom_tools import CustomTools
from toolstream_core.protocols.responses.repair.difference import Difference
from toolstream_core.protocols.responses.repair.events import (
    ADDED,
    CLOSED,
    CREATED,
    DELTA,
    DONE,
    OF_ANY,
    REALTIME_DONE,
    TERMINAL,
    as_function,
    completes,
    event_type,
    is_bare,
    is_comment,
    is_resumed,
)
from toolstream_core.protocols.responses.repair.intended import CallEvent, IntendedCall
from toolstream_core.protocols.responses.repair.response import ResponseDifference
from toolstream_core.protocols.responses.repair.stream import MESSAGES, Stream
from toolstream_core.repair.client_text import add_skipped, is_withheld
from toolstream_core.repair.queue import Queue
from toolstream_core.repair.shapes import NO_SHAPE, Policy
from toolstream_core.repair.shaping import ends_normally
from toolstream_core.stages.context import Context
from toolstream_core.stages.repair.repairer import Repairer, is_unread
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.json_value import Payload

_FEW: Final = 64
"""The most events that wait until arguments are certain."""


class ReceivedEvent(NamedTuple):
    """An event, and its call."""

    event: Event
    resolved: Sequence[ResolvedFragment]
    received: CallEvent | None
    """The event as part of a call; `None` if it has none that the client runs."""


class ResponsesRepair(Repairer):
    """Sends the parts of the intended calls that the client lacks."""

    def __init__(self, context: Context, policy: Policy = NO_SHAPE, *, realtime: bool = False) -> None:
        """`policy`: the encoding that the client supports; `realtime`: whether the API is Realtime."""
        super().__init__(context)
        self._stream = stream = Stream(self, context, policy, realtime=realtime)
        self._items = items = Difference(stream)
        self._custom = CustomTools(stream, items)
        self._response = ResponseDifference(stream, items, self._custom)
        self._waiting: Queue[ReceivedEvent] = Queue(lambda one: one.event.frame)
        self._passes = False
        """Whether all events are forwarded: another response began, or this one began on another connection."""
        self._renames = False
        """Whether events are sent with another type, or with one in their data."""
        self._flush = False
        """Whether no event may wait any longer."""
        self._latest: IntendedCall | None = None
        """The call of the last event that has one."""
        self._cut: ReceivedEvent | None = None
        """The last event, if the end of the body truncated it."""

    # -- arriving events

    @property
    @override
    def holding(self) -> bool:
        client = self._stream.client
        rewrites = client.renumbers or bool(client.others_moved)
        return self._waits_for_more or rewrites or self._stream.shaping.lowers_places or self._cut is not None

    @property
    def _waits_for_more(self) -> bool:
        return bool(self._waiting) or self._stream.shaping.waits

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, stream = event.frame, self._stream
        if frame.trailing and frame.raw.strip():
            self._cut = ReceivedEvent(event, resolved, None)
            return []
        if self._passes and stream.shapes_nothing:
            return [frame]
        stream.now = frame.number
        if frame.name and isinstance(frame.json, dict) and "type" not in frame.json:
            event = self._with_type(event, frame.json)
        received = None if self._passes else self._receive(event.frame, resolved)
        is_plain = stream.shapes_nothing and not (self._waiting or self._renames)
        if received is not None and is_plain and self._is_next_delta(received):
            return [frame]
        if not event_type(event.frame).startswith("response.") and is_unread(event):
            self.reporter.note_gap(TRAILING_GARBAGE)  # it may be the rest of a call that began here
        one, content = ReceivedEvent(event, resolved, received), event.content
        self._flush = self._flush or bool(content.finishes or content.error)
        if not (self._waiting or self._waits(one, followed=False)):
            self._flush = False
            out = self._frames_for(one)
            self.forwarded(frame, out, waits=stream.shaping.waits)
            return out
        self._waiting.add(one)
        if received is not None:
            received.intended.queued += 1
        self._flush = self._flush or self._waiting.too_long
        out = self._send_ready()
        self.forwarded(frame, out, waits=self._waits_for_more)
        self._waiting.note_sent()
        return out

    def _with_type(self, event: Event, payload: Payload) -> Event:
        """The event with its type in the data, where clients look for it."""
        frame = event.frame
        if not frame.name.startswith("response.") or not (is_bare(payload) or payload.keys() & OF_ANY):
            return event
        if not self.report(MISSING_EVENT_TYPE, frame.number, f"the data of {frame.name} has no type"):
            return event
        self._renames = True
        typed: Payload = {"type": frame.name, **payload}
        return Event(self._stream.context.writer.rewrite(frame, typed), read, event.content)

    def _receive(self, frame: Frame, resolved: Sequence[ResolvedFragment]) -> CallEvent | None:
        payload = frame.json
        if not resolved or not isinstance(payload, dict) or resolved[0].call.kind is Kind.SERVER:
            return None
        call = resolved[0].call
        renamed = None if payload.get("type") in (DELTA, DONE) else as_function(payload)
        if call.kind is Kind.CUSTOM:
            if renamed is None:
                return None
            payload = renamed
        intended = self._stream.calls.of(call)
        if renamed is not None and call.kind is Kind.FUNCTION:
            message = "an event of a custom tool has the arguments of a function call"
            if self._stream.report(FUNCTION_AS_CUSTOM, message, call, now=True):
                payload, self._renames = renamed, True
        kind = str(payload.get("type", frame.name))
        if kind not in (DELTA, ADDED, DONE, CLOSED):
            return None
        fragment = resolved[0].fragment
        intended.take(fragment, after_own=self._latest in (None, intended))
        self._latest = intended
        text = fragment.arguments if isinstance(fragment.arguments, str) else ""
        return CallEvent(frame, payload, kind, intended, nonblank(fragment.item_id), text)

    def _is_next_delta(self, received: CallEvent) -> bool:
        """Whether a delta is the next part of an open object, with the client's ids: the usual case."""
        intended, payload, delta = received.intended, received.payload, received.payload.get("delta")
        sent = intended.sent
        if (
            received.kind != DELTA
            or sent is None
            or type(delta) is not str
            or not delta
            or not self._in_order(intended)
        ):
            return False
        if (
            payload.get("item_id") != sent.id
            or payload.get("output_index") != sent.place
            or self._stream.client.renumbers
        ):
            return False
        if not intended.is_in_step(delta):
            return False
        if self._stream.realtime and payload.get("call_id") != sent.call_id:
            return False
        if not self._stream.counts_on(payload):
            return False
        sent.text.grow(len(delta))
        return True

    @staticmethod
    def _in_order(intended: IntendedCall) -> bool:
        """Whether all events of a call are known to be of its item."""
        return not (intended.is_split or intended.copies or intended.passes)

    # -- waiting events

    def _waits(self, received_event: ReceivedEvent, *, followed: bool) -> bool:
        received = received_event.received
        if self._flush or self._passes or received is None or received.passes:
            return False
        intended, stream = received.intended, self._stream
        if intended.sent is None and self._identity_waits(intended, received.kind):
            return True
        is_blank = received.kind == DONE and received.payload.get("arguments") == ""
        ends = is_blank or (received.kind == CLOSED and stream.on(ITEM_PER_FRAGMENT))
        if ends and stream.calls.ends_in_part(intended):
            others = (other.received for other in list(self._waiting)[1:])
            return all(other is not None and other.kind == CLOSED and other.intended is intended for other in others)
        snapshots = intended.reader.last_object is not None and stream.on(SNAPSHOT_ARGUMENTS)
        if received.kind != DELTA or not (snapshots or stream.calls.text_waits(intended)):
            return False
        if followed and not self._arguments_follow(intended, math.inf if snapshots else _FEW):
            intended.reader.decide(final=False)
            return False
        return True

    def _arguments_follow(self, intended: IntendedCall, few: float) -> bool:
        """Whether no more than `few` events follow the first waiting one: deltas of its call, or events of others."""
        if len(self._waiting) > few:
            return False
        after = (one.received for one in islice(self._waiting, 1, None) if one.event.frame.data is not None)
        return all(
            received is not None and (received.intended is not intended or received.kind == DELTA) for received in after
        )

    def _identity_waits(self, intended: IntendedCall, kind: str) -> bool:
        """Whether the identity of a call may still change."""
        stream, call = self._stream, intended.call
        if self._custom.converts(intended):
            return not call.ended
        if kind == ADDED and not call.name:
            return stream.on(LATE_NAME)
        if kind != ADDED and stream.on(MISSING_START) and not (call.name and (call.id or call.ended)):
            return True
        if stream.on(DOUBLED_CALL) or stream.on(DUPLICATE_ID):
            intended.is_duplicate = stream.calls.is_duplicate(intended)
            return intended.is_duplicate is None
        return False

    # -- sent events

    def _send_ready(self) -> list[Frame]:
        """The frames to send for events that no longer wait."""
        sent: list[Frame] = []
        for one in self._waiting if self._flush else ():
            if one.received is not None:
                one.received.intended.reader.decide(final=True)
        for one in self._waiting.ready(self._waits):
            if one.received is not None:
                one.received.intended.queued -= 1
            sent += self._frames_for(one)
        self._flush = False
        return sent

    def _frames_for(self, received_event: ReceivedEvent) -> list[Frame]:
        """The frames to send for one event."""
        stream = self._stream
        stream.frames, stream.number = [], received_event.event.frame.number
        self._process(received_event)
        return stream.frames

    def _process(self, received_event: ReceivedEvent) -> None:
        stream, frame, payload = self._stream, received_event.event.frame, received_event.event.frame.json
        if frame.data is None or not isinstance(payload, dict):
            self._note_error(received_event.event)
            self._send(received_event, None)
            return
        kind, begun = event_type(frame), self._response.begun
        if not (begun or self._passes) and is_resumed(stream.context.exchange.path, payload, kind):
            self._pass_on()
        if self._passes:
            self._pass(received_event, payload)
            return
        self._note_error(received_event.event)
        if not begun:
            self._response.begin(payload, kind)
        stream.judge_number(payload, kind)
        if received_event.received is not None and not stream.client.ended:
            self._of_call(received_event.received)
            return
        if (changed := self._of_response(payload, kind, received_event)) is not None:
            self._send(received_event, changed)

    def _pass(self, received_event: ReceivedEvent, payload: Payload) -> None:
        """Send an event that is not checked."""
        if received_event.event.content.finishes:
            normally = ends_normally(received_event.event.content)
            payload, _ = self._response.without_left_out(payload, received_event.resolved, normally=normally)
        self._send(received_event, None if self._stream.shapes_nothing else payload)

    def _send(self, received_event: ReceivedEvent, payload: Payload | None) -> None:
        """Send an event without a call, or of a call that is not checked."""
        content = received_event.event.content
        ends = bool(content.finishes or content.end or content.error)
        if ends:
            self._stream.end_turn(normally=ends_normally(content))
        call = received_event.resolved[0].call if len(received_event.resolved) == 1 and not ends else None
        self._stream.send(received_event.event.frame, payload, call)

    def _of_response(self, payload: Payload, kind: str, received_event: ReceivedEvent) -> Payload | None:
        """The event to send for one without a call; `None` if it is dropped."""
        stream = self._stream
        if kind == CREATED:
            changed, restarts = self._response.created(payload)
            if restarts:
                self._pass_on()
            return changed
        if kind in TERMINAL or kind == REALTIME_DONE:
            return self._response.terminal(
                payload, kind, received_event.resolved, normally=ends_normally(received_event.event.content)
            )
        if stream.client.ended or kind in (DELTA, DONE):
            return payload
        if kind == ADDED:
            self._other_added(payload)
        payload = stream.client.other_at_its_place(payload, closes=kind == CLOSED)
        if kind in (ADDED, CLOSED):
            stream.client.take_other(payload, closes=kind == CLOSED)
        return payload

    def _other_added(self, payload: Payload) -> None:
        """Give a message or other item with the index of a call another one (tashfeenahmed/freellmapi#846)."""
        stream, client, place = self._stream, self._stream.client, json_access.integer(payload.get("output_index"))
        if (
            not isinstance(place, int)
            or place in client.others_moved
            or (call := client.calls_by_place.get(place)) is None
        ):
            return
        if (moved := client.moved.get(place)) is not None:
            stream.attribute_to(moved)
        elif not stream.report(REUSED_INDEX, MESSAGES[REUSED_INDEX.name], call):
            return
        client.others_moved[place] = client.free

    def _note_error(self, event: Event) -> None:
        if event.content.error and not self._passes:
            self._stream.calls.failed = True
            self._stream.report(IN_BAND_ERROR, f"the provider reports an error: {event.content.error}")

    def _of_call(self, received: CallEvent) -> None:
        intended, stream = received.intended, self._stream
        if intended.sent is None and not received.passes:
            if self._custom.put(intended, received.payload.get("item")):
                return
            if intended.is_duplicate and stream.report(DOUBLED_CALL, "the call repeats an earlier one", intended.call):
                return
            if not intended.call.name and received.kind != ADDED:
                stream.report(MISSING_START, "the item was not added before", intended.call)
                intended.passed = True
        closes_again = received.kind == CLOSED and next(self._kinds_waiting(intended), "") == CLOSED
        is_added_later = received.kind == DELTA and intended.sent is None and ADDED in self._kinds_waiting(intended)
        last = not intended.queued
        self._items.send(received, last=last, closes_again=closes_again, is_added_later=is_added_later)

    def _kinds_waiting(self, intended: IntendedCall) -> Iterator[str]:
        """The types of a call's waiting events."""
        return (
            one.received.kind for one in self._waiting if one.received is not None and one.received.intended is intended
        )

    def _pass_on(self) -> None:
        self._passes = True
        self._stream.context.stop_checks()

    # -- the end

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        self._flush = True
        sent = self._send_ready()
        stream = self._stream
        stream.frames, stream.number = [], stream.now
        cut, self._cut = self._cut, None
        ends = cut is not None and completes(cut.event.frame)
        loses = not ends and cut is not None and not is_comment(cut.event.frame)
        may_complete = clean and not (self.reporter.has_gap or loses)
        completed = not self._passes and self._response.at_end(clean=may_complete)
        if cut is not None and not (completed and ends):
            payload = cut.event.frame.json
            if cut.event.content.finishes and isinstance(payload, dict):
                self._pass(cut, payload)
            else:
                stream.send(cut.event.frame, None)
        stream.end_turn(normally=False)
        out = [*sent, *stream.frames]
        self.forwarded(None if cut is None else cut.event.frame, out)
        return out

    @override
    def release(self) -> Iterable[Frame]:
        last = [] if self._cut is None else [self._cut.event.frame]
        shaped = self._stream.shaping.waiting_frames
        return {id(frame): frame for frame in (*shaped, *self._waiting.unsent, *last)}.values()

    # -- events that are forwarded unseen

    @override
    def on_quiet(self, raw: bytes, end: int) -> None:
        self._stream.client.take_quiet(raw, end)

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        intended = self._stream.calls.by_key.get(id(call))
        if not self._stream.shapes_nothing or call.kind is Kind.CUSTOM:
            return True
        if self._passes or intended is None or self.holding or self._renames:
            return not self._passes
        sent = intended.sent
        held = sent is not None and not (sent.done or sent.closed) and is_withheld(intended.reader, sent.text)
        return not (held or (self._in_order(intended) and intended.is_in_step()))

    @override
    def accepts_any(self, call: OpenCall) -> bool:
        intended = self._stream.calls.by_key.get(id(call))
        if (
            intended is None
            or intended.sent is None
            or call.kind is Kind.CUSTOM
            or self.holding
            or not self._stream.context.reports_only
            or intended.passes
        ):
            return False
        return not (intended.sent.done or intended.sent.closed or intended.is_split) and intended.reader.decided

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        self._stream.now = passed.first + passed.events - 1
        if passed.counter is not None:
            self._stream.skipped_to(passed.counter)
        intended = self._stream.calls.by_key.get(id(call))
        if intended is None or intended.sent is None:
            return
        for number, defect in add_skipped(intended.reader, intended.sent.text, passed):
            self.report(defect, number, defect.meaning, call)
