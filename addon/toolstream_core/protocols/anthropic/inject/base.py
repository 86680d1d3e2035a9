"""What every plant that changes Anthropic content blocks is made on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from toolstream_core.model import Kind, Phase
from toolstream_core.stages.inject.injector import Pick, StatelessInjector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event
    from toolstream_core.stages.context import Context
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

    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        """As `Stage.take`."""
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
