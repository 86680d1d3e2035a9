"""What every injector that changes Converse blocks is made on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, override

from toolstream_core.model import Kind, Phase
from toolstream_core.protocols.bedrock.converse_event import BLOCK_DELTA, BLOCK_START, ConverseEvent, event_of, made
from toolstream_core.stages.inject.injector import Injector, Pick
from toolstream_core.wire import json_access
from toolstream_core.wire.frame import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from toolstream_core.calls import OpenCall, ResolvedFragment
    from toolstream_core.model import Event, Json
    from toolstream_core.protocols.bedrock.converse_event import Payload
    from toolstream_core.stages.context import Context
    from toolstream_core.stages.inject.injector import InjectorMaker
    from toolstream_core.wire.frame import Frame

type Said = tuple[str, Payload]
"""The kind of an event, and its body."""
type Edit = Callable[[BlockInjector, ConverseEvent, OpenCall], Iterable[Said] | None]
"""What an event of a picked call becomes; `None` leaves it as it is."""


class BlockInjector(Injector):
    """Changes the events of the calls that are picked."""

    def __init__(self, context: Context, pick: Pick, edit: Edit) -> None:
        """`edit` is what is done to each event."""
        super().__init__(context, pick)
        self._edit = edit
        self.calls: list[OpenCall] = []
        self.kept: dict[int, Any] = {}
        """For edits that remember something by call."""
        self.late: list[Said] = []
        """Events that go on before the next one that is of no call."""

    @property
    def context(self) -> Context:
        """What is known of the stream."""
        return self._context

    @override
    def take(self, event: Event, resolved: Sequence[ResolvedFragment]) -> Iterable[Frame]:
        converse = event_of(event.frame)
        one = resolved[0] if resolved and resolved[0].call.kind is Kind.FUNCTION else None
        if converse is None:
            return [event.frame]
        if one is None:
            late, self.late = self.late, []
            return [*self._frames(event, converse, late), event.frame]
        if one.fragment.phase is Phase.OPEN:
            self.calls.append(one.call)
        edited = self._edit(self, converse, one.call) if self._pick.call(one.call) else None
        if edited is None:
            return [event.frame]
        self._pick.acted()
        said = list(edited)
        if len(said) == 1 and said[0][0] == converse.kind:
            return [self._context.writer.rewrite(event.frame, converse.with_body(said[0][1]))]
        return self._frames(event, converse, said)

    def _frames(self, event: Event, converse: ConverseEvent, said: Iterable[Said]) -> list[Frame]:
        writer, number = self._context.writer, event.frame.number
        return [made(writer, kind, body, number, keyed=converse.keyed) for kind, body in said]


def injector(edit: Edit) -> InjectorMaker:
    """The maker of an injector that does `edit`."""
    return lambda context, pick: BlockInjector(context, pick, edit)


def said_input(event: ConverseEvent) -> str:
    """The argument text of a delta, `""` of anything else."""
    text = json_access.get(event.tool, "input") if event.kind == BLOCK_DELTA else ""
    return text if isinstance(text, str) else ""


def with_tool(event: ConverseEvent, **members: Json) -> Iterable[Said]:
    """A start whose call says something else."""
    start = event.body["start"]
    return [(BLOCK_START, {**event.body, "start": {**start, "toolUse": {**start["toolUse"], **members}}})]


def value(call: OpenCall) -> Json:
    """The arguments, once they are whole."""
    if call.arguments.empty:
        return {}
    return parse(call.arguments.reading()[0].encode("utf-8", "surrogatepass")) if call.arguments.whole else None
