"""Responses streams, judged and repaired: an event goes as it came where it takes the client to what is meant."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple, override

from toolstream_core.calls import nonblank
from toolstream_core.defects.finish import IN_BAND_ERROR
from toolstream_core.defects.identity import DOUBLED_CALL, DUPLICATE_ID, ITEM_PER_FRAGMENT, LATE_NAME, MISSING_START
from toolstream_core.model import Kind
from toolstream_core.protocols.responses.repair.answer import Answer
from toolstream_core.protocols.responses.repair.custom_tools import CustomTools
from toolstream_core.protocols.responses.repair.difference import Difference
from toolstream_core.protocols.responses.repair.event_types import (
    ADDED,
    CLOSED,
    CREATED,
    DELTA,
    DONE,
    REALTIME_DONE,
    RESPONSES_FORM,
    TERMINAL,
    EventForm,
    Tail,
    event_type,
    is_resumed,
    tail_of,
)
from toolstream_core.protocols.responses.repair.response import ResponseDifference
from toolstream_core.protocols.responses.repair.rows import MESSAGES
from toolstream_core.protocols.responses.repair.writer import Came
from toolstream_core.repair.in_step import is_withheld, judge_unseen, skip
from toolstream_core.repair.queue import Queue
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.stages.repair.unread import is_unread
from toolstream_core.stages.stage import Counts, Holds, SkippableWhole

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, SkippedRun
    from toolstream_core.protocols.responses.repair.client import ClientItem
    from toolstream_core.protocols.responses.repair.truth import Meant
    from toolstream_core.repair.fields import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

_FEW: Final = 64
"""Events that wait for what the arguments of one call mean."""


class One(NamedTuple):
    """An event, and what of a call it says."""

    event: Event
    resolved: Sequence[ResolvedFragment]
    came: Came | None
    """Where it is of one function call."""


class ResponsesRepairer(Repairer, Counts, Holds, SkippableWhole):
    """Says to the client what it lacks of the truth, and nothing else."""

    form: ClassVar[EventForm] = RESPONSES_FORM

    def __init__(self, context: Context) -> None:
        """One stream, from its start."""
        super().__init__(context)
        self._answer = answer = Answer(self, context, self.form)
        self._items = items = Difference(answer)
        self._custom = CustomTools(answer, items)
        self._response = ResponseDifference(answer, items, self._custom)
        self._waiting: Queue[One] = Queue(lambda one: one.event.frame)
        self._passes = False
        """Whether nothing is judged any more: another response began, or this one began elsewhere."""
        self._flush = False
        """Whether nothing waits any longer."""
        self._latest: Meant | None = None
        """The call of the last event of one."""
        self._cut: Frame | None = None
        """The last event, which the body's end cut off."""

    # -- what comes

    @property
    @override
    def holding(self) -> bool:
        return bool(self._waiting) or self._answer.renumbers or self._cut is not None

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, answer = event.frame, self._answer
        if frame.trailing and tail_of(frame) is not Tail.NONE:
            self._cut = frame
            return []
        if self._passes:
            return [frame]
        answer.now = frame.number
        came = self._came(frame, resolved)
        if came is not None and not self._waiting and self._goes_on(came):
            return [frame]
        self.torn = self.torn or (not event_type(frame).startswith("response.") and is_unread(event))
        one, content = One(event, resolved, came), event.content
        self._flush = self._flush or bool(content.finishes or content.error)
        if not (self._waiting or self._waits(one, followed=False)):
            self._flush = False
            out = self._gone(one)
            self.went(frame, out)
            return out
        self._waiting.add(one)
        if came is not None:
            came.meant.queued += 1
        self._flush = self._flush or self._waiting.too_long
        out = self._go()
        self.went(frame, out, waits=bool(self._waiting))
        self._waiting.sent()
        return out

    def _came(self, frame: Frame, resolved: Sequence[ResolvedFragment]) -> Came | None:
        payload = frame.json
        if not resolved or not isinstance(payload, dict) or resolved[0].call.kind is not Kind.FUNCTION:
            return None
        kind = event_type(frame)
        if kind not in (DELTA, ADDED, DONE, CLOSED):
            return None
        meant = self._answer.truth.of(resolved[0].call)
        fragment, before = resolved[0].fragment, meant.letter
        size = before.size
        meant.take(resolved[0].fragment, behind_own=self._latest in (None, meant))
        self._latest = meant
        letter, own = meant.letter, nonblank(fragment.item_id)
        piece = fragment.arguments if isinstance(fragment.arguments, str) else ""
        more = len(piece)
        if letter is not meant.call.arguments:
            more = letter.size - size if letter is before and meant.meaning.as_it_came else -1
        return Came(frame, payload, kind, meant, own, piece, letter, letter.size, more)

    def _goes_on(self, came: Came) -> bool:
        """Whether a delta is the next part of an object, under the names that the client has: nearly all are."""
        meant, payload, piece = came.meant, came.payload, came.payload.get("delta")
        has = meant.has
        if came.kind != DELTA or has is None or type(piece) is not str or not piece or has.said or has.closed:
            return False
        if payload.get("item_id") != has.id or payload.get("output_index") != has.place or self._answer.renumbers:
            return False
        if came.more != len(piece) or not self._is_inside(meant, came.more) or piece[-1] >= "\ud800":
            return False
        if self.form.names_calls and payload.get("call_id") != has.call_id:
            return False
        if not self._answer.counts_on(payload):
            return False
        has.text.grow(len(piece))
        return True

    @staticmethod
    def _is_inside(meant: Meant, more: int = 0) -> bool:
        """Whether the client has all that came of an object that is open, but for so many characters."""
        has, letter = meant.has, meant.letter
        if has is None or has.said or has.closed or meant.in_pieces or meant.copies or meant.passes:
            return False
        return meant.is_inside and has.text.is_in_step(letter, letter.size - more)

    # -- what waits

    def _waits(self, one: One, *, followed: bool) -> bool:
        came = one.came
        if self._flush or came is None or came.passes:
            return False
        meant, answer = came.meant, self._answer
        if meant.has is None and self._identity_waits(meant, came.kind):
            return True
        if came.kind == CLOSED and answer.on(ITEM_PER_FRAGMENT) and answer.truth.ends_in_piece(meant):
            others = (other.came for other in list(self._waiting)[1:])
            return all(other is not None and other.kind == CLOSED and other.meant is meant for other in others)
        over = meant.has is not None and (meant.has.said or meant.has.closed)
        if came.kind != DELTA or over or not answer.truth.text_waits(meant):
            return False
        if followed and not self._arguments_follow(meant):
            meant.meaning.settle()
            return False
        return True

    def _arguments_follow(self, meant: Meant) -> bool:
        """Whether the events after the first that waits are deltas of its call, or of other calls, and few."""
        if len(self._waiting) > _FEW:
            return False
        after = (one.came for one in islice(self._waiting, 1, None) if one.event.frame.data is not None)
        return all(came is not None and (came.meant is not meant or came.kind == DELTA) for came in after)

    def _identity_waits(self, meant: Meant, kind: str) -> bool:
        """Whether who a call is may still change."""
        answer, call = self._answer, meant.call
        if self._custom.converts(meant):
            return not call.over
        if kind == ADDED and not call.name:
            return answer.on(LATE_NAME)
        if kind != ADDED and answer.on(MISSING_START) and not (call.name and (call.id or call.over)):
            return True
        if answer.on(DOUBLED_CALL) or answer.on(DUPLICATE_ID):
            meant.said_again = answer.truth.says_again(meant)
            return meant.said_again is None
        return False

    # -- what goes

    def _go(self) -> list[Frame]:
        """What is sent for the events that wait no longer."""
        sent: list[Frame] = []
        for one in self._waiting if self._flush else ():
            if one.came is not None:
                one.came.meant.meaning.settle()
        for one in self._waiting.ready(self._waits):
            if one.came is not None:
                one.came.meant.queued -= 1
            sent += self._gone(one)
            if self._passes:
                sent += self._waiting.frames
                self._waiting.clear()
        self._flush = False
        return sent

    def _gone(self, one: One) -> list[Frame]:
        """What is sent for one event."""
        answer = self._answer
        answer.frames, answer.number = [], one.event.frame.number
        self._say(one)
        return answer.frames

    def _say(self, one: One) -> None:
        event, answer = one.event, self._answer
        frame, payload = event.frame, event.frame.json
        kind = event_type(frame)
        is_event = frame.data is not None and isinstance(payload, dict)
        if isinstance(payload, dict) and is_event and not self._response.begun:
            if is_resumed(answer.context.exchange.path, payload, kind):
                self._pass_on()
                answer.frames.append(frame)
                return
            self._note_error(event)
            self._response.begin(payload, kind)
        else:
            self._note_error(event)
        if not isinstance(payload, dict) or not is_event:
            answer.frames.append(frame)
            return
        answer.judge_number(payload, kind)
        if one.came is not None and not answer.client.ended:
            self._of_call(one.came)
        elif (changed := self._of_response(payload, kind, one.resolved)) is not None:
            answer.send(frame, changed)

    def _of_response(self, payload: Payload, kind: str, resolved: Sequence[ResolvedFragment]) -> Payload | None:
        """An event of no function call as the client is to get it; `None` where it gets none."""
        answer = self._answer
        if kind == CREATED:
            changed, restarts = self._response.created(payload)
            if restarts:
                self._pass_on()
            return changed
        if kind in TERMINAL or kind == REALTIME_DONE:
            return self._response.over(payload, kind, resolved)
        if kind in (ADDED, CLOSED) and not answer.client.ended:
            answer.client.take_other(payload, closes=kind == CLOSED)
        return payload

    def _note_error(self, event: Event) -> None:
        if event.content.error:
            self._answer.truth.failed = True
            self._answer.report(IN_BAND_ERROR, f"the provider reports an error: {event.content.error}")

    def _of_call(self, came: Came) -> None:
        meant, answer = came.meant, self._answer
        if meant.has is None and not came.passes:
            if self._custom.put(meant, came.payload.get("item")):
                return
            if meant.said_again and answer.report(DOUBLED_CALL, "the call was said before", meant.call):
                return
            if not meant.call.name and came.kind != ADDED:
                answer.report(MISSING_START, "the item was not added before", meant.call)
                meant.passed = True
        closes_again = came.kind == CLOSED and next(self._kinds_waiting(meant), "") == CLOSED
        is_added_later = came.kind == DELTA and meant.has is None and ADDED in self._kinds_waiting(meant)
        last = not meant.queued
        self._items.says(came, last=last, closes_again=closes_again, is_added_later=is_added_later)

    def _kinds_waiting(self, meant: Meant) -> Iterator[str]:
        """The types of the events of a call that wait."""
        return (one.came.kind for one in self._waiting if one.came is not None and one.came.meant is meant)

    def _pass_on(self) -> None:
        self._passes = True
        self._answer.context.passes_on()

    # -- the end

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        self._flush = True
        sent = self._go()
        answer = self._answer
        answer.frames, answer.number = [], answer.now
        cut, self._cut = self._cut, None
        tail = Tail.NONE if cut is None else tail_of(cut)
        may_complete = clean and not self.torn and tail is not Tail.EVENT
        completed = not self._passes and self._response.at_end(clean=may_complete)
        dropped = cut if completed and tail is Tail.TERMINAL else None
        out = [*sent, *answer.frames]
        self.went(dropped, out)
        return [*out, *([] if cut is None or dropped else [cut])]

    @override
    def release(self) -> Iterable[Frame]:
        return [*self._waiting.unsent, *([] if self._cut is None else [self._cut])]

    # -- what passes unseen

    @override
    def on_quiet(self, raw: bytes, end: int) -> None:
        self._answer.client.take_quiet(raw, end)

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        meant = self._answer.truth.calls.get(id(call))
        if self._passes or meant is None or self.holding:
            return not self._passes
        has = meant.has
        held = has is not None and not (has.said or has.closed) and is_withheld(meant.meaning, has.text)
        return not (held or self._is_inside(meant))

    @override
    def accepts_any(self, call: OpenCall) -> bool:
        meant = self._answer.truth.calls.get(id(call))
        if meant is None or meant.has is None or self.holding or not self._answer.context.judging or meant.passes:
            return False
        return not (meant.has.said or meant.has.closed or meant.in_pieces) and meant.meaning.decided

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        self._answer.now = passed.first + passed.events - 1
        if passed.counter is not None:
            self._answer.skipped_to(passed.counter)
        meant = self._answer.truth.calls.get(id(call))
        if meant is not None and meant.has is not None:
            self._skip(meant, meant.has, passed)

    def _skip(self, meant: Meant, has: ClientItem, passed: SkippedRun) -> None:
        for number, piece in enumerate(passed.pieces, passed.first):
            self._answer.number = self._answer.now = number
            row = judge_unseen(meant.meaning, has.text, piece)
            if row is not None:
                self._answer.report(row, MESSAGES[row.name], meant.call)
        if passed.text:
            skip(meant.meaning, has.text, passed.text, passed.last)
