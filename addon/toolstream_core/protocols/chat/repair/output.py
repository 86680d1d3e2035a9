"""Chat Completions events on their departure: what the client gets for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.finish import IN_BAND_ERROR
from toolstream_core.defects.framing import MISSING_DELTA
from toolstream_core.model import Phase
from toolstream_core.protocols.chat.repair.entries import Entries
from toolstream_core.protocols.chat.repair.message_calls import MessageCalls
from toolstream_core.protocols.chat.repair.payload import Payloads
from toolstream_core.protocols.chat.repair.structure import Structure

if TYPE_CHECKING:
    from collections import deque

    from toolstream_core.protocols.chat.repair.end_of_stream import EndOfStream
    from toolstream_core.protocols.chat.repair.finish import FinishOrder
    from toolstream_core.protocols.chat.repair.finish_reason import FinishReasons
    from toolstream_core.protocols.chat.repair.stream import ChatStream
    from toolstream_core.protocols.chat.repair.stream_id import StreamId
    from toolstream_core.protocols.chat.repair.waiting import Waiting
    from toolstream_core.wire.frame import Frame


class Departures:
    """The departures of one stream's events."""

    def __init__(
        self,
        stream: ChatStream,
        order: FinishOrder,
        reasons: FinishReasons,
        end: EndOfStream,
        stream_id: StreamId,
    ) -> None:
        """For one stream."""
        self._stream = stream
        self._reporter = stream.reporter
        self._order = order
        self._reasons = reasons
        self._end = end
        self._stream_id = stream_id
        self._entries = Entries(stream)
        self._structure = Structure(stream)
        self._message_calls = MessageCalls(stream)
        self._payloads = Payloads(stream)

    def of(self, waiting: deque[Waiting]) -> list[Frame]:
        """What may go; it leaves the queue only when all of it is made, so that a bug of ours loses nothing."""
        out: list[Frame] = []
        queue = list(waiting)
        while queue and not [part for part in queue[0].parts if part.client_call.pending]:
            following = self._order.following(queue) if len(queue) > 1 else None
            if following is None and self._order.must_wait(queue[0]):
                break
            out.extend(self.of_one(queue.pop(0), following))
        while len(waiting) > len(queue):
            waiting.popleft()
        return out

    def of_one(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """What goes on for one event, given the one behind it that says more of the answer."""
        frames = self._departed(waiting, following)
        if len(frames) != 1 or frames[0] is not waiting.frame:
            self._reporter.audit(waiting.frame.number, [waiting.frame], frames)
        return frames

    def _departed(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """What the client gets for an event."""
        stream, frame, content = self._stream, waiting.frame, waiting.content
        if content.error:
            stream.failed = True
            self._reporter.report(IN_BAND_ERROR, frame.number, f"the provider reports an error: {content.error}")
        if content.end and not content.finishes and not waiting.parts:
            stream.done = True
            return [*self._end.at_done(frame.number), *(() if self._end.cuts() else (frame,))]
        if (content.finishes or not waiting.parts) and self._structure.lacks_delta(frame):
            waiting.bare = self._reporter.report(MISSING_DELTA, frame.number, "a choice has no delta object")
        stream.remember(frame)
        in_message = [part for part in waiting.parts if part.fragment.phase is Phase.WHOLE]
        before = self._message_calls.unstreamed(waiting, in_message) if in_message else []
        if content.finishes or not waiting.parts:
            before += self._beforehand(waiting, following)
        for client_call in [
            part.client_call for part in waiting.parts if part.client_call.dropped is not None or part.client_call.again
        ]:
            before += self._entries.doubled.sent_after_all(client_call, frame.number)
        edits = [(part, self._entries.edits(part, waiting)) for part in waiting.parts]
        edited = bool([part for part, edit in edits if edit is None or edit])
        changes = self._reasons.changes(waiting, following) if content.finishes else {}
        pin = self._stream_id.differs(frame, seen=bool(waiting.parts or content.finishes))
        orderly = len(edits) == 1 and edits[0][0].fragment.well_formed
        repairs = not orderly and self._structure.is_changed(waiting)
        changed = repairs or waiting.bare or waiting.moved or pin or changes or edited
        for finish in content.finishes:
            self._reasons.leaves(finish, frame.number, changes)
        if not (changed or self._folded(waiting)):
            return [*before, frame]
        payload = self._payloads.rewritten(waiting, edits, changes, pin=pin)
        gone = bool(changes) and self._reasons.is_nothing(waiting, changes, payload)
        return before if gone else [*before, stream.context.writer.rewrite(frame, payload)]

    def _folded(self, waiting: Waiting) -> bool:
        """Whether it speaks of a choice that is part of the first."""
        for part in waiting.parts:
            if part.fragment.choice and self._stream.folded(part.fragment.choice):
                return True
        return bool([finish for finish in waiting.content.finishes if self._stream.folded(finish.choice)])

    def _beforehand(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """What has to be said before an event's finish, or before the total, which comes last."""
        if waiting.content.finishes:
            return self._order.before(waiting, following)
        if waiting.parts or not self._order.is_early_total(waiting.frame):
            return []
        if following is None:
            return self._end.finishes() if self._stream.ending_clean else []
        return self._end.at_done(following.frame.number) if following.content.end else []
