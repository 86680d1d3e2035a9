"""Where the entries of a Chat Completions event stand, and whether its choices have a delta."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.defects.framing import LEGACY_FUNCTION_CALL, TOOL_CALLS_OBJECT
from toolstream_core.defects.identity import REPEATED_INDEX
from toolstream_core.model import Phase
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from toolstream_core.model import Json
    from toolstream_core.protocols.chat.repair.stream import ChatStream
    from toolstream_core.protocols.chat.repair.waiting import Waiting
    from toolstream_core.wire.frame import Frame


class Structure:
    """The structure of one stream's events."""

    def __init__(self, stream: ChatStream) -> None:
        """For one stream."""
        self._stream = stream
        self._reporter = stream.reporter

    def is_changed(self, waiting: Waiting) -> bool:
        """Whether the entries stand in a wrong place or form, and that is to be mended."""
        repair, number = False, waiting.frame.number
        seen: set[int] = set()
        for part in waiting.parts:
            if id(part.client_call) in seen and part.fragment.phase is Phase.MORE:
                message = "one event has two entries for the call"
                repair = self._reporter.report(REPEATED_INDEX, number, message, part.client_call.call) or repair
            seen.add(id(part.client_call))
        odd = [part for part in waiting.parts if not part.fragment.well_formed]
        if not odd or not [part for part in waiting.parts if not part.stays]:
            return repair
        for choice in json_access.items_at(waiting.frame.json, "choices"):
            calls = json_access.get(choice, "delta", "tool_calls")
            if isinstance(calls, dict) and calls:
                repair = self._reporter.report(TOOL_CALLS_OBJECT, number, "tool_calls is an object") or repair
            elif not json_access.items(calls) and isinstance(json_access.get(choice, "delta", "function_call"), dict):
                message = "the call comes as function_call"
                repair = self._reporter.report(LEGACY_FUNCTION_CALL, number, message) or repair
        return repair

    def lacks_delta(self, frame: Frame) -> bool:
        """Whether a choice of the event has no delta."""
        choices = json_access.items_at(frame.json, "choices")
        return bool([choice for choice in choices if self._is_bare(choice)])

    def _is_bare(self, choice: Json) -> bool:
        """Whether it lacks its delta; a message may be all of an answer of which nothing was streamed."""
        if not isinstance(choice, dict) or isinstance(choice.get("delta"), dict):
            return False
        return "message" not in choice or bool(self._stream.head)
