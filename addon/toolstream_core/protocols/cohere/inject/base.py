"""What every injector that changes the events of Cohere calls is made on."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, override

from toolstream_core.model import Phase
from toolstream_core.protocols.cohere.wire import (
    CALL_DELTA,
    CALL_END,
    CALL_START,
    Payload,
    arguments_in,
    entry_of,
    function_of,
    kind_of,
    with_entry,
)
from toolstream_core.stages.inject.injector import Pick, StatelessInjector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame

type Edit = Callable[[CallInjector, Payload, str, OpenCall], Iterable[Payload] | None]
"""What an event of a picked call becomes, given its type; `None` leaves it as it is."""


class CallInjector(StatelessInjector):
    """Changes the events of the calls that are picked."""

    def __init__(self, context: Context, pick: Pick, edit: Edit, *, steady: bool = False) -> None:
        """`edit` is what is done to each event; `steady`: as in `StatelessInjector`."""
        super().__init__(context, pick, steady=steady)
        self._edit = edit
        self.calls: list[OpenCall] = []
        self.kept: dict[int, Any] = {}
        """For edits that remember something by call."""
        self.late: list[Payload] = []
        """Events that go on before the next one that is of no call."""

    @property
    def context(self) -> Context:
        """What is known of the stream."""
        return self._context

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        payload, self.acts = event.frame.json, False
        kind = kind_of(payload, event.frame.name)
        one = resolved[0] if resolved else None
        if one is None or kind not in {CALL_START, CALL_DELTA, CALL_END} or not isinstance(payload, dict):
            late, self.late = self.late, []
            return [*(self._make(event, each) for each in late), event.frame]
        if one.fragment.phase is Phase.OPEN:
            self.calls.append(one.call)
        if not self._pick.call(one.call):
            return [event.frame]
        edited = self._edit(self, payload, kind, one.call)
        if edited is None:
            return [event.frame]
        self.acts = True
        self._pick.acted()
        made = list(edited)
        if len(made) == 1 and made[0].get("type") == kind:
            return [self._context.writer.rewrite(event.frame, made[0])]
        return [self._make(event, each) for each in made]

    def _make(self, event: Event, payload: Payload) -> Frame:
        return self._context.writer.make(payload, event.frame.number, str(payload["type"]))


def maker(edit: Edit, *, steady: bool = False) -> InjectorMaker:
    """What makes the injector of an edit."""
    return lambda context, pick: CallInjector(context, pick, edit, steady=steady)


def text_of(payload: Payload) -> str:
    """The argument text of a delta."""
    said = arguments_in(payload)
    return said if isinstance(said, str) else ""


def with_fields(payload: Payload, **fields: Json) -> Payload:
    """The event with other fields in its entry."""
    return with_entry(payload, {**entry_of(payload), **fields})


def with_function(payload: Payload, **fields: Json) -> Payload:
    """The event with other fields in its entry's function."""
    return with_fields(payload, function={**function_of(entry_of(payload)), **fields})


def without(payload: Payload, key: str) -> Payload:
    """The event without a field of its entry, or of the entry's function."""
    entry = entry_of(payload)
    function = {name: value for name, value in function_of(entry).items() if name != key}
    return with_entry(payload, {**{name: value for name, value in entry.items() if name != key}, "function": function})


def value(call: OpenCall) -> Json:
    """The arguments, once they are whole."""
    if call.arguments.empty:
        return {}
    try:
        return json.loads(call.arguments.reading()[0]) if call.arguments.whole else None
    except (ValueError, RecursionError):
        return None
