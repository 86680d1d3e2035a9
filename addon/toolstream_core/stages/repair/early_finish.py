"""Finish reasons before the end of the calls, in protocols whose responses are one message with one finish."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import override

from toolstream_core.calls import ResolvedFragment
from toolstream_core.defects.finish import EARLY_FINISH
from toolstream_core.model import Event
from toolstream_core.stages.context import Context
from toolstream_core.stages.repair.repairer import MAX_COMMENTS, Repairer
from toolstream_core.wire.frame import Frame


class EarlyFinishRepairer(Repairer):
    """Reports a finish reason before the end of the calls. Runs before the protocol's repairer.

    If the repair is on, each finish waits for the next event, and an early one for the first event after the calls.
    """

    skips_calls = True

    @override
    def __init__(self, context: Context) -> None:
        super().__init__(context)
        self._waits = self.on(EARLY_FINISH)
        self._finish: tuple[int, str] | None = None
        """The event number and the reason of the last finish."""
        self._held: list[Frame] = []
        """The event with the finish, and the comments after it."""
        self._early = False
        """Whether more of the calls arrived after the held finish."""

    @property
    @override
    def holding(self) -> bool:
        return bool(self._held)

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        frame, reason = event.frame, next((one.reason for one in event.content.finishes if one.reason), "")
        if resolved and self._finish is not None:
            number, finish = self._finish
            self.report(EARLY_FINISH, number, f"the response continues after finish reason {finish}")
        if reason:
            self._finish = frame.number, reason
        if not (self._held or (reason and self._waits)):
            return (frame,)
        out = self._while_held(frame, has_finish=bool(reason), has_call=bool(resolved))
        self.forwarded(frame, out, waits=bool(self._held))
        return out

    def _while_held(self, frame: Frame, *, has_finish: bool, has_call: bool) -> list[Frame]:
        """The events to send while a finish waits."""
        if frame.trailing:
            return [*self.release(), frame]
        if has_finish:
            out = self._held[1:] if self._early else self._held
            self._held, self._early = [frame], False
            return out
        if has_call:
            out, self._held, self._early = [*self._held[1:], frame], self._held[:1], True
            self.attribute_to(EARLY_FINISH)
            return out
        if frame.data is None and (self._early or len(self._held) <= MAX_COMMENTS):
            self._held += [] if self._early else [frame]
            return [frame] if self._early else []
        return [*self.release(), frame]

    @override
    def end(self, *, clean: bool) -> Iterable[Frame]:
        out = self.release()
        self.forwarded(None, out)
        return out

    @override
    def release(self) -> list[Frame]:
        held, self._held, self._early = self._held, [], False
        return held
