"""The base of the injectors that change Responses events."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override

from toolstream_core.model import Kind, Phase
from toolstream_core.stages.inject.injector import EditingInjector, Pick
from toolstream_core.stages.stage import Holds
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json, SkippedRun
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame

type Payload = dict[str, Any]
type Edit = Callable[[ItemInjector, Payload, str, OpenCall], Iterable[Payload] | None]
"""The events in place of one of a picked call, given its type; `None` leaves it as it is."""

ADDED, CLOSED = "response.output_item.added", "response.output_item.done"
DELTA, DONE = "response.function_call_arguments.delta", "response.function_call_arguments.done"
COMPLETED = frozenset({"response.completed", "response.done"})
"""Types of the terminal event of a completed response; the last one is the Realtime API's."""


class NumberedInjector(EditingInjector, Holds):
    """Gives added events sequence numbers of their own, and shifts those behind them."""

    def __init__(self, context: Context, pick: Pick, *, steady: bool = False) -> None:
        """For one stream, from its start."""
        super().__init__(context, pick, steady=steady)
        self._shift = 0
        self._last = -1

    @property
    @override
    def holding(self) -> bool:
        # Later events are renumbered.
        return self._shift > 0

    @override
    def on_skipped(self, call: OpenCall, passed: SkippedRun) -> None:
        super().on_skipped(call, passed)
        self._last = self._last if passed.counter is None else passed.counter

    def frames(self, event: Event, made: list[Payload]) -> list[Frame]:
        """The frames in place of one event."""
        number = json_access.integer(json_access.get(event.frame.json, "sequence_number"))
        out: list[Frame] = []
        made = _of_realtime(event.frame.json, made)
        for at, payload in enumerate(made):
            if isinstance(number, int) and "sequence_number" in payload:
                payload = {**payload, "sequence_number": max(number + self._shift, self._last + 1)}  # noqa: PLW2901
                self._last = payload["sequence_number"]
            last = at == len(made) - 1
            if last and payload == event.frame.json:
                out.append(event.frame)
            elif last and payload.get("type") == json_access.get(event.frame.json, "type"):
                out.append(self._context.writer.rewrite(event.frame, payload))
            else:
                name = str(payload.get("type", event.frame.name))
                out.append(self._context.writer.make(payload, event.frame.number, name))
        self._shift += max(len(made) - 1, 0)
        return out


class ItemInjector(NumberedInjector):
    """Changes the events of the calls that are picked."""

    def __init__(
        self, context: Context, pick: Pick, edit: Edit, *, completed: bool = False, steady: bool = False
    ) -> None:
        """`edit` is what is done to each event; `completed`: to the completed response's items too.

        `steady`: as in `EditingInjector`.
        """
        super().__init__(context, pick, steady=steady)
        self._edit = edit
        self._completed = completed

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload, self.acts = event.frame.json, False
        if not isinstance(payload, dict):
            return [event.frame]
        kind = str(payload.get("type"))
        one = resolved[0] if len(resolved) == 1 and resolved[0].call.kind is Kind.FUNCTION else None
        if kind in COMPLETED:
            return self.frames(event, [self._in_response(payload, resolved)])
        if one is None or one.fragment.phase is Phase.WHOLE:
            return self.frames(event, [payload])
        if one.call not in self.calls:
            self.calls.append(one.call)
        edited = self._edit(self, payload, kind, one.call) if self._pick.call(one.call) else None
        if edited is None:
            return self.frames(event, [payload])
        self.acts = True
        self._pick.acted()
        return self.frames(event, list(edited))

    def _in_response(self, payload: Payload, resolved: Sequence[ResolvedFragment]) -> Payload:
        """The completed response with its items edited as `output_item.done` would be."""
        output = json_access.get(payload, "response", "output")
        if not self._completed or not isinstance(output, list):
            return payload
        calls = iter(resolved)
        items = [
            self._item(item, next(calls, None)) if str(json_access.get(item, "type")).endswith("_call") else item
            for item in output
        ]
        return {**payload, "response": {**payload["response"], "output": items}}

    def _item(self, item: Json, resolved: ResolvedFragment | None) -> Json:
        if resolved is None or resolved.call.kind is not Kind.FUNCTION or not self._pick.call(resolved.call):
            return item
        edited = self._edit(self, {"type": CLOSED, "item": item}, CLOSED, resolved.call)
        changed = item if edited is None else next(iter(edited), {"item": item})["item"]
        if changed != item:
            self._pick.acted()
        return changed


def with_item(payload: Payload, **fields: Json) -> Payload:
    """An event with other fields in its item."""
    return {**payload, "item": {**payload["item"], **fields}}


def delta_text(payload: Payload) -> str:
    """The argument text of a delta."""
    text = payload.get("delta")
    return text if isinstance(text, str) else ""


def maker(edit: Edit, *, completed: bool = False, steady: bool = False) -> InjectorMaker:
    """What makes an `ItemInjector` with this edit."""
    return lambda context, pick: ItemInjector(context, pick, edit, completed=completed, steady=steady)


def _of_realtime(came: Json, made: list[Payload]) -> list[Payload]:
    """New events beside one that came, with what each event of the Realtime API says, where it is one."""
    if "event_id" not in (came if isinstance(came, dict) else {}):
        return made
    assert isinstance(came, dict)
    response = came.get("response_id", json_access.get(came, "response", "id"))
    return [
        one
        if "event_id" in one
        else {"event_id": f"{came['event_id']}_{at}", **({} if "response" in one else {"response_id": response}), **one}
        for at, one in enumerate(made)
    ]
