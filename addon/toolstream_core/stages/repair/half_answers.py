"""Answers that are said to be over and whole although a call is half: what says so is kept back. Knows no protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.defects.finish import CUT_OFF_CALL
from toolstream_core.model import Phase
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.stages.stage import Holds, Indifferent

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, EventContent
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# Many clients run what came of a call once the answer ends in order, and none does so where the connection breaks
# before that. So the end is kept back, and whoever carries the bytes ends the body as a break (`Session.cut_off`).


class HalfAnswerRepairer(Repairer, Holds, Indifferent):
    """Keeps back the end of an answer while one of its calls is half.

    It is there where the repair of such calls is on, stands behind all other stages, and is shown events from the
    answer's first finish on. If more of a call follows after all, what was kept back goes before it, as it came: then
    that end was said too early (`early-finish`). Errors and comments pass meanwhile, and text does, unless it comes
    behind the answer's last event.
    """

    holding = False

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._held: list[Frame] = []
        """The events that are kept back."""
        self._ended = False
        """Whether the answer's last event is among them, behind which nobody reads."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if not (self._held or (self._says_whole(event.content) and self._context.half_calls())):
            return (event.frame,)
        more = bool(resolved) or (_says_call(event.content) and not self._ended)
        out = self._beside_held(event, more=more)
        self.went(event.frame, out, waits=bool(self._held))
        return out

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        held = self.release()
        out = [] if self._context.half_calls() else held
        if held and self.repairs_row(CUT_OFF_CALL):
            self.went(None, out)
        return out

    @override
    def release(self) -> list[Frame]:
        held, self._held, self.holding = self._held, [], False
        return held

    def is_read_last(self, event: Event) -> bool:
        """Whether clients stop reading at an event."""
        return event.content.end

    def _beside_held(self, event: Event, *, more: bool) -> list[Frame]:
        """What goes on for an event that says the end, or comes behind one that does; `more`: of the answer's calls."""
        if self._goes(event):
            return [event.frame]
        if more and not self._says_whole(event.content):
            return [*self.release(), event.frame]
        going, kept = self._parted(event)
        self._held += kept
        self._ended = self._ended or self.is_read_last(event)
        self.holding = True
        self.because(CUT_OFF_CALL)
        return going

    def _goes(self, event: Event) -> bool:
        """Whether an event goes on past those that are kept back."""
        content = event.content
        if event.frame.data is None or content.error:
            return True
        if self._ended or content.fragments or self._says_whole(content):
            return False
        return bool(content.text or content.thought)

    def _says_whole(self, content: EventContent) -> bool:
        """Whether an event says that the answer is over, and not that it was cut off."""
        if content.end and not content.finishes:
            return True
        return any(finish.reason and not is_cut(finish.reason) for finish in content.finishes)

    def _parted(self, event: Event) -> tuple[list[Frame], list[Frame]]:
        """An event that says the end: what of it goes on, and what is kept back."""
        return [], [event.frame]


def _says_call(content: EventContent) -> bool:
    """Whether an event says more of a call than its end: one that another stage had held is resolved no more."""
    return any(fragment.phase is not Phase.CLOSE for fragment in content.fragments)
