"""Lawful ways to say the calls of Gemini and Ollama."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from toolstream_core.defects.stage import Stage
from toolstream_core.wire import look

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import Heard
    from toolstream_core.model import Event, Json
    from toolstream_core.wire.frame import Frame


class GeminiOneCallPerEvent(Stage):
    """Several calls of one event come in an event each."""

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        payload = event.frame.json
        candidates = look.items(look.get(payload, "candidates"))
        if len(heard) < 2 or len(candidates) != 1 or not isinstance(payload, dict):  # noqa: PLR2004
            return [event.frame]
        candidate = candidates[0]
        parts = look.items(look.get(candidate, "content", "parts"))
        groups = _groups(parts)
        bare = {key: value for key, value in candidate.items() if key != "finishReason"}
        kept = {key: value for key, value in payload.items() if key != "usageMetadata"}
        writer, number = self._context.writer, event.frame.number
        first = [writer.make({**kept, "candidates": [_with(bare, group)]}, number) for group in groups[:-1]]
        return [*first, writer.rewrite(event.frame, {**payload, "candidates": [_with(candidate, groups[-1])]})]


def _groups(parts: list[Json]) -> list[list[Json]]:
    """The parts, cut before each call but the first."""
    groups: list[list[Json]] = [[]]
    for part in parts:
        if isinstance(part, dict) and "functionCall" in part and any("functionCall" in one for one in groups[-1]):
            groups.append([])
        groups[-1].append(part)
    return groups


def _with(candidate: dict[str, Json], parts: list[Json]) -> dict[str, Json]:
    return {**candidate, "content": {**candidate["content"], "parts": parts}}


class OllamaOneCallPerEvent(Stage):
    """Several calls of one line come in a line each."""

    def take(self, event: Event, heard: Sequence[Heard]) -> Iterable[Frame]:
        """As `Stage.take`."""
        payload = event.frame.json
        entries = look.items(look.get(payload, "message", "tool_calls"))
        if len(entries) < 2 or len(heard) != len(entries) or not isinstance(payload, dict):  # noqa: PLR2004
            return [event.frame]
        writer, number = self._context.writer, event.frame.number
        first = [
            writer.make({**payload, "done": False, "message": {**payload["message"], "tool_calls": [entry]}}, number)
            for entry in entries[:-1]
        ]
        last = {**payload, "message": {**payload["message"], "tool_calls": entries[-1:]}}
        return [*first, writer.rewrite(event.frame, last)]


GEMINI_SHAPES: Final[dict[str, type[Stage]]] = {"one-call-per-event": GeminiOneCallPerEvent}
OLLAMA_SHAPES: Final[dict[str, type[Stage]]] = {"one-call-per-event": OllamaOneCallPerEvent}
