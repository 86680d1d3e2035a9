"""Chat Completions streams, judged and mended: `choices[].delta.tool_calls[]`."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, override

from toolstream_core.defects.framing import DATA_AFTER_END
from toolstream_core.model import ABSENT
from toolstream_core.protocols.chat.repair.arrival import Arrivals
from toolstream_core.protocols.chat.repair.end_of_stream import EndOfStream, ended, is_cut
from toolstream_core.protocols.chat.repair.finish import FinishOrder
from toolstream_core.protocols.chat.repair.finish_reason import FinishReasons
from toolstream_core.protocols.chat.repair.missing_arguments import MissingArguments
from toolstream_core.protocols.chat.repair.output import Departures
from toolstream_core.protocols.chat.repair.stream import ChatStream
from toolstream_core.protocols.chat.repair.stream_id import StreamId
from toolstream_core.protocols.chat.repair.structure import Structure
from toolstream_core.protocols.chat.repair.waiting import Waiting
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.stages.stage import Holds, SkippableWhole

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, SkippedRun
    from toolstream_core.protocols.chat.repair.choice import Choice
    from toolstream_core.protocols.chat.repair.client_call import ClientCall
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# An event goes through two phases. On arrival (`Arrivals`) its fragments are judged against what came before, and each
# gets what the client is to get for it (`Emitted`). On departure (`Departures`), at once unless it has to wait for what
# follows, its entries are compared with what the client needs by then, and rewritten where a defect whose repair is on
# was reported: a header that waited knows the id and name that came after it. What is behind a waiting event waits with
# it, in order. The last event of a body may lack its end: it is looked at when the body is over, and nothing is put
# behind it that would be joined to it.

MAX_WAITING = 64
"""Events that wait before all are let go."""


class ChatRepairer(Repairer, Holds, SkippableWhole):
    """Judges and mends one Chat Completions stream."""

    def __init__(self, context: Context) -> None:
        """As `Repairer`."""
        super().__init__(context)
        stream = self._stream = ChatStream(context, self.reporter)
        self._queue: deque[Waiting] = deque()
        self._last: tuple[Event, Sequence[ResolvedFragment]] | None = None
        """The last event of the body, which lacks its end."""
        self._bare: ClientCall | None = None
        """The call of which the last event brought bare arguments, nothing else."""
        self._early: set[Choice] = set()
        """Choices whose finish waits in the queue, and that are not settled."""
        self._seen = 0
        missing, reasons = MissingArguments(stream), FinishReasons(stream)
        self._order = FinishOrder(stream, missing)
        self._end = EndOfStream(stream, reasons, missing)
        self._stream_id, self._structure = StreamId(stream), Structure(stream)
        self._arrivals = Arrivals(stream, self._order)
        self._departures = Departures(stream, self._order, reasons, self._end, self._stream_id)

    @property
    @override
    def holding(self) -> bool:
        stream = self._stream
        return bool(self._queue) or self._stream_id.looks or (stream.any_finished and not stream.done)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame = event.frame
        if frame.trailing and frame.raw.strip():
            self._last = event, resolved
            return ()
        return self._taken(event, resolved)

    @override
    def needs_every_event(self, call: OpenCall) -> bool:
        client_call = self._stream.calls.get(id(call))
        if client_call is None or self._queue or self._stream.done:
            return True
        return not (
            client_call.has_header
            and self._stream.choices[client_call.choice].finish is None
            and client_call.spelling.inside_value
        )

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        self._seen += passed.events
        self._arrivals.skipped(self._stream.calls[id(call)], passed)

    @override
    def accepts_any(self, call: OpenCall) -> bool:
        client_call = self._stream.calls.get(id(call))
        if client_call is None or client_call is not self._bare or self._queue or not self._context.judging:
            return False
        return self._stream.choice_of(client_call).finish is None and client_call.spelling.decided

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        self._stream.ending, self._stream.ending_clean = True, clean
        cut: Frame | None = None
        out: list[Frame] = []
        if self._last is not None:
            event, resolved = self._last
            cut = event.frame if is_cut(event.frame) else None
            out = list(self._taken(event, resolved)) if cut is None else []
            self._last = None
        self._stream.settle()
        out += self._departures.of(self._queue)
        added = self._end.at_end(clean=clean, cut=cut is not None)
        more = [*self._end.kept_back(), *added]
        rest = [] if cut is None else [cut]
        if more:
            self.audit(self._stream.last + 1, rest if added else [], more)
            out = [*out[:-1], *(ended(frame) for frame in out[-1:])]
        return [*out, *more, *(() if added else rest)]

    @override
    def release(self) -> Iterable[Frame]:
        waiting, self._queue = self._queue, deque()
        last, self._last = self._last, None
        return [*(one.frame for one in waiting), *([last[0].frame] if last else [])]

    def _taken(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        content, frame, stream = event.content, event.frame, self._stream
        self._bare = None
        self._seen += 1
        stream.skipped = stream.skipped or frame.number >= self._seen
        stream.may_have_text = stream.may_have_text or bool(content.text) or stream.skipped
        if len(resolved) == 1 and not (self._queue or content.finishes or content.error):
            client_call = self._arrivals.bare_call(resolved[0]) if resolved[0].fragment.id is ABSENT else None
            if client_call is not None and not self._stream_id.differs(frame, seen=True):
                return self._bare_arguments(resolved[0], client_call, event)
        if stream.done and frame.data is not None:
            gone = self.report(DATA_AFTER_END, frame.number, "an event follows [DONE]")
            if gone:
                self.audit(frame.number, [frame], [])
            return () if gone else (frame,)
        self._end.ends_open = False
        if not content.fragments or content.fragments[0].arguments is ABSENT:
            self._end.look(event)
        if content.text and stream.any_finished:
            self._order.text_came(frame)
        plain = not (resolved or content.finishes or content.end or content.error or self._queue)
        if plain and not (self._structure.lacks_delta(frame) or self._order.is_early_total(frame)):
            return (self._passing(frame),)
        waiting = Waiting(event, self._arrivals.parts(event, resolved))
        alone = not (self._queue or self._early or content.finishes or content.end or content.error)
        if alone and waiting.parts:
            if waiting.ready:
                return self._departures.of_one(waiting, None)
            self._queue.append(waiting)
            return ()
        self._arrives(waiting)
        return self._departures.of(self._queue)

    def _passing(self, frame: Frame) -> Frame:
        """An event that says nothing of calls, and that nothing waits for."""
        self._stream.remember_head(frame.json)
        return self._stream_id.pinned(frame) if self._stream_id.differs(frame) else frame

    def _bare_arguments(self, one: ResolvedFragment, client_call: ClientCall, event: Event) -> Iterable[Frame]:
        """An event that brings bare arguments alone."""
        self._bare = client_call
        waiting = self._arrivals.bare(one.fragment, client_call, event)
        if waiting is None:
            return (event.frame,)
        self._queue.append(waiting)
        return self._departures.of(self._queue)

    def _arrives(self, waiting: Waiting) -> None:
        """Put an event into the queue, and settle what does not wait any longer because of it."""
        self._queue.append(waiting)
        if self._early and waiting.goes_on:
            for choice in self._early - {part.choice for part in waiting.parts}:
                choice.settle()
            self._early.clear()
        if waiting.content.finishes:
            self._order.arrives(waiting)
            self._early |= waiting.early
        if waiting.content.end or waiting.content.error or len(self._queue) > MAX_WAITING:
            self._stream.settle()
