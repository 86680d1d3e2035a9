"""Withholds the end of a response with an incomplete call. Knows no protocol."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.calls.finish_reasons import is_cut
from toolstream_core.defects.finish import CUT_OFF_CALL
from toolstream_core.model import Event, EventContent, Phase
from toolstream_core.stages.context import Context
from toolstream_core.stages.repair.repairer import Repairer
from toolstream_core.wire.frame import Frame
from toolstream_core.wire.write import Writer

# Many clients run an incomplete call if the response ends normally. No client does so if the connection breaks before
# the end. So the end is withheld, and the body ends with a disconnect (`Session.cut_off`).


def _is_end(event: Event) -> bool:
    return event.content.end


class IncompleteCalls(Repairer):
    """Withholds the end of a response while one of its calls is incomplete.

    It is the last stage, and only there if the repair of such calls is on. It gets events from the first finish on.
    If more of a call follows, the withheld events are sent before it, unchanged: the end arrived too early
    (`early-finish`). Errors and comments are not withheld, nor is text before the last event.
    """

    skips_calls = True
    holding = False

    def __init__(
        self,
        context: Context,
        *,
        stops: bool = False,
        is_last: Callable[[Event], bool] = _is_end,
        is_end: Callable[[Event], bool] = lambda event: False,  # noqa: ARG005
        split: Callable[[Event, Writer], tuple[list[Frame], list[Frame]]] = lambda event, writer: ([], [event.frame]),  # noqa: ARG005
    ) -> None:
        """For one stream.

        :param stops: whether the stop of a call is an end too: clients may run the call there
        :param is_last: whether clients stop reading at an event
        :param is_end: whether an event without data is an end
        :param split: the frames of a final event: those to send, and those to withhold
        """
        super().__init__(context)
        self._stops, self._is_last, self._is_end, self._split = stops, is_last, is_end, split
        self._held: list[Frame] = []
        """The withheld events."""
        self._ended = False
        """Whether the last event that clients read is among them."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        if not (self._held or (self._ends(event.content) and self._context.incomplete_calls())):
            return (event.frame,)
        more = bool(resolved) or (_has_fragment(event.content) and not self._ended)
        out = self._while_held(event, more=more)
        self.forwarded(event.frame, out, waits=bool(self._held))
        return out

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        held = self.release()
        out = [] if self._context.incomplete_calls() else held
        if held and self.repairs_at_end(CUT_OFF_CALL):
            self.forwarded(None, out)
        return out

    @override
    def release(self) -> list[Frame]:
        held, self._held, self.holding = self._held, [], False
        return held

    def _while_held(self, event: Event, *, more: bool) -> list[Frame]:
        """The frames to send for a final event or a later one; `more`: it has a fragment of a call."""
        if self._passes(event):
            return [event.frame]
        if more and not self._ends(event.content):
            return [*self.release(), event.frame]
        sent, kept = self._split(event, self._context.writer)
        self._held += kept
        self._ended = self._ended or self._is_last(event)
        self.holding = True
        self.attribute_to(CUT_OFF_CALL)
        return sent

    def _passes(self, event: Event) -> bool:
        """Whether an event is sent while others are withheld."""
        content = event.content
        if event.frame.data is None or content.error:
            return not self._is_end(event)
        if self._ended or content.fragments or self._ends(content):
            return False
        return bool(content.text or content.thought)

    def _ends(self, content: EventContent) -> bool:
        """Whether an event ends a call or the response, and not as truncated."""
        if self._stops and any(one.phase is Phase.CLOSE for one in content.fragments):
            return True
        if content.end and not content.finishes:
            return True
        return any(one.reason and not is_cut(one.reason) for one in content.finishes)


def _has_fragment(content: EventContent) -> bool:
    """Whether an event has more of a call than its stop, also if an earlier stage held the event."""
    return any(fragment.phase is not Phase.CLOSE for fragment in content.fragments)
