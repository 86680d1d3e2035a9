"""How calls of Responses custom tools are broken."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, override

from toolstream_core.protocols.responses.inject.base import (
    ADDED,
    CLOSED,
    COMPLETED,
    DELTA,
    DONE,
    NumberedInjector,
    Payload,
    delta_text,
)
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from toolstream_core.calls import ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import Pick
    from toolstream_core.wire.frame import Frame

_CUSTOM = "custom_tool_call"
_DELTA, _DONE = "response.custom_tool_call_input.delta", "response.custom_tool_call_input.done"


class CustomAsFunction(NumberedInjector):
    """Calls of custom tools come as function calls, with the text under one key."""

    def __init__(self, context: Context, pick: Pick) -> None:
        """For one stream, from its start."""
        super().__init__(context, pick)
        self._begun: dict[int, bool] = {}
        """The calls that were picked, and whether a delta of theirs came."""
        self._ids: set[Json] = set()

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload = event.frame.json
        if not isinstance(payload, dict):
            return [event.frame]
        made = self._changed(payload, str(payload.get("type")), resolved)
        if made != [payload]:
            self._pick.acted()
        return self.frames(event, made)

    def _changed(self, payload: Payload, kind: str, resolved: Sequence[ResolvedFragment]) -> list[Payload]:
        if kind in COMPLETED:
            return [self._in_response(payload)]
        if len(resolved) != 1:
            return [payload]
        call, item = resolved[0].call, payload.get("item")
        if isinstance(item, dict) and item.get("type") == _CUSTOM and self._pick.call(call):
            self._begun.setdefault(id(call), False)
            self._ids.add(str(item.get("call_id")))
            return (
                [{**payload, "item": _as_function(item, whole=kind == CLOSED)}]
                if kind in {ADDED, CLOSED}
                else [payload]
            )
        if id(call) not in self._begun or kind not in {_DELTA, _DONE}:
            return [payload]
        begin = "" if self._begun[id(call)] else '{"input":"'
        self._begun[id(call)] = True
        place = {key: value for key, value in payload.items() if key not in {"delta", "input"}}
        if kind == _DELTA:
            text = json.dumps(delta_text(payload), ensure_ascii=False)[1:-1]
            return [{**place, "type": DELTA, "delta": f"{begin}{text}"}]
        arguments = json.dumps({"input": payload.get("input")}, ensure_ascii=False, separators=(",", ":"))
        return [{**place, "type": DELTA, "delta": f'{begin}"}}'}, {**place, "type": DONE, "arguments": arguments}]

    def _in_response(self, payload: Payload) -> Payload:
        output = json_access.get(payload, "response", "output")
        if not isinstance(output, list):
            return payload
        items = [
            _as_function(item, whole=True)
            if isinstance(item, dict) and item.get("type") == _CUSTOM and str(item.get("call_id")) in self._ids
            else item
            for item in output
        ]
        return {**payload, "response": {**payload["response"], "output": items}}


def _as_function(item: Payload, *, whole: bool) -> Payload:
    kept = {key: value for key, value in item.items() if key not in {"type", "input"}}
    arguments = json.dumps({"input": item.get("input")}, ensure_ascii=False, separators=(",", ":"))
    return {"type": "function_call", **kept, "arguments": arguments if whole else ""}
