"""Chat Completions events that say calls in another form than tool-call deltas, held until the calls are whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from toolstream_core.protocols.chat.edit import says_nothing
from toolstream_core.stages.shape.wholeness import is_whole
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.wire.frame import Frame

# The legacy `function_call`, a whole `message` in a chunk, entries without `function`. They go on as they came, all
# events of a call or none.

_CALLS = ("tool_calls", "function_call")


class OddForms:
    """The events of one stream that wait."""

    def __init__(self, context: Context) -> None:
        """For one stream."""
        self._context = context
        self._waiting: list[tuple[Event, Sequence[ResolvedFragment]]] = []
        self._calls: set[int] = set()

    def __len__(self) -> int:
        """How many wait."""
        return len(self._waiting)

    @property
    def frames(self) -> list[Frame]:
        """What waits, as it came."""
        return [event.frame for event, _ in self._waiting]

    @property
    def choices(self) -> list[int]:
        """The choices that they are of."""
        return list(dict.fromkeys(one.call.choice for _, resolved in self._waiting for one in resolved))

    def has(self, resolved: Sequence[ResolvedFragment]) -> bool:
        """Whether events of one of these calls wait."""
        return any(id(one.call) in self._calls for one in resolved)

    def add(self, event: Event, resolved: Sequence[ResolvedFragment]) -> None:
        """One more waits."""
        self._waiting.append((event, resolved))
        self._calls.update(id(one.call) for one in resolved)

    def ready(self) -> list[Frame]:
        """Those whose calls are whole, up to one whose are not."""
        out: list[Frame] = []
        while self._waiting and all(self._is_whole(one, over=False) for one in self._waiting[0][1]):
            out.append(self._waiting.pop(0)[0].frame)
        return out

    def _is_whole(self, one: ResolvedFragment, *, over: bool) -> bool:
        return is_whole(one.call, self._context, over=over)

    def last(self, choice: int, *, over: bool) -> list[Frame]:
        """Those of a choice of which nothing more comes: half calls are taken out of them."""
        out: list[Frame] = []
        waiting, self._waiting = self._waiting, []
        for event, resolved in waiting:
            if all(one.call.choice != choice for one in resolved):
                self._waiting.append((event, resolved))
            elif all(self._is_whole(one, over=over) for one in resolved):
                out.append(event.frame)
            else:
                out += self.without_calls(event)
        return out

    def without_calls(self, event: Event) -> list[Frame]:
        """The event with what else it says, if anything."""
        payload = event.frame.json
        if not isinstance(payload, dict):
            return []
        choices = [_without(choice) for choice in json_access.items(payload.get("choices"))]
        rest = {**payload, "choices": choices}
        silent = says_nothing(rest) and not any(json_access.get(choice, "message", "content") for choice in choices)
        return [] if silent else [self._context.writer.rewrite(event.frame, rest)]


def _without(choice: Json) -> Json:
    if not isinstance(choice, dict):
        return choice
    messages = {key: choice[key] for key in ("delta", "message") if isinstance(choice.get(key), dict)}
    left = {key: {name: one for name, one in value.items() if name not in _CALLS} for key, value in messages.items()}
    return {**choice, **left}
