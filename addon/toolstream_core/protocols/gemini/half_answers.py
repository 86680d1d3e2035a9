"""The end of a Gemini answer of which a call is half."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.gemini.edit import finish_apart
from toolstream_core.stages.repair.half_answers import HalfAnswerRepairer

if TYPE_CHECKING:
    from toolstream_core.model import Event
    from toolstream_core.wire.frame import Frame


class GeminiHalfAnswerRepairer(HalfAnswerRepairer):
    """Keeps back finish reasons, which may come with parts, and the bracket that closes the array."""

    @override
    def _goes(self, event: Event) -> bool:
        frame = event.frame
        return super()._goes(event) and not (frame.data is None and frame.raw.strip() == b"]")

    @override
    def _parted(self, event: Event) -> tuple[list[Frame], list[Frame]]:
        frame, writer = event.frame, self._context.writer
        apart = finish_apart(frame.json)
        if apart is None:
            return [], [frame]
        speech, finish = apart
        return [writer.rewrite(frame, speech)], [writer.make(finish, frame.number)]
