"""Lawful ways to say the same Ollama calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, override

from toolstream_core.protocols.ollama.edit import calls_line, entries, with_calls
from toolstream_core.stages.stage import Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.wire.frame import Frame


class OneCallPerEvent(Stage):
    """Several calls of one line come in a line each; whatever else the line says stays with the first."""

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload, frame, writer = event.frame.json, event.frame, self._context.writer
        calls = [one.entry for one in entries(payload, resolved)]
        if len(calls) <= 1 or event.content.end or frame.trailing:
            return [frame]
        more = (writer.make(calls_line(payload, [call]), frame.number) for call in calls[1:])
        return [writer.rewrite(frame, with_calls(payload, calls[:1])), *more]


SHAPES: Final[dict[str, type[Stage]]] = {"one-call-per-event": OneCallPerEvent}
"""By name."""
