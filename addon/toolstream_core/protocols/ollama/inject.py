"""How Ollama's lines are broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Final, override

from toolstream_core.protocols.ollama.edit import Entry, Payload, entries, with_calls
from toolstream_core.protocols.requests.tools import earlier_ids
from toolstream_core.stages.inject import whole_call
from toolstream_core.stages.inject.injector import Injector, Pick
from toolstream_core.stages.inject.sse import UnterminatedEvent
from toolstream_core.stages.inject.whole_call import WholeCallWire
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame


class CallsInDone(Injector):
    """Calls come in the line that says done."""

    @override
    def __init__(self, context: Context, pick: Pick) -> None:
        super().__init__(context, pick)
        self._calls: list[Payload] = []

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload, frame = event.frame.json, event.frame
        mine = [one.entry for one in entries(payload, resolved)]
        if json_access.get(payload, "done") is not True:
            if not mine or not self._pick.stream():
                return [frame]
            self._calls += mine
            self._pick.acted()
            return [self._context.writer.rewrite(frame, with_calls(payload, []))]
        if not self._calls or not isinstance(json_access.get(payload, "message"), dict):
            return [frame]
        calls, self._calls = [*self._calls, *mine], []
        return [self._context.writer.rewrite(frame, with_calls(payload, calls))]


class _Wire(WholeCallWire[Entry]):
    """The calls of a line."""

    FAILURE: ClassVar[Payload] = {"error": "error parsing tool call"}

    @override
    def calls(self, payload: Json, resolved: Sequence[ResolvedFragment]) -> Sequence[Entry]:
        return entries(payload, resolved)

    @override
    def with_entries(self, payload: Json, calls: Sequence[Entry], entries: Mapping[int, Payload]) -> Json:
        return with_calls(payload, [entries.get(at, one.entry) for at, one in enumerate(calls)])


INJECTORS: Final[dict[str, InjectorMaker]] = {
    **whole_call.makers(_Wire(), earlier_ids),
    "calls-in-done": CallsInDone,
    "unterminated-event": UnterminatedEvent,
}
"""By the defect's name."""
