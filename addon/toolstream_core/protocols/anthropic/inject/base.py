"""The common part of injectors that change Anthropic content blocks."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, override

from toolstream_core.model import Kind, Phase
from toolstream_core.stages.inject.injector import Pick, StatelessInjector
from toolstream_core.wire import json_access

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame

type Payload = dict[str, Any]
type Edit = Callable[[BlockInjector, Payload, str, OpenCall], Iterable[Payload] | None]
"""What an event of a picked call becomes, given its type; `None` leaves it as it is."""

START, DELTA, STOP = "content_block_start", "content_block_delta", "content_block_stop"


class BlockInjector(StatelessInjector):
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
        kind = payload.get("type") if isinstance(payload, dict) else None
        one = resolved[0] if resolved and resolved[0].call.kind is Kind.FUNCTION else None
        if one is None or kind not in {START, DELTA, STOP} or not isinstance(payload, dict):
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


def arguments_of(payload: Payload) -> str:
    """The argument text of a delta; empty for every other event."""
    text = json_access.get(payload, "delta", "partial_json")
    return text if isinstance(text, str) else ""


def with_text(payload: Payload, text: Json) -> Payload:
    """A delta with other argument text."""
    return {**payload, "delta": {**payload["delta"], "partial_json": text}}


def with_block(payload: Payload, **fields: Json) -> Payload:
    """A start whose content block has these fields."""
    return {**payload, "content_block": {**payload["content_block"], **fields}}


def value(call: OpenCall) -> Json:
    """The arguments of a call once they are whole; `None` before."""
    if call.arguments.empty:
        return {}
    try:
        return json.loads(call.arguments.reading()[0]) if call.arguments.whole else None
    except (ValueError, RecursionError):
        return None


def maker(edit: Edit, *, steady: bool = False) -> InjectorMaker:
    """Makes an injector from what it does to each event; `steady`: as in `StatelessInjector`."""
    return lambda context, pick: BlockInjector(context, pick, edit, steady=steady)
