"""The end of an Ollama answer of which a call is half."""

from __future__ import annotations

from typing import TYPE_CHECKING, override

from toolstream_core.protocols.ollama.edit import done_apart
from toolstream_core.stages.repair.half_answers import HalfAnswerRepairer

if TYPE_CHECKING:
    from toolstream_core.model import Event
    from toolstream_core.wire.frame import Frame


class OllamaHalfAnswerRepairer(HalfAnswerRepairer):
    """Keeps back the line that says done; what it says beside that goes as a line before it."""

    @override
    def _parted(self, event: Event) -> tuple[list[Frame], list[Frame]]:
        frame, writer, payload = event.frame, self._context.writer, event.frame.json
        apart = done_apart(payload) if isinstance(payload, dict) else None
        if apart is None:
            return [], [frame]
        speech, done = apart
        return [writer.make(speech, frame.number)], [writer.rewrite(frame, done)]
