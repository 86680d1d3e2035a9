"""Chat Completions events on their departure: what the client gets for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.finish import IN_BAND_ERROR
from toolstream_core.defects.framing import MISSING_DELTA
from toolstream_core.protocols.chat.repair.entries import Entries

if TYPE_CHECKING:
    from collections import deque

    from toolstream_core.protocols.chat.repair.end_of_stream import Tail
    from toolstream_core.protocols.chat.repair.finish import Endings
    from toolstream_core.protocols.chat.repair.repairer import ChatRepairer
    from toolstream_core.protocols.chat.repair.state import Waiting
    from toolstream_core.protocols.chat.repair.stream_id import Pin
    from toolstream_core.wire.frame import Frame


class Departures:
    """The departures of one stream's events."""

    def __init__(self, repairer: ChatRepairer, ending: Endings, tail: Tail, pin: Pin) -> None:
        """For one stream."""
        self._repairer = repairer
        self._ending = ending
        self._tail = tail
        self._pin = pin
        self._entries = Entries(repairer)

    def of(self, waiting: deque[Waiting]) -> list[Frame]:
        """What may go; it leaves the queue only when all of it is made, so that a bug of ours loses nothing."""
        out: list[Frame] = []
        queue = list(waiting)
        while queue and not any(part.known.pending for part in queue[0].parts):
            if self._ending.must_wait(queue):
                break
            following = self._ending.following(queue)
            out.extend(self._audited(queue.pop(0), following))
        while len(waiting) > len(queue):
            waiting.popleft()
        return out

    def at_once(self, waiting: Waiting) -> list[Frame]:
        """What goes on for an event that does not wait, and that says nothing but pieces of calls."""
        return self._audited(waiting, None)

    def _audited(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        frames = self._departed(waiting, following)
        if len(frames) != 1 or frames[0] is not waiting.frame:
            self._repairer.audit(waiting.frame.number, [waiting.frame], frames)
        return frames

    def _departed(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """What the client gets for an event."""
        repairer, frame, said = self._repairer, waiting.frame, waiting.said
        if said.error:
            repairer.failed = True
            repairer.report(IN_BAND_ERROR, frame.number, f"the provider reports an error: {said.error}")
        if said.end and not said.finishes and not waiting.parts:
            repairer.over = True
            return [*self._tail.at_done(frame.number), *(() if self._tail.cuts() else (frame,))]
        if (said.finishes or not waiting.parts) and self._entries.lacks_delta(frame):
            waiting.bare = repairer.report(MISSING_DELTA, frame.number, "a choice has no delta object")
        before = [*self._entries.unstreamed(waiting), *self._beforehand(waiting, following)]
        edits = [(part, self._entries.edits(part, waiting)) for part in waiting.parts]
        changes = self._ending.changes(waiting, following)
        pin = self._pin.differs(frame, seen=bool(waiting.parts or said.finishes))
        edited = any(edit is None or edit for _, edit in edits)
        changed = self._entries.structure(waiting) or waiting.bare or waiting.moved or pin or changes or edited
        for finish in said.finishes:
            self._ending.leaves(finish, frame.number, changes)
        if not (changed or self._folded(waiting)):
            return [*before, frame]
        payload = self._entries.rewritten(waiting, edits, changes, pin=pin)
        gone = self._ending.is_nothing(waiting, changes, payload)
        return before if gone else [*before, repairer.context.writer.rewrite(frame, payload)]

    def _folded(self, waiting: Waiting) -> bool:
        """Whether it speaks of a choice that is part of the first."""
        for part in waiting.parts:
            if part.fragment.choice and self._repairer.folded(part.fragment.choice):
                return True
        return any(self._repairer.folded(finish.choice) for finish in waiting.said.finishes)

    def _beforehand(self, waiting: Waiting, following: Waiting | None) -> list[Frame]:
        """What has to be said before an event's finish, or before the total, which comes last."""
        if waiting.said.finishes:
            return self._ending.before(waiting, following)
        if waiting.parts or not self._ending.is_early_total(waiting.frame):
            return []
        if following is None:
            return self._tail.finishes() if self._repairer.ending_clean else []
        return self._tail.at_done(following.frame.number) if following.said.end else []
