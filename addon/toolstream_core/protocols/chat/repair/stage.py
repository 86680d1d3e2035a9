"""Repairs Chat Completions streams: an event waits until its calls are certain, then gets their missing parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Final, override

from toolstream_core.calls import OpenCall, ResolvedFragment
from toolstream_core.model import Event, Fragment, Kind, Phase, SkippedRun
from toolstream_core.protocols.chat.repair.client import Client
from toolstream_core.protocols.chat.repair.events import ChatEvents
from toolstream_core.protocols.chat.repair.stream import CallFragment, Waiting
from toolstream_core.repair.client_text import add_skipped, is_withheld
from toolstream_core.repair.queue import Queue
from toolstream_core.repair.shapes import NO_SHAPE, Policy
from toolstream_core.stages.context import Context
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.wire.frame import Frame

MAX_WAITING: Final = 64
"""The most events that wait."""


class ChatRepair(Repairer):
    """Reports how a stream differs from the intended calls, and sends the parts that the client lacks."""

    @override
    def __init__(self, context: Context, policy: Policy = NO_SHAPE) -> None:
        """`policy`: the encoding that the client supports."""
        super().__init__(context)
        self.client = Client(context, self.reporter, policy)
        self._events = ChatEvents(self.client)
        self._queue: Queue[Waiting] = Queue(lambda one: one.event.frame, most=MAX_WAITING, patience=MAX_WAITING)
        self._ending = False
        """Whether the body has ended."""
        self._last: tuple[Event, Sequence[ResolvedFragment]] | None = None
        """The last event of the body, which lacks its terminator."""

    @property
    @override
    def holding(self) -> bool:
        return bool(self._queue or self._last or self._events.needs_next_event or self.client.held)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        content, frame = event.content, event.frame
        if frame.trailing and frame.raw.strip() and self._last is None:
            self._last = event, resolved
            return ()
        judged = resolved if self._events.stream.checks_calls else ()
        fragments = self._call_fragments([one for one in judged if one.call.kind is Kind.FUNCTION], frame.number)
        alone = not (self._queue or content.finishes or content.error)
        if alone and len(fragments) == 1 and len(resolved) == 1 and self._events.is_forwarded(fragments[0], frame):
            return (frame,)
        waiting = Waiting(event, fragments)
        self._events.take(waiting)
        if content.end or content.error:
            self.client.decide_all()
        if not self._queue and not self._waits(waiting, followed=False):
            self._queue.note_forwarded(waiting)
            frames = self._frames(waiting, None)
            self._queue.note_sent()
            return frames
        self._queue.add(waiting)
        if self._queue.too_long:
            self.client.decide_all(final=False)
        return self._send_ready()

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        cut: list[Frame] = []
        out: list[Frame] = []
        if self._last is not None:
            frame = self._last[0].frame
            if self._events.is_cut(frame):
                cut = [frame]
            else:
                gone = list(self.take(*self._last))
                out += [*map(self._context.writer.ended, gone[:-1]), *gone[-1:]]
        self.client.decide_all(ended=True)
        self._ending = True
        out += self._send_ready()
        kept, added = self._events.end(clean=clean, cut=bool(cut))
        if not (kept or added):
            return [*out, *cut]
        rest = [] if added else cut  # an incomplete event is replaced by the end of the response
        self.audit(self._events.stream.last + 1, cut if added else [], [*kept, *added])
        return [*out[:-1], *map(self._context.writer.ended, out[-1:]), *kept, *added, *rest]

    @override
    def release(self) -> Iterable[Frame]:
        held = self._queue.unsent
        self._queue.clear()
        last, self._last = self._last, None
        return [*self._events.held(), *held, *([] if last is None else [last[0].frame])]

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        one = self.client.find(call)
        if not self.client.policy.is_empty:
            return True
        if one is None or not one.is_open or self._queue:
            return True
        return not (one.is_in_step() or is_withheld(one.intended.reader, one.text))

    @override
    def accepts_any(self, call: OpenCall) -> bool:
        one = self.client.find(call)
        if one is None or not one.is_open or self.holding or not self._context.reports_only:
            return False
        return self.client.policy.is_empty and (one.text.diverged or one.intended.reader.decided)

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        one = self.client.find(call)
        if one is not None:
            for number, defect in add_skipped(one.intended.reader, one.text, passed):
                self.report(defect, number, defect.meaning, call)
            self.client.turn_of(one).skipped(one)
        self._events.stream.skipped(passed.first + passed.events - 1)

    def _call_fragments(self, resolved: Sequence[ResolvedFragment], number: int) -> list[CallFragment]:
        """The fragments of an event, each with its call. The first one of a call adds the arguments of all."""
        if len(resolved) == 1:
            fragment, call = resolved[0]
            return [self._call_fragment(fragment, call, _arguments_of(fragment), number)]
        texts: dict[int, str] = {}
        for fragment, call in resolved:
            texts[id(call)] = texts.get(id(call), "") + _arguments_of(fragment)
        left = {key: len(text) for key, text in texts.items()}
        out: list[CallFragment] = []
        for fragment, call in resolved:
            left[id(call)] -= len(_arguments_of(fragment))
            out.append(self._call_fragment(fragment, call, texts.pop(id(call), ""), number, left[id(call)]))
        return out

    def _call_fragment(self, fragment: Fragment, call: OpenCall, text: str, number: int, left: int = 0) -> CallFragment:
        """A fragment; `text`: its arguments, `left`: the characters of later fragments in the same event."""
        one = self.client.call(call)
        if fragment.choice != call.choice:
            self.client.join(fragment.choice, call, number)
        identity = (call.id, call.name)
        fresh, one.seen_as = one.seen_as != identity, identity
        one.intended.reader.add(text, call.arguments)
        if fragment.phase is Phase.MORE:
            one.text.diverged = one.text.diverged or one.intended.reader.is_too_long
        turn = self.client.turn_of(one)
        if fresh and call.id:
            turn.same_id.add(call.id, one)
        turn.note(one)
        return CallFragment(fragment, one, call.arguments.size - left, fresh)

    def _waits(self, first: Waiting, *, followed: bool) -> bool:
        """Whether later events may change the frames to send for an event."""
        for part in first.fragments:
            if self.client.waits(part.state):
                return True
        return not self._ending and self._events.waits(first, self._following(first, 1) if followed else None)

    def _send_ready(self) -> list[Frame]:
        """The frames to send for events that no longer wait."""
        out: list[Frame] = []
        for first in self._queue.ready(self._waits):
            out += self._frames(first, self._following(first, 0))
        self._queue.note_sent()
        return out

    def _frames(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """The frames to send for an event that no longer waits."""
        frames, frame = self._events.frames(waiting, following), waiting.event.frame
        if len(frames) != 1 or frames[0] is not frame:
            self.audit(frame.number, [frame], frames)
        return frames

    def _following(self, first: Waiting, at: int) -> Waiting | None:
        """The first event from the `at`-th in the queue on that continues the response after `first`."""
        ends = bool(first.event.content.finishes)  # after a finish, another one shows nothing
        rest = islice(self._queue, at, None)
        return next((one for one in rest if one.has_content or (one.event.content.finishes and not ends)), None)


def _arguments_of(fragment: Fragment) -> str:
    """The arguments in a delta."""
    return fragment.arguments if fragment.phase is Phase.MORE and isinstance(fragment.arguments, str) else ""
